"""The vector index of one commit: vectors of a file, vectors added since, and tombstones.

Whatever reads vectors of a file raises ``DamagedIndexError`` where it is not what was written; the
index has to be rebuilt from the rows then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.storage.precision import fit, row_sizes, stored_vectors
from memnet.storage.values import Hits, IndexInfo
from memnet.storage.vectors.file import DamagedIndexError, IndexFile, IndexHeader
from memnet.storage.vectors.search import (
    ExactSearch,
    Nearest,
    OnDeviceSearch,
    PQSearch,
    Searcher,
    ToDevice,
    best,
    code_scores,
    empty_pq,
    fast_scan_index,
    import_faiss,
    same_codes,
    uses_pq,
    write_index,
)

_BLOCK = 16_384
"""Vectors that are copied to a file together: 25 MB."""
_MIN_SEGMENT = 256
"""A segment of fewer vectors is merged with the next: copying them takes 0.05 ms."""


ReadVectors = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Vectors [K, D] float32 of ids [K] int64; zeros for ids that are no longer there."""


@dataclass(frozen=True, eq=False)
class _VectorsById:
    """Vectors [N, D] that are read by their ids where they are indexed."""

    ids: NDArray[np.int64]
    """[N]."""
    dimension: int
    """D."""
    read: ReadVectors

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, chosen: slice | NDArray[Any]) -> NDArray[np.float32]:
        ids = self.ids[chosen]
        vectors = np.empty((len(ids), self.dimension), np.float32)
        for start in range(0, len(ids), _BLOCK):
            vectors[start : start + _BLOCK] = self.read(ids[start : start + _BLOCK])
        return vectors


class Segment:
    """Vectors with rising ids, some of them deleted; it never changes."""

    def __init__(
        self,
        ids: NDArray[np.int64],
        exact: ExactSearch,
        searcher: Searcher | None = None,
        live: NDArray[np.bool_] | None = None,
    ) -> None:
        """Join ids [N] int64, rising, and vectors; ``live`` [N] bool is False for a tombstone.

        ``exact`` reads the vectors, and searches them where there is no other ``searcher``.
        """
        self.ids = ids
        self.exact = exact
        self.searcher = searcher or exact
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
        return Segment(self.ids, self.exact, self.searcher, live)

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

    dimension: int
    """D, width of the vectors."""
    config: IndexConfig
    saved: Segment
    """The vectors of ``file``."""
    fresh: tuple[Segment, ...] = ()
    """Vectors that were added since, in memory, and compared with every query."""
    file: IndexFile | None = None
    read: ReadVectors | None = None
    """Reads vectors that files with codes do not hold; None where they hold them."""

    @classmethod
    def empty(
        cls, dimension: int, config: IndexConfig | None = None, read: ReadVectors | None = None
    ) -> "VectorIndex":
        """An index without vectors.

        Raises:
            DependencyError: FAISS is not installed.
        """
        import_faiss()
        nothing = ExactSearch(np.empty((0, dimension), np.float32))
        saved = Segment(np.empty(0, np.int64), nothing)
        return cls(dimension, config or IndexConfig(), saved, read=read)

    @classmethod
    def load(
        cls,
        path: Path,
        fingerprint: str,
        dimension: int,
        config: IndexConfig | None = None,
        to_device: ToDevice | None = None,
        read: ReadVectors | None = None,
    ) -> "VectorIndex | None":
        """Open an index file; None where it is missing, torn, foreign or of another encoder.

        Or where it does not hold its vectors, and there is no ``read``.

        Vectors and codes are verified when they are first used, and copied to a device then.

        Raises:
            DependencyError: FAISS is not installed.
        """
        import_faiss()
        config = config or IndexConfig()
        try:
            file = IndexFile(path)
            if (file.header.fingerprint, file.header.dimension) != (fingerprint, dimension):
                return None
            if not file.header.row_size and read is None:
                return None
            saved = _saved_segment(file, config, to_device, read)
            return cls(dimension, config, saved, (), file, read)
        except (OSError, DamagedIndexError):
            return None

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
        elif self.file is not None and self.file.header.code_size and self.config.kind != "flat":
            kind, recall, rerank = "pq", self.file.header.recall, self.file.header.rerank
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
            vectors = np.concatenate([last.exact.vectors[last.live], vectors])
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
        """The ``limit`` vectors with the largest inner product with the query.

        Args:
            query: [D] float32.
            limit: K, at least 1.
            within: ids to choose from, [M] int64; None for all.

        Returns:
            Hits of width K; scores are inner products.
        """
        query = np.ascontiguousarray(query, np.float32)
        found = [segment.search(query, limit, within) for segment in self._segments]
        ids = np.concatenate([part[0] for part in found])
        scores = np.concatenate([part[1] for part in found])
        order = best(scores, limit)
        mask = np.arange(limit) < len(order)
        hits = Hits(np.zeros(limit, np.int64), np.zeros(limit, np.float32), mask)
        hits.ids[mask], hits.scores[mask] = ids[order], scores[order]
        return hits

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors of ids [K] int64: [K, D] float32, and [K] bool which of them the index holds."""
        vectors = np.zeros((len(ids), self.dimension), np.float32)
        known = np.zeros(len(ids), np.bool_)
        for segment in self._segments:
            rows, found = segment.find(ids)
            vectors[found] = segment.exact.read(rows[found])
            known |= found
        return vectors, known

    def agrees(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> bool:
        """Whether it was made of vectors [K, D] float32 under ids [K] int64, which it holds.

        Raises:
            DamagedIndexError: its file is damaged.
        """
        if self.file is None or self.file.header.row_size:
            return np.array_equal(self.vectors(ids)[0], vectors)
        rows, saved = self.saved.find(ids)
        self.file.check("codebook")
        self.file.check("codes", rows[saved])
        codebook, codes = self.file.array("codebook"), self.file.array("codes")[rows[saved]]
        same = same_codes(codebook, codes, vectors[saved]).all()
        return bool(same) and np.array_equal(self.vectors(ids[~saved])[0], vectors[~saved])

    def save(self, path: Path, commit_id: int, fingerprint: str) -> None:
        """Write all vectors to one file, in seconds for a million.

        Args:
            path: of the file, which appears whole or not at all.
            commit_id: of the rows that the index was made from.
            fingerprint: of the encoder.

        Raises:
            OSError: it can't be written.
        """
        ids = self.ids()
        order = np.argsort(ids)
        # Of a flat index all vectors are compared with each query, and none is to be unpacked.
        sizes = row_sizes(self.dimension)[0 if uses_pq(len(ids), self.config) else -1 :]
        row_size = next(
            size
            for size in sizes
            # All fit float32, and need not be read to see it.
            if size == sizes[-1]
            or all(fit(segment.exact.vectors, size) for segment in self._segments)
        )
        header = IndexHeader(
            commit_id=commit_id,
            fingerprint=fingerprint,
            dimension=self.dimension,
            count=len(ids),
            row_size=row_size,
        )
        write_index(
            path, header, ids[order], self._blocks(order), self.config,
            keep_vectors=self.read is None,
        )  # fmt: skip

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
                block[mine] = segment.exact.read(rows[block_order[mine]])
            yield block


def _saved_segment(
    file: IndexFile, config: IndexConfig, to_device: ToDevice | None, read: ReadVectors | None
) -> Segment:
    """The vectors of a file, ready to be searched in the way that the settings name."""
    header, ids = file.header, file.array("ids")
    file.check("ids")
    if np.any(ids[1:] <= ids[:-1]):
        raise DamagedIndexError("ids are out of order")
    if header.code_size not in (0, empty_pq(header.dimension).code_size):
        raise DamagedIndexError(f"codes of {header.code_size} bytes don't belong to its vectors")

    def codes() -> Any:
        file.check("codebook")
        file.check("codes")
        return fast_scan_index(file.array("codebook"), file.array("codes"))

    if header.row_size:
        vectors = stored_vectors(file.array("vectors"), header.dimension)
        exact = ExactSearch(vectors, lambda rows: file.check("vectors", rows))
    else:
        assert read is not None  # noqa: S101 - else it would not be loaded
        exact = ExactSearch(_VectorsById(ids, header.dimension, read))

    def compare(query: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        file.check("codebook")
        file.check("codes", rows)
        return code_scores(file.array("codebook"), file.array("codes")[rows], query)

    searcher: Searcher = exact
    if header.code_size and config.kind != "flat":
        by_codes = None if header.row_size else compare
        searcher = PQSearch(exact, codes, header.rerank, config, by_codes)
    max_on_device = {"flat": len(ids), "pq": -1, "auto": config.max_flat_on_device}[config.kind]
    if to_device is not None and len(ids) <= max_on_device:
        searcher = OnDeviceSearch(exact, to_device, searcher)
    return Segment(ids, exact, searcher)
