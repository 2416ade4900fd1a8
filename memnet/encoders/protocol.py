"""What an encoder must offer."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

MENTION = "[MASK]"
"""Stands in a text for a name that is to play no part in its encoding; one token of its own."""


class TokenStates(NamedTuple):
    """A text, token by token."""

    states: NDArray[np.float32]
    """[T, D] float32, rows of length one."""
    mentions: tuple[int, ...]
    """Places of the tokens that are ``MENTION``."""


class Encoder(Protocol):
    """Texts to vectors of length one, the same for the same text at all times."""

    @property
    def fingerprint(self) -> str:
        """Names everything that decides a vector; a store remembers it."""
        ...

    @property
    def releases_gil(self) -> bool:
        """True if ``encode`` releases the GIL, so that it can overlap with Python work."""
        ...

    @property
    def dimension(self) -> int:
        """D, width of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, D] float32, rows of length one."""
        ...

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Each token of N texts by itself; a long text may be cut."""
        ...
