"""What an encoder must offer."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encoder(Protocol):
    """Texts to vectors of length one, the same for the same text at all times."""

    @property
    def fingerprint(self) -> str:
        """Names everything that decides a vector; a store remembers it."""
        ...

    @property
    def dimension(self) -> int:
        """D, width of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, D] float32, rows of length one."""
        ...
