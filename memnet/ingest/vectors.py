"""Vectors of passages: quick ones where a run has many of them, and the full ones that follow."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import InitVar, dataclass, field
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.protocol import Encoder, UnitEncoder, document_encode
from memnet.storage import Encode, MemoryStore, NewSource, PassageVectors, UnitKeys
from memnet.text.english import units

_SLICE = 16  # texts between two looks at whether to go on: 0.2 s of one core


@dataclass
class PassageEncoder:
    """The encoder of the passages of one run: quick once there are many of them."""

    encoder: Encoder  # gives full vectors
    min_quick: int = 0  # key texts from which on they are encoded quickly, and in full later
    quick: Encode | None = None  # encodes passages quickly; None where there is no such way
    quick_is_final: bool = False  # whether these vectors stay, so that all passages get them
    # Whether both may be called on a thread, while a batch is written.
    in_background: InitVar[bool] = False
    encoded: int = field(default=0, init=False)  # key texts of passages that the store lacked
    pool: ThreadPoolExecutor | None = field(default=None, init=False)

    def __post_init__(self, in_background: bool) -> None:
        if in_background and self.quick is not None:
            self.pool = ThreadPoolExecutor(1)

    def is_full(self, more: int) -> bool:
        """Whether this many more key texts are encoded in full at once."""
        return not self.quick_is_final and self.encoded + more < self.min_quick


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
        """The vectors of some key texts of the batch, or of any others: quick once it has many."""
        encoder = self._encoder
        is_full = encoder.is_full(len(texts))
        encoder.encoded += len(texts)
        if encoder.quick is None or is_full:
            return encode_passages(encoder.encoder, texts)
        vectors = self._find(texts) if self._made else encoder.quick(texts)
        return PassageVectors(vectors, quick=not encoder.quick_is_final)

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


def encode_passages(encoder: Encoder, texts: Sequence[str]) -> PassageVectors:
    """Full vectors of the key texts of passages, with keys of their units where there may be."""
    if not isinstance(encoder, UnitEncoder):
        return PassageVectors(document_encode(encoder)(texts))
    spans = [[(unit.start, unit.end) for unit in units(text)] for text in texts]
    vectors, found = encoder.encode_units(texts, spans)
    projection = encoder.unit_projection()
    return PassageVectors(vectors, units=[UnitKeys.packed(one @ projection) for one in found])


def encode_full(
    store: MemoryStore,
    encoder: Encoder,
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
        store.quick.replace(texts, encode_passages(encoder, texts))
        return len(texts)
    # An encoder takes texts of like length together.
    texts.sort(key=len)
    parts: list[PassageVectors] = []
    for start in range(0, len(texts), _SLICE):
        if not may_go_on():
            return 0
        parts.append(encode_passages(encoder, texts[start : start + _SLICE]))
    vectors = np.concatenate([part.vectors for part in parts])
    keys = [one for part in parts for one in part.units]
    store.quick.replace(texts, PassageVectors(vectors, units=keys))
    return len(texts)
