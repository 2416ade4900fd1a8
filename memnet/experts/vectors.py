"""The vector of a question, encoded once for all experts."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.encoders import Encoder

_KEPT = 64
"""Texts: a question has a few parts, and several threads may ask."""


class RecentVectors:
    """An encoder that remembers the vectors of single texts that it encoded last."""

    def __init__(self, encoder: Encoder) -> None:
        """Take the encoder that does the work."""
        self._encoder = encoder
        self._recent: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        self.releases_gil = bool(getattr(encoder, "releases_gil", False))

    @property
    def fingerprint(self) -> str:
        """That of the encoder."""
        return self._encoder.fingerprint

    @property
    def dimension(self) -> int:
        """D, that of the encoder."""
        return self._encoder.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts -> [N, D] float32, not to be changed."""
        if len(texts) != 1:
            return self._encoder.encode(texts)
        with self._lock:
            known = self._recent.get(texts[0])
        if known is None:
            known = self._encoder.encode(texts)
            with self._lock:
                self._recent[texts[0]] = known
                while len(self._recent) > _KEPT:
                    self._recent.popitem(last=False)
        return known
