"""Vectors of passages: quick ones where a run has many of them, and the full ones that follow."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from memnet.storage import Encode, MemoryStore, NewSource, PassageVectors

_SLICE = 16  # texts between two looks at whether to go on: 0.2 s of one core


class PassageEncoder:
    """The encoder of the passages of one run: quick once there are many of them."""

    def __init__(
        self,
        encode: Encode,
        min_quick: int = 0,
        quick: Encode | None = None,
        *,
        quick_is_final: bool = False,
        in_background: bool = False,
    ) -> None:
        """Take what encodes.

        Args:
            encode: gives full vectors.
            min_quick: key texts from which on they are encoded quickly, if ``encode_full`` follows.
            quick: encodes passages quickly; None where there is no such way.
            quick_is_final: whether these vectors stay, so that all passages get them.
            in_background: whether both may be called on a thread, while a batch is written.
        """
        self.encode = encode
        self.quick = quick
        self.pool = ThreadPoolExecutor(1) if in_background and quick is not None else None
        self._encoded = 0  # key texts of passages that the store lacked
        self._quick_is_final = quick_is_final
        self._min_quick = min_quick

    def encode_passages(self, texts: Sequence[str], quick: Encode | None) -> PassageVectors:
        """Vectors of new key texts: those of ``quick`` once the run has many of them."""
        is_full = self.is_full(len(texts))
        self._encoded += len(texts)
        if quick is None or is_full:
            return PassageVectors(self.encode(texts))
        return PassageVectors(quick(texts), quick=not self._quick_is_final)

    def is_full(self, more: int) -> bool:
        """Whether this many more key texts are encoded in full at once."""
        return not self._quick_is_final and self._encoded + more < self._min_quick


class PendingVectors:
    """The vectors of the passages of a batch, made in the background where that is possible."""

    def __init__(
        self,
        encoder: PassageEncoder,
        sources: Sequence[NewSource],
        make_slots: Callable[[Sequence[NewSource]], None] | None = None,
    ) -> None:
        """Begin with new and changed sources.

        Nobody else may look at their slots before ``wait`` returns; ``make_slots`` makes those that
        are not made yet, None leaves that to the sources.
        """
        self._encoder = encoder
        self._sources = sources
        self._make_slots = make_slots
        self._made = encoder.pool.submit(self._encode_all) if encoder.pool else None

    def wait(self) -> None:
        """Wait until nobody else looks at the slots."""
        if self._made is not None:
            self._made.result()

    def encode(self, texts: Sequence[str]) -> PassageVectors:
        """The vectors of some key texts of the batch, or of any others."""
        return self._encoder.encode_passages(
            texts, self._find if self._made else self._encoder.quick
        )

    def _find(self, wanted: Sequence[str]) -> NDArray[np.float32]:
        """Quick vectors [N, D] float32 of N key texts."""
        rows, vectors = cast("Future[_Made]", self._made).result()
        # The batch before may have replaced what made a source count as stored.
        if not rows.keys() >= set(wanted):
            return cast("Encode", self._encoder.quick)(wanted)
        return vectors[[rows[text] for text in wanted]]

    def _encode_all(self) -> "_Made":
        if self._make_slots is not None:
            self._make_slots(self._sources)
        texts = sorted({slot.key_text for one in self._sources for slot in one.slots})
        if self._encoder.is_full(len(texts)):
            texts = []
        vectors = cast("Encode", self._encoder.quick)(texts)
        return {text: row for row, text in enumerate(texts)}, vectors


# Rows by key text, and vectors of these rows [K, D] float32.
_Made: TypeAlias = tuple[dict[str, int], NDArray[np.float32]]


def encode_full(
    store: MemoryStore,
    encode: Encode,
    limit: int,
    may_go_on: Callable[[], bool] | None = None,
) -> int:
    """Replace the quick vectors of at most ``limit`` texts in one commit; returns of how many.

    Nothing is locked while they are encoded: others ask and write meanwhile. ``may_go_on`` is
    called every 16 texts and may block; after False nothing more is stored.

    Raises:
        StoreBusyError, StoreError: as ``MemoryStore.writing``.
    """
    texts = store.quick.texts(limit)
    if not texts:
        return 0
    if may_go_on is None:
        store.quick.replace(texts, encode(texts))
        return len(texts)
    # An encoder takes texts of like length together.
    texts.sort(key=len)
    parts = []
    for start in range(0, len(texts), _SLICE):
        if not may_go_on():
            return 0
        parts.append(encode(texts[start : start + _SLICE]))
    store.quick.replace(texts, np.concatenate(parts))
    return len(texts)
