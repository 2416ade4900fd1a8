"""Vectors of passages: quick ones where a run has many of them, and the full ones that follow."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import IngestConfig
from memnet.storage import Encode, EncodePassages, MemoryStore, NewSource, PassageVectors


class PassageEncoder:
    """The encoder of one run, which counts what it encodes."""

    def __init__(
        self,
        encode: Encode,
        config: IngestConfig,
        *,
        encode_document: Encode | None = None,
        encode_quick: Encode | None = None,
        ahead: bool = False,
    ) -> None:
        """Encode nothing yet.

        Args:
            encode: gives full vectors.
            config: settings.
            encode_document: gives the vectors of passages quickly; None for ``encode``.
            encode_quick: does so where there are many, and leaves their full vectors to
                ``encode_full``.
            ahead: whether both may be called from another thread, while a batch is written.
        """
        self.encode = encode
        """Gives full vectors."""
        self._encode_document = encode_document
        self._quick = encode_document or encode_quick
        self._min_quick = config.min_quick
        self._pool = ThreadPoolExecutor(1) if ahead and self._quick is not None else None
        self.encoded = 0
        """Key texts of passages that the store lacked."""

    @property
    def is_quick(self) -> bool:
        """Whether there is a quick way."""
        return self._quick is not None

    @property
    def is_ahead(self) -> bool:
        """Whether a batch is encoded while the one before it is written."""
        return self._pool is not None

    def running(self) -> AbstractContextManager[object]:
        """The thread that encodes ahead, if there is one, ends with this block."""
        return self._pool or nullcontext()

    def begin(
        self,
        changed: Sequence[NewSource],
        make_slots: Callable[[Sequence[NewSource]], None] | None = None,
    ) -> "Begun":
        """Begin to encode the passages of sources that are to be put, if that is possible.

        Args:
            changed: the sources; nobody else may look at their slots until ``Begun.wait`` returns.
            make_slots: makes those that are not made yet, in another thread if they are encoded in
                one; None to leave it to the sources.
        """
        if self._quick is None or self._pool is None:
            return Begun(partial(self._encode_passages, self._quick), lambda: None)
        ahead = _Ahead(self._pool, self._quick, changed, make_slots, self._is_full)
        return Begun(partial(self._encode_passages, ahead.encode), ahead.wait)

    def _encode_passages(self, quick: Encode | None, texts: Sequence[str]) -> PassageVectors:
        """Vectors of new key texts: those of ``quick`` once the run has many of them."""
        is_full = quick is None or self._is_full(len(texts))
        self.encoded += len(texts)
        if quick is None or is_full:
            return PassageVectors(self.encode(texts))
        return PassageVectors(quick(texts), quick=self._encode_document is None)

    def _is_full(self, more: int) -> bool:
        """Whether so many more key texts are encoded in full at once."""
        return self._encode_document is None and self.encoded + more < self._min_quick


class Begun(NamedTuple):
    """Passages that are being encoded."""

    encode: EncodePassages
    """Gives the vectors."""
    wait: Callable[[], object]
    """Waits until nobody else looks at the slots."""


class _Ahead:
    """The passages of sources, encoded in another thread, where their slots are made too."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        encode: Encode,
        sources: Sequence[NewSource],
        make_slots: Callable[[Sequence[NewSource]], None] | None,
        is_full: Callable[[int], bool],
    ) -> None:
        """Begin.

        Args:
            pool: where.
            encode: the quick way.
            sources: whose slots may not be made yet.
            make_slots: makes them; None to leave it to the sources.
            is_full: whether so many key texts are encoded otherwise, and not here.
        """
        self._encode = encode
        self._sources = sources
        self._make_slots = make_slots
        self._is_full = is_full
        self._encoded = pool.submit(self._run)

    def encode(self, wanted: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [N, D] float32 of N of the key texts, or of any others."""
        rows, vectors = self._encoded.result()
        # The batch before may have replaced what made a source count as stored.
        if not rows.keys() >= set(wanted):
            return self._encode(wanted)
        return vectors[[rows[text] for text in wanted]]

    def wait(self) -> None:
        """Wait until it is done."""
        self._encoded.result()

    def _run(self) -> tuple[dict[str, int], NDArray[np.float32]]:
        """Rows by key text, and vectors of these rows [K, D] float32."""
        if self._make_slots is not None:
            self._make_slots(self._sources)
        texts = sorted({slot.key_text for one in self._sources for slot in one.slots})
        if self._is_full(len(texts)):
            texts = []
        return {text: row for row, text in enumerate(texts)}, self._encode(texts)


_SLICE = 16
"""Texts between two looks at whether to go on: 0.2 s of one core."""


def encode_full(
    store: MemoryStore,
    encode: Encode,
    limit: int,
    may_go_on: Callable[[], bool] | None = None,
) -> int:
    """Replace the quick vectors of some texts in one commit.

    Nothing is locked while they are encoded: others ask and write meanwhile.

    Args:
        store: to read texts from, and to write to.
        encode: encodes them.
        limit: most texts.
        may_go_on: asked from time to time; it may wait. Nothing is stored once it says no.

    Returns:
        How many were replaced; 0 where there are none, or it was told to stop.

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
