"""Vectors of texts that are encoded again and again: a question by all experts, passages found."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.encoders import Encoder

_KEPT = 64
"""Texts: a question has a few parts, and several threads may ask."""


class RecentVectors:
    """An encoder that remembers the vectors of the texts that it encoded last."""

    def __init__(self, encoder: Encoder, kept: int = _KEPT) -> None:
        """Take the encoder that does the work, and the number of texts to remember."""
        self._encoder = encoder
        self._kept = kept
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
        with self._lock:
            known = {text: self._recent[text] for text in texts if text in self._recent}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known |= zip(missing, self._encoder.encode(missing), strict=True)
        with self._lock:
            for text in known:
                self._recent[text] = known[text]
                self._recent.move_to_end(text)
            while len(self._recent) > self._kept:
                self._recent.popitem(last=False)
        return np.array([known[text] for text in texts], np.float32).reshape(-1, self.dimension)
