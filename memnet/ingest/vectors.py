"""Vectors of passages: quick ones where a run has many of them, and the full ones that follow."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from memnet.config import IngestConfig
from memnet.storage import Encode, MemoryStore, NewSource, PassageVectors

Result = TypeVar("Result")
# Texts between two looks at whether to go on: 0.2 s of one core.
_SLICE = 16


class PassageEncoder:
    """The encoder of the passages of one run: quick once there are many of them."""

    def __init__(
        self,
        encode: Encode,
        config: IngestConfig,
        *,
        encode_document: Encode | None = None,
        encode_quick: Encode | None = None,
        in_background: bool = False,
    ) -> None:
        """Encode nothing yet.

        Args:
            encode: gives full vectors.
            config: settings.
            encode_document: gives the vectors of passages quickly; None for ``encode``.
            encode_quick: does so where there are many, and leaves their full vectors to
                ``encode_full``.
            in_background: whether both may be called from another thread, while a batch is
                written.
        """
        self.encode = encode
        """Gives full vectors."""
        self.quick = encode_document or encode_quick
        """Encodes passages quickly; None where there is no such way."""
        self.encoded = 0
        """Key texts of passages that the store lacked."""
        self._quick_is_final = encode_document is not None
        self._min_quick = config.min_quick
        self._pool = ThreadPoolExecutor(1) if in_background and self.is_quick else None

    @property
    def is_quick(self) -> bool:
        """Whether there is a quick way."""
        return self.quick is not None

    @property
    def in_background(self) -> bool:
        """Whether a batch is encoded while the one before it is written."""
        return self._pool is not None

    def running(self) -> AbstractContextManager[object]:
        """The background thread, if there is one, ends with this block."""
        return self._pool or nullcontext()

    def submit(self, work: Callable[[], Result]) -> "Future[Result] | None":
        """Do some work on the background thread; None, and nothing is done, without one."""
        return None if self._pool is None else self._pool.submit(work)

    def encode_passages(self, texts: Sequence[str], quick: Encode | None) -> PassageVectors:
        """Vectors of new key texts: those of ``quick`` once the run has many of them."""
        is_full = self.is_full(len(texts))
        self.encoded += len(texts)
        if quick is None or is_full:
            return PassageVectors(self.encode(texts))
        return PassageVectors(quick(texts), quick=not self._quick_is_final)

    def is_full(self, more: int) -> bool:
        """Whether this many more key texts are encoded in full at once."""
        return not self._quick_is_final and self.encoded + more < self._min_quick


class PendingVectors:
    """The vectors of the passages of a batch, made in the background where that is possible."""

    def __init__(
        self,
        encoder: PassageEncoder,
        sources: Sequence[NewSource],
        make_slots: Callable[[Sequence[NewSource]], None] | None = None,
    ) -> None:
        """Begin.

        Args:
            encoder: of the run.
            sources: that are new or changed; nobody else may look at their slots before ``wait``
                returns.
            make_slots: makes those that are not made yet; None to leave it to the sources.
        """
        self._encoder = encoder
        self._sources = sources
        self._make_slots = make_slots
        self._quick = quick = encoder.quick
        self._made = None if quick is None else encoder.submit(lambda: self._encode_all(quick))

    def wait(self) -> None:
        """Wait until nobody else looks at the slots."""
        if self._made is not None:
            self._made.result()

    def encode(self, texts: Sequence[str]) -> PassageVectors:
        """The vectors of some key texts of the batch, or of any others."""
        return self._encoder.encode_passages(texts, self._quick and self._find)

    def _find(self, wanted: Sequence[str]) -> NDArray[np.float32]:
        """Quick vectors [N, D] float32 of N key texts."""
        rows, vectors = ({}, None) if self._made is None else self._made.result()
        # The batch before may have replaced what made a source count as stored.
        if vectors is None or not rows.keys() >= set(wanted):
            return cast("Encode", self._quick)(wanted)
        return vectors[[rows[text] for text in wanted]]

    def _encode_all(self, quick: Encode) -> tuple[dict[str, int], NDArray[np.float32]]:
        """Rows by key text, and vectors of these rows [K, D] float32."""
        if self._make_slots is not None:
            self._make_slots(self._sources)
        texts = sorted({slot.key_text for one in self._sources for slot in one.slots})
        if self._encoder.is_full(len(texts)):
            texts = []
        return {text: row for row, text in enumerate(texts)}, quick(texts)


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
        may_go_on: called every 16 texts; may block; after False nothing more is stored.

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
