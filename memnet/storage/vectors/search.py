"""Nearest vectors: by comparing all, by product quantisation and reranking, or on a GPU.

The codebook of product quantisation is trained here too, and its recall measured.

A search runs FAISS on one thread: it waits for memory, and a second thread made it slower where
other processes kept the cores busy.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.errors import DependencyError
from memnet.storage.values import Nearest, Searcher, ToDevice

CODE_BITS = 4
_BLOCK = 16_384  # vectors that are read or encoded together: 25 MB
_HITS = 10  # neighbours of a query over which recall is measured: recall@10
_SAME_BYTES = 0.9
_QUESTION_COSINE = 0.65  # of a question and its nearest passage: the median of 481 questions

# Vectors [K, D] float32 of ids [K] int64; zeros for ids that are no longer there.
ReadVectors = Callable[[NDArray[np.int64]], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class VectorsById:
    """Vectors [N, D] that are read by their ids where they are indexed."""

    ids: NDArray[np.int64]  # [N]
    dimension: int  # D
    read: ReadVectors

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, chosen: slice | NDArray[Any]) -> NDArray[np.float32]:
        ids = self.ids[chosen]
        vectors = np.empty((len(ids), self.dimension), np.float32)
        for start in range(0, len(ids), _BLOCK):
            vectors[start : start + _BLOCK] = self.read(ids[start : start + _BLOCK])
        return vectors


# [N, D].
Vectors = NDArray[np.float32] | NDArray[np.float16] | VectorsById
# Inner products [K] float32 of a query [D] with what the codes of rows [K] int64 stand for.
CompareCodes = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]


class ExactSearch:
    """Compares every vector with the query."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        if allowed is not None:
            rows = np.flatnonzero(allowed)
            if 4 * len(rows) > 3 * len(allowed):  # comparing all in their order is faster
                nearest, scores = self.nearest(query, 2 * limit, None)
                kept = np.flatnonzero(allowed[nearest])[:limit]
                if len(kept) == limit:
                    return nearest[kept], scores[kept]
            return self.rerank(query, limit, rows)
        if not len(self.vectors):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        found, scores = knn(query[None], self.vectors, min(limit, len(self.vectors)))
        return found[0], scores[0]

    def rerank(self, query: NDArray[np.float32], limit: int, rows: NDArray[np.int64]) -> Nearest:
        """The nearest among rows [K] int64."""
        scores = inner_products(query, self.vectors, rows)
        order = best(scores, limit)
        return rows[order], scores[order]


class PQSearch:
    """Compares four-bit codes of all vectors with the query, and reranks the best exactly.

    Sources: Jégou, Douze, Schmid 2011, "Product quantization for nearest neighbor search"; André,
    Kermarrec, Le Scouarnec 2015, "Cache locality is not enough: high-performance nearest neighbor
    search with product quantization fast scan".
    """

    def __init__(
        self,
        exact: ExactSearch,
        codes: Callable[[], Any],
        rerank: int,
        config: IndexConfig,
        compare: CompareCodes,
    ) -> None:
        """Search vectors, which ``exact`` has and reranks.

        ``codes`` loads theirs, as ``fast_scan_index`` does, at the first search; ``compare``
        compares those of some rows. At least ``rerank`` candidates are reranked.
        """
        self._exact = exact
        self._codes = cache(codes)
        self._rerank = rerank
        self._config = config
        self._compare = compare

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        """As ``Searcher.nearest``; recall is the same whatever is allowed."""
        total = len(self._exact.vectors)
        count = total if allowed is None else int(np.count_nonzero(allowed))
        wanted = min(count, max(self._rerank, self._config.rerank_per_hit * limit))
        if allowed is None:
            return self._exact.rerank(query, limit, self._candidates(query, wanted))
        # FastScan takes no IDSelector. Twice what would do if the allowed ones were spread evenly.
        width = 2 * wanted * total // max(1, count)
        while count > max(self._config.max_gather, wanted) and width <= total // 4:
            rows = self._candidates(query, width)
            rows = rows[allowed[rows]][:wanted]
            if len(rows) == wanted:
                return self._exact.rerank(query, limit, rows)
            width *= 4
        rows = np.flatnonzero(allowed)
        if len(rows) > wanted:
            rows = np.sort(rows[best(self._compare(query, rows), wanted)])
        return self._exact.rerank(query, limit, rows)

    def _candidates(self, query: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        if not count:
            return np.empty(0, np.int64)
        with one_thread():
            rows = self._codes().search(query[None], count)[1][0]
        return np.asarray(rows[rows >= 0], np.int64)


class OnDeviceSearch:
    """Compares every vector on another device, to which they are copied at the first search."""

    def __init__(self, exact: ExactSearch, to_device: ToDevice, fallback: Searcher) -> None:
        """Copy the vectors of ``exact``; search with ``fallback`` where there is no room."""
        self._exact = exact
        self._to_device: ToDevice | None = to_device
        self._fallback = fallback
        self._copy: Searcher | None = None
        self._guard = threading.Lock()

    @property
    def on_device(self) -> bool:
        """Whether the device has room, as far as is known."""
        return self._to_device is not None

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        with self._guard:
            if self._copy is None and self._to_device is not None:
                self._copy = self._to_device(np.asarray(self._exact.vectors[:], np.float32))
                if self._copy is None:
                    self._to_device = None
        return (self._copy or self._fallback).nearest(query, limit, allowed)


def empty_pq(dimension: int) -> Any:
    """A ``faiss.IndexPQ`` of four-bit codes, to be trained."""
    faiss = import_faiss()
    return faiss.IndexPQ(dimension, _parts(dimension), CODE_BITS, faiss.METRIC_INNER_PRODUCT)


def _parts(dimension: int) -> int:
    # Three numbers to a code are enough: 200 candidates hold 99.9 % of the ten nearest of a
    # million, with four numbers 99.2 %, with six 96.7 %.
    return dimension // next(width for width in (3, 4, 2, 1) if dimension % width == 0)


def fast_scan_index(codebook: NDArray[np.float32], codes: NDArray[np.uint8]) -> Any:
    """A ``faiss.IndexPQFastScan`` of codes [N, W] uint8 with a codebook [16 D] float32."""
    index = _trained_pq(codebook)
    index.add_sa_codes(np.ascontiguousarray(codes))
    return import_faiss().IndexPQFastScan(index)


def _trained_pq(codebook: NDArray[np.float32]) -> Any:
    """A ``faiss.IndexPQ`` without codes that has a codebook [16 D] float32."""
    index = empty_pq(len(codebook) // 2**CODE_BITS)
    import_faiss().copy_array_to_vector(np.ascontiguousarray(codebook), index.pq.centroids)
    index.is_trained = True
    return index


def code_scores(
    codebook: NDArray[np.float32],
    codes: NDArray[np.uint8],
    query: NDArray[np.float32],
    rows: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Inner products [K] float32 of a query [D] with what rows [K] of codes [N, W] stand for.

    As ``fast_scan_index`` has them, but for rounding: asymmetric distances by one lookup for each
    byte, which holds two codes. Source: Jégou, Douze, Schmid 2011, section III.A.
    """
    parts = _parts(len(query))
    centroids = codebook.reshape(parts, 2**CODE_BITS, -1)
    table = np.einsum("mkd,md->mk", centroids, query.reshape(parts, -1))
    if len(table) % 2:  # the rest of the last byte is empty
        table = np.concatenate([table, np.zeros_like(table[:1])])
    both = (table[1::2, :, None] + table[::2, None, :]).reshape(len(table) // 2, -1)
    scores: NDArray[np.float32] = both[np.arange(codes.shape[1]), codes[rows]].sum(axis=1)
    return scores.astype(np.float32, copy=False)


def knn(queries: NDArray[np.float32], vectors: Vectors, limit: int) -> Nearest:
    """Rows and inner products of the nearest vectors of each query, both [Q, limit]."""
    faiss = import_faiss()
    size = len(vectors) if _is_float32(vectors) else _BLOCK
    found: list[Nearest] = []
    with one_thread():
        for start in range(0, len(vectors), size):
            part = np.asarray(vectors[start : start + size], np.float32)
            scores, rows = faiss.knn(
                queries, part, min(limit, len(part)), metric=faiss.METRIC_INNER_PRODUCT
            )
            found.append((rows + start, scores))
    rows, scores = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    if len(found) > 1:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        rows, scores = (np.take_along_axis(some, order, axis=1) for some in (rows, scores))
    return rows, scores


def inner_products(
    query: NDArray[np.float32], vectors: Vectors, rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Inner products [K] float32 of a query and rows [K] of vectors, which must be there."""
    scores = np.empty(len(rows), np.float32)
    if not _is_float32(vectors):
        for start in range(0, len(rows), _BLOCK):
            part = np.asarray(vectors[rows[start : start + _BLOCK]], np.float32)
            scores[start : start + _BLOCK] = inner_products(query, part, np.arange(len(part)))
    elif len(rows):
        faiss, rows = import_faiss(), np.ascontiguousarray(rows)
        pointer = faiss.swig_ptr
        faiss.fvec_inner_products_by_idx(
            pointer(scores), pointer(query), pointer(vectors), pointer(rows),
            len(query), 1, len(rows),
        )  # fmt: skip
    return scores


def _is_float32(vectors: Vectors) -> bool:
    """Whether vectors are as FAISS takes them; others are converted or read part by part."""
    return isinstance(vectors, np.ndarray) and vectors.dtype == np.float32


def best(scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Positions of the ``limit`` highest of scores [N] float32, highest first."""
    if len(scores) <= 4 * limit:
        return np.argsort(-scores, kind="stable")[:limit]
    highest = np.argpartition(-scores, limit)[:limit]
    return highest[np.argsort(-scores[highest], kind="stable")]


@contextmanager
def one_thread() -> Iterator[None]:
    """While inside, FAISS runs on the calling thread alone."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def import_faiss() -> Any:
    """FAISS; a DependencyError where it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise DependencyError(
            "FAISS is not installed; run: pip install --force-reinstall faiss-cpu"
        ) from error
    return faiss


def same_codes(
    codebook: NDArray[np.float32], codes: NDArray[np.uint8], vectors: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which codes [N, W] uint8 are those of vectors [N, D] float32: [N] bool.

    Sums in another order, as another processor takes them, may change a few of the W bytes.
    """
    with one_thread():
        same = _trained_pq(codebook).sa_encode(np.ascontiguousarray(vectors)) == codes
    return np.asarray(same.mean(axis=1) >= _SAME_BYTES)


def uses_pq(count: int, config: IndexConfig) -> bool:
    """Whether a file of ``count`` vectors gets codes."""
    if config.kind == "auto":
        return count > max(config.max_flat, config.min_pq)
    return config.kind == "pq" and count >= config.min_pq


def quantise(
    vectors: Vectors, dimension: int, config: IndexConfig
) -> tuple[NDArray[np.float32], NDArray[np.uint8], int, float]:
    """Learn a codebook for vectors [N, D], make their codes, and measure recall.

    Gives the codebook [16 D] float32, the codes [N, W] uint8, the least number of candidates to
    rerank, and the recall@10 with so many.
    """
    rng = np.random.default_rng(0)
    sample = rng.choice(len(vectors), min(len(vectors), config.training_size), replace=False)
    pq = empty_pq(dimension)
    pq.pq.cp.min_points_per_centroid = 1  # no warning where there are few
    codes = np.empty((len(vectors), pq.code_size), np.uint8)
    with one_thread():
        pq.train(np.asarray(vectors[np.sort(sample)], np.float32))
        for start in range(0, len(vectors), _BLOCK):
            part = np.asarray(vectors[start : start + _BLOCK], np.float32)
            codes[start : start + _BLOCK] = pq.sa_encode(part)
    codebook: NDArray[np.float32] = import_faiss().vector_to_array(pq.pq.centroids)
    index, exact = fast_scan_index(codebook, codes), ExactSearch(vectors)
    compare = partial(code_scores, codebook, codes)
    queries = sample_queries(vectors, config.recall_queries, rng)
    least = knn(queries, vectors, _HITS)[1][:, -1]
    rerank = config.rerank
    while True:
        search = PQSearch(exact, lambda: index, rerank, config, compare)
        found = [search.nearest(query, _HITS, None)[1] for query in queries]
        # Ties may be in another order, and sums differ in the last bits.
        recall = float(np.mean(np.stack(found) >= least[:, None] - 1e-6))
        if recall >= config.target_recall or rerank >= config.max_rerank:
            return codebook, codes, rerank, recall
        rerank *= 2


def sample_queries(vectors: Vectors, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Queries [count, D] float32 that measure recall.

    Half are stored vectors, half as far from one as questions are: their rest is the difference of
    two stored vectors, so that it lies where they do.
    """
    near, one, other = (
        np.asarray(vectors[rows], np.float32)
        for rows in np.sort(rng.integers(0, len(vectors), (3, count)))
    )
    rest = one - other
    rest -= np.sum(rest * near, axis=1, keepdims=True) * near
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    rest = np.divide(rest, length, out=np.zeros_like(rest), where=length > 0)
    cosines = np.where(np.arange(count) % 2, _QUESTION_COSINE, 1.0).astype(np.float32)[:, None]
    queries: NDArray[np.float32] = cosines * near + np.sqrt(1 - cosines**2) * rest
    return queries
