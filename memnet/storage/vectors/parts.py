"""Vectors that are searched together: all of them exactly, or by four-bit codes and then exactly.

The only place that knows FAISS. A search runs on one thread: it waits for memory, and a second
thread made it slower where other processes kept the cores busy.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.errors import DependencyError
from memnet.storage.vectors.file import Check

_CODE_BITS = 4


class Found(NamedTuple):
    """Some of the vectors of a part, best first."""

    ids: NDArray[np.int64]
    """[K] int64."""
    scores: NDArray[np.float32]
    """[K] float32 inner products."""


class Held(Protocol):
    """Vectors that lie on another device, where all of them are compared."""

    def nearest(
        self, query: NDArray[np.float32], count: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Places [K] int64 and inner products [K] float32 of the nearest to [D] float32.

        ``count`` at most, of those that are allowed [N] bool, or of all; best first.
        """
        ...


ToDevice = Callable[[NDArray[np.float32]], Held | None]
"""Copies vectors [N, D] float32 to another device; gives None where it has no room for them."""


class Codes:
    """Four-bit codes of vectors: product quantisation, compared with registers as tables.

    Source: André, Kermarrec, Le Scouarnec 2015, "Cache locality is not enough: high-performance
    nearest neighbor search with product quantization fast scan"; codes of Jégou et al. 2011.
    """

    def __init__(self, dimension: int) -> None:
        """Make codes for vectors of width ``dimension``; they have to be trained or loaded."""
        self._faiss = import_faiss()
        # Three numbers to a code keep enough: 200 codes hold 99.9 % of the ten nearest of a
        # million, four numbers 99.2 %, six 96.7 %.
        width = next(width for width in (3, 4, 2, 1) if dimension % width == 0)
        self._index = self._faiss.IndexPQFastScan(
            dimension, dimension // width, _CODE_BITS, self._faiss.METRIC_INNER_PRODUCT
        )

    def train(self, sample: NDArray[np.float32]) -> None:
        """Choose the code book for vectors such as the sample [N, D] float32."""
        self._index.pq.cp.min_points_per_centroid = 1
        with one_thread(self._faiss):
            self._index.train(sample)

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Add the codes of vectors [N, D] float32 after those that are there."""
        with one_thread(self._faiss):
            self._index.add(np.ascontiguousarray(vectors))

    def nearest(self, query: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Places of the ``count`` vectors that seem nearest to [D] float32, best first."""
        with one_thread(self._faiss):
            places = self._index.search(query[None], count)[1][0]
        return np.asarray(places[places >= 0], np.int64)

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Code book and codes, as FAISS of this version lays them out."""
        codes = self._index.codes
        return (
            self._faiss.vector_to_array(self._index.pq.centroids),
            self._faiss.rev_swig_ptr(codes.get(), codes.size()),
        )

    @classmethod
    def from_arrays(
        cls, dimension: int, count: int, book: NDArray[np.float32], codes: NDArray[np.uint8]
    ) -> "Codes | None":
        """Take code book and codes of ``count`` vectors; None where they have another size."""
        made = cls(dimension)
        index, faiss = made._index, made._faiss
        rows = -(-count // index.bbs) * index.bbs
        if len(book) != index.pq.centroids.size() or len(codes) != rows * index.M2 // 2:
            return None
        faiss.copy_array_to_vector(np.ascontiguousarray(book), index.pq.centroids)
        index.codes.resize(len(codes))
        faiss.memcpy(index.codes.get(), faiss.swig_ptr(np.ascontiguousarray(codes)), len(codes))
        index.ntotal, index.ntotal2, index.is_trained = count, rows, True
        return made


class Part:
    """Vectors with ids, which stay as they are."""

    def __init__(
        self,
        ids: NDArray[np.int64],
        rows: NDArray[np.float32],
        codes: Codes | None = None,
        check: Check | None = None,
        rerank: int = 0,
        to_device: ToDevice | None = None,
    ) -> None:
        """Join ids and vectors.

        Args:
            ids: [N] int64.
            rows: [N, D] float32.
            codes: of the rows; None to compare all rows.
            check: is called with places of rows before they are used, None for all.
            rerank: how many vectors at least are compared exactly after their codes.
            to_device: copies the rows to a GPU when they are first searched; None for the CPU.
        """
        self.ids = ids
        self.rows = rows
        self.codes = codes
        self.rerank = rerank
        self._check = check
        self._to_device = to_device
        self._held: Held | None = None
        self._holding = threading.Lock()
        self._faiss = import_faiss()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def elsewhere(self) -> bool:
        """Whether the rows are compared on another device, as far as is known."""
        return self._to_device is not None

    @property
    def exact(self) -> bool:
        """Whether every search compares all rows."""
        return self.codes is None or self.elsewhere

    def check_all(self) -> None:
        """Check all rows.

        Raises:
            DamagedIndexError: they are not what was written.
        """
        if self._check is not None:
            self._check(None)

    def read(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows at these places [K] int64, checked: [K, D] float32.

        Raises:
            DamagedIndexError: they are not what was written.
        """
        if self._check is not None:
            self._check(places)
        found: NDArray[np.float32] = self.rows[places]
        return found

    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: NDArray[np.bool_] | None,
        config: IndexConfig,
    ) -> Found:
        """The nearest of the allowed vectors.

        Args:
            query: [D] float32.
            limit: most to find.
            allowed: [N] bool; None for all.
            config: how far to look.

        Raises:
            DamagedIndexError: the file is not what was written.
        """
        held = self._on_device()
        if held is not None:
            places, scores = held.nearest(query, limit, allowed)
            return Found(self.ids[places], scores)
        if allowed is not None:
            return self._search_among(query, limit, allowed, config)
        places, exact = self._nearest(query, self._wanted(len(self), limit, config))
        if exact is None:
            return self._compare(query, limit, places)
        return Found(self.ids[places], exact)

    def _on_device(self) -> Held | None:
        """The rows on another device, copied at the first call; None where they stay here."""
        if self._to_device is None or self._held is not None:
            return self._held
        with self._holding:
            if self._held is None and self._to_device is not None:
                self.check_all()
                self._held = self._to_device(self.rows)
                if self._held is None:
                    self._to_device = None
        return self._held

    def _wanted(self, count: int, limit: int, config: IndexConfig) -> int:
        """How many of ``count`` vectors have to be found for ``limit`` hits."""
        if self.codes is None:
            return min(count, limit)
        return min(count, max(self.rerank, config.rerank_per_hit * limit))

    def _search_among(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: NDArray[np.bool_],
        config: IndexConfig,
    ) -> Found:
        """The nearest of the allowed vectors, found as well as if there were no others."""
        count = int(np.count_nonzero(allowed))
        wanted = self._wanted(count, limit, config)
        if count > max(config.max_gather, wanted):
            # Twice what would do if the allowed ones lay evenly.
            width = 2 * wanted * len(self) // count
            while width <= len(self) // 4:
                places, scores = self._nearest(query, width)
                kept = np.flatnonzero(allowed[places])[:wanted]
                if len(kept) == wanted:
                    if scores is None:
                        return self._compare(query, limit, places[kept])
                    return Found(self.ids[places[kept]], scores[kept])
                width *= 4
        return self._compare(query, limit, np.flatnonzero(allowed))

    def _nearest(
        self, query: NDArray[np.float32], width: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Places of the nearest, and their scores where they are exact."""
        if not width:
            return np.empty(0, np.int64), None
        if self.codes is not None:
            return self.codes.nearest(query, width), None
        self.check_all()
        with one_thread(self._faiss):
            scores, places = self._faiss.knn(
                query[None], self.rows, width, metric=self._faiss.METRIC_INNER_PRODUCT
            )
        return places[0], scores[0]

    def _compare(self, query: NDArray[np.float32], limit: int, places: NDArray[np.int64]) -> Found:
        """The nearest of the vectors at these places, exactly."""
        if self._check is not None:
            self._check(places)
        scores = np.empty(len(places), np.float32)
        pointer = self._faiss.swig_ptr
        places = np.ascontiguousarray(places)
        if len(places):
            self._faiss.fvec_inner_products_by_idx(
                pointer(scores), pointer(query), pointer(self.rows), pointer(places),
                len(query), 1, len(places),
            )  # fmt: skip
        return best([Found(self.ids[places], scores)], limit)


def best(found: list[Found], limit: int) -> Found:
    """The ``limit`` best of several parts."""
    ids = np.concatenate([one.ids for one in found])
    scores = np.concatenate([one.scores for one in found])
    if len(ids) > 4 * limit:
        first = np.argpartition(-scores, limit)[:limit]
        ids, scores = ids[first], scores[first]
    order = np.argsort(-scores, kind="stable")[:limit]
    return Found(ids[order], scores[order])


def exact_scores(
    queries: NDArray[np.float32], rows: NDArray[np.float32], limit: int
) -> NDArray[np.float32]:
    """Scores of the ``limit`` nearest rows of each query [Q, D], best first: [Q, limit] float32."""
    faiss = import_faiss()
    with one_thread(faiss):
        found = faiss.knn(queries, rows, limit, metric=faiss.METRIC_INNER_PRODUCT)
    return np.asarray(found[0], np.float32)


@contextmanager
def one_thread(faiss: Any) -> Iterator[None]:
    """While inside, FAISS runs on the calling thread alone."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def import_faiss() -> Any:
    """FAISS.

    Raises:
        DependencyError: it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise DependencyError(
            "FAISS is not installed; install it with \"pip install 'memnet[cpu]'\" "
            "or, for an NVIDIA GPU, \"pip install 'memnet[gpu]'\" (one of the two, never both)"
        ) from error
    return faiss
