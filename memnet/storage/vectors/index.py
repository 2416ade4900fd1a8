"""The vector index of one commit: vectors of a file, vectors added since, and tombstones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.storage.values import Hits, IndexInfo, Nearest, Searcher, ToDevice
from memnet.storage.vectors.file import (
    DamagedIndexError,
    IndexHeader,
    read_index,
    scratch_vectors,
    write_index,
)
from memnet.storage.vectors.search import (
    ExactSearch,
    OnDeviceSearch,
    PQSearch,
    ReadVectors,
    VectorsById,
    best,
    code_scores,
    empty_pq,
    fast_scan_index,
    import_faiss,
    quantise,
    same_codes,
    uses_pq,
)

_BLOCK = 16_384  # vectors that are copied to a file together: 25 MB
_MIN_SEGMENT = 256  # a segment of fewer vectors is merged with the next: copying them takes 0.05 ms


# A codebook [16 D] of product quantisation, and the codes [N, W].
Codes: TypeAlias = tuple[NDArray[np.float32], NDArray[np.uint8]]


class Segment:
    """Vectors with rising ids, some of them deleted; it never changes."""

    def __init__(
        self,
        ids: NDArray[np.int64],
        exact: ExactSearch,
        searcher: Searcher | None = None,
        live: NDArray[np.bool_] | None = None,
        codes: Codes | None = None,
    ) -> None:
        """Join ids [N] int64, rising, and vectors; ``live`` [N] bool is False for a tombstone.

        ``exact`` reads the vectors, and searches them where there is no other ``searcher``;
        ``codes`` are theirs, if they have any.
        """
        self.ids = ids
        self.exact = exact
        self.searcher = searcher or exact
        self.codes = codes
        self.live = np.ones(len(ids), np.bool_) if live is None else live
        self._count = int(np.count_nonzero(self.live))

    def __len__(self) -> int:
        return self._count

    def remove(self, ids: NDArray[np.int64]) -> "Segment":
        """The segment with tombstones for these ids, as far as it has them."""
        rows, found = self.find(ids)
        if not found.any():
            return self
        live = self.live.copy()
        live[rows[found]] = False
        return Segment(self.ids, self.exact, self.searcher, live, self.codes)

    def find(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Rows [K] int64 of ids [K] int64, and which of them are there and live, [K] bool."""
        if not len(self.ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        rows = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return rows, (self.ids[rows] == ids) & self.live[rows]

    def search(
        self, query: NDArray[np.float32], limit: int, within: NDArray[np.int64] | None
    ) -> Nearest:
        """Ids [K] int64 and scores [K] float32 of the nearest; arguments as ``VectorIndex``."""
        allowed = None if self._count == len(self.ids) else self.live
        if within is not None:
            rows, found = self.find(within)
            allowed = np.zeros(len(self.ids), np.bool_)
            allowed[rows[found]] = True
        rows, scores = self.searcher.nearest(query, limit, allowed)
        return self.ids[rows], scores


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Inner-product search over vectors with int64 ids.

    It never changes, so that threads may search it while others replace it.
    """

    dimension: int  # D, width of the vectors
    config: IndexConfig
    # The vectors of the file.
    saved: Segment
    # Vectors that were added since, in memory, and compared with every query.
    fresh: tuple[Segment, ...] = ()
    # Of the file; None without one.
    header: IndexHeader | None = None

    @classmethod
    def empty(cls, dimension: int, config: IndexConfig) -> "VectorIndex":
        """An index without vectors."""
        import_faiss()
        nothing = ExactSearch(np.empty((0, dimension), np.float32))
        return cls(dimension, config, Segment(np.empty(0, np.int64), nothing))

    @classmethod
    def load(
        cls,
        path: Path,
        fingerprint: str,
        dimension: int,
        config: IndexConfig,
        read: ReadVectors,
        to_device: ToDevice | None = None,
    ) -> "VectorIndex | None":
        """Open an index file; None where it is missing, torn, foreign or of another encoder.

        ``read`` reads the vectors that a file with codes does not hold.
        """
        import_faiss()
        try:
            header, arrays = read_index(path)
            if (header.fingerprint, header.dimension) != (fingerprint, dimension):
                return None
            saved = _saved_segment(header, arrays, config, read, to_device)
        except (OSError, DamagedIndexError):
            return None
        return cls(dimension, config, saved, (), header)

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def info(self) -> IndexInfo:
        """What the index is made of."""
        searcher = self.saved.searcher
        on_device = isinstance(searcher, OnDeviceSearch) and searcher.on_device
        kind: Literal["flat", "pq"] = "flat"
        description, recall, rerank = "flat inner product (exact)", 1.0, 0
        if on_device:
            description += ", on the device"
        elif self.header is not None and self.header.code_size and self.config.kind != "flat":
            kind, recall, rerank = "pq", self.header.recall, self.header.rerank
            description = (
                f"product quantisation, {rerank} or more candidates reranked exactly "
                f"(recall@10 {recall:.3f} when built)"
            )
        return IndexInfo(kind, f"{description}, {len(self)} vectors", recall, rerank)

    def ids(self) -> NDArray[np.int64]:
        """The ids in the index, in no particular order: [N] int64."""
        return np.concatenate([segment.ids[segment.live] for segment in self._segments])

    def add(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> "VectorIndex":
        """The index with vectors [N, D] float32 under ids [N] int64 that it does not hold."""
        if not len(ids):
            return self
        fresh = list(self.fresh)
        # Segments at least halve in size: few to search, and each vector is copied a few times.
        while fresh and len(fresh[-1]) < max(2 * len(ids), _MIN_SEGMENT):
            last = fresh.pop()
            ids = np.concatenate([last.ids[last.live], ids])
            held = last.exact.vectors[last.live].astype(np.float32, copy=False)
            vectors = np.concatenate([held, vectors])
        if np.any(ids[1:] <= ids[:-1]):
            order = np.argsort(ids)
            ids, vectors = ids[order], vectors[order]
        return replace(self, fresh=(*fresh, Segment(ids, ExactSearch(vectors))))

    def remove(self, ids: NDArray[np.int64]) -> "VectorIndex":
        """The index without the vectors of these ids; ids that it does not hold are ignored."""
        if not len(ids):
            return self
        fresh = tuple(segment.remove(ids) for segment in self.fresh)
        return replace(self, saved=self.saved.remove(ids), fresh=fresh)

    def search(
        self, query: NDArray[np.float32], limit: int, within: NDArray[np.int64] | None = None
    ) -> Hits:
        """The ``limit`` vectors nearest to a query [D] among ``within`` [M] int64; None: all."""
        query = np.ascontiguousarray(query, np.float32)
        found = [segment.search(query, limit, within) for segment in self._segments]
        ids = np.concatenate([part[0] for part in found])
        scores = np.concatenate([part[1] for part in found])
        order = best(scores, limit)
        return Hits.padded(ids[order], scores[order], limit)

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors of ids [K] int64: [K, D] float32, and [K] bool which of them the index holds."""
        vectors = np.zeros((len(ids), self.dimension), np.float32)
        known = np.zeros(len(ids), np.bool_)
        for segment in self._segments:
            rows, found = segment.find(ids)
            vectors[found] = segment.exact.vectors[rows[found]]
            known |= found
        return vectors, known

    def agrees(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> bool:
        """Whether it was made of vectors [K, D] float32 under ids [K] int64, which it holds."""
        if self.saved.codes is None:
            return np.array_equal(self.vectors(ids)[0], vectors)
        rows, saved = self.saved.find(ids)
        codebook, codes = self.saved.codes
        same = same_codes(codebook, codes[rows[saved]], vectors[saved]).all()
        return bool(same) and np.array_equal(self.vectors(ids[~saved])[0], vectors[~saved])

    def save(self, path: Path, commit_id: int, fingerprint: str) -> None:
        """Write all vectors to one file, whole or not at all; those of codes block by block."""
        ids = self.ids()
        order = np.argsort(ids)
        header = IndexHeader(
            commit_id=commit_id, fingerprint=fingerprint, dimension=self.dimension, count=len(ids)
        )
        own, blocks = [ids[order]], self._blocks(order)
        if not uses_pq(len(ids), self.config):
            write_index(path, header, {"ids": own, "vectors": blocks})
            return
        # Codes are made in several passes over the vectors.
        with scratch_vectors(path.parent, blocks, (len(ids), self.dimension)) as vectors:
            codebook, codes, rerank, recall = quantise(vectors, self.dimension, self.config)
        update = {"code_size": codes.shape[1], "rerank": rerank, "recall": recall}
        write_index(
            path,
            header.model_copy(update=update),
            {"ids": own, "codebook": [codebook], "codes": [codes]},
        )

    @property
    def _segments(self) -> tuple[Segment, ...]:
        return (self.saved, *self.fresh)

    def _blocks(self, order: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """All vectors in an order of ``ids()``, [N] int64, block by block."""
        rows = np.concatenate([np.flatnonzero(segment.live) for segment in self._segments])
        owner = np.repeat(np.arange(len(self._segments)), [len(one) for one in self._segments])
        for start in range(0, len(order), _BLOCK):
            block_order = order[start : start + _BLOCK]
            block = np.empty((len(block_order), self.dimension), np.float32)
            for number, segment in enumerate(self._segments):
                mine = owner[block_order] == number
                block[mine] = segment.exact.vectors[rows[block_order[mine]]]
            yield block


def _saved_segment(
    header: IndexHeader,
    arrays: Mapping[str, NDArray[Any]],
    config: IndexConfig,
    read: ReadVectors,
    to_device: ToDevice | None,
) -> Segment:
    ids = arrays["ids"]
    if np.any(ids[1:] <= ids[:-1]):
        raise DamagedIndexError("ids are out of order")
    codes: Codes | None = None
    if header.code_size:
        if header.code_size != empty_pq(header.dimension).code_size:
            raise DamagedIndexError(f"codes of {header.code_size} bytes don't belong to vectors")
        codes = arrays["codebook"], arrays["codes"]
        exact = ExactSearch(VectorsById(ids, header.dimension, read))
    else:
        exact = ExactSearch(arrays["vectors"])
    searcher: Searcher = exact
    if codes is not None and config.kind != "flat":
        load, compare = partial(fast_scan_index, *codes), partial(code_scores, *codes)
        searcher = PQSearch(exact, load, header.rerank, config, compare)
    max_on_device = {"flat": len(ids), "pq": -1, "auto": config.max_flat_on_device}[config.kind]
    if to_device is not None and len(ids) <= max_on_device:
        searcher = OnDeviceSearch(exact, to_device, searcher)
    return Segment(ids, exact, searcher, codes=codes)
