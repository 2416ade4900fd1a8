"""Nearest vectors: by comparing all, by product quantisation and reranking, or on a GPU.

The codebook of product quantisation is trained here too, and its recall measured.

A search runs FAISS on one thread: it waits for memory, and a second thread made it slower where
other processes kept the cores busy. It raises ``DamagedIndexError`` where the file is not what was
written.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.errors import DependencyError
from memnet.storage.precision import Vectors, packed_rows, stored_vectors
from memnet.storage.vectors.file import IndexHeader, IndexWriter, replacing, scratch_rows

Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Rows [K] int64 and their inner products [K] float32, best first."""
CompareCodes = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]
"""Inner products [K] float32 of a query [D] with what the codes of rows [K] int64 stand for."""
Check = Callable[[NDArray[np.int64] | None], None]
"""Verifies rows [K] int64 before they are used, or all for None; raises DamagedIndexError."""
CODE_BITS = 4
_BLOCK = 16_384
"""Vectors that are encoded together: 25 MB."""
_HITS = 10
"""Neighbours of a query over which recall is measured: recall@10."""
_SAME_BYTES = 0.9
_QUESTION_COSINE = 0.65
"""Of a question and its nearest passage: the median of 481 questions."""


class Searcher(Protocol):
    """A way to search N vectors of width D."""

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        """The ``limit`` vectors with the largest inner product with a query [D] float32.

        ``allowed`` [N] bool says which may be found; None for all.
        """
        ...


ToDevice = Callable[[NDArray[np.float32]], Searcher | None]
"""Copies vectors [N, D] float32 to a device; gives None where it has no room for them."""


class ExactSearch:
    """Compares every vector with the query."""

    def __init__(self, vectors: Vectors, check: Check | None = None) -> None:
        """Search ``vectors``; ``check`` verifies them where that is needed."""
        self.vectors = vectors
        self.check = check or (lambda _: None)

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors [K, D] float32 of rows [K] int64, verified."""
        self.check(rows)
        return self.vectors[rows]

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        """As ``Searcher.nearest``."""
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
        self.check(None)
        found, scores = knn(query[None], self.vectors, min(limit, len(self.vectors)))
        return found[0], scores[0]

    def rerank(self, query: NDArray[np.float32], limit: int, rows: NDArray[np.int64]) -> Nearest:
        """The nearest among rows [K] int64."""
        self.check(rows)
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
        compare: CompareCodes | None = None,
    ) -> None:
        """Search vectors.

        Args:
            exact: has them, and reranks.
            codes: loads theirs, as ``fast_scan_index`` does, at the first search.
            rerank: least number of candidates to rerank.
            config: settings.
            compare: compares codes of some rows, where it takes long to read many vectors; None to
                read all that are allowed, if they are few.
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
        if self._compare is not None and len(rows) > wanted:
            rows = np.sort(rows[best(self._compare(query, rows), wanted)])
        return self._exact.rerank(query, limit, rows)

    def _candidates(self, query: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Rows of the best codes, best first."""
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
        """As ``Searcher.nearest``."""
        with self._guard:
            if self._copy is None and self._to_device is not None:
                self._exact.check(None)
                self._copy = self._to_device(self._exact.vectors[:])
                if self._copy is None:
                    self._to_device = None
        return (self._copy or self._fallback).nearest(query, limit, allowed)


def empty_pq(dimension: int) -> Any:
    """A ``faiss.IndexPQ`` of four-bit codes, to be trained."""
    faiss = import_faiss()
    return faiss.IndexPQ(dimension, _parts(dimension), CODE_BITS, faiss.METRIC_INNER_PRODUCT)


def _parts(dimension: int) -> int:
    """Codes of a vector."""
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
    codebook: NDArray[np.float32], codes: NDArray[np.uint8], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Inner products [K] float32 of a query [D] with what codes [K, W] uint8 stand for.

    As ``fast_scan_index`` has them, but for rounding: asymmetric distances by one lookup for each
    byte, which holds two codes. Source: Jégou, Douze, Schmid 2011, section III.A.
    """
    parts = _parts(len(query))
    centroids = codebook.reshape(parts, 2**CODE_BITS, -1)
    table = np.einsum("mkd,md->mk", centroids, query.reshape(parts, -1))
    if len(table) % 2:  # the rest of the last byte is empty
        table = np.concatenate([table, np.zeros_like(table[:1])])
    both = (table[1::2, :, None] + table[::2, None, :]).reshape(len(table) // 2, -1)
    scores: NDArray[np.float32] = both[np.arange(codes.shape[1]), codes].sum(axis=1)
    return scores.astype(np.float32, copy=False)


def knn(queries: NDArray[np.float32], vectors: Vectors, limit: int) -> Nearest:
    """Rows and inner products of the nearest vectors of each query, both [Q, limit]."""
    faiss = import_faiss()
    # FAISS takes float32 in memory only: others are unpacked or read part by part.
    size = len(vectors) if isinstance(vectors, np.ndarray) else _BLOCK
    found: list[Nearest] = []
    with one_thread():
        for start in range(0, len(vectors), size):
            part = vectors[start : start + size]
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
    if not isinstance(vectors, np.ndarray):
        for start in range(0, len(rows), _BLOCK):
            part = vectors[rows[start : start + _BLOCK]]
            scores[start : start + _BLOCK] = inner_products(query, part, np.arange(len(part)))
    elif len(rows):
        faiss, rows = import_faiss(), np.ascontiguousarray(rows)
        pointer = faiss.swig_ptr
        faiss.fvec_inner_products_by_idx(
            pointer(scores), pointer(query), pointer(vectors), pointer(rows),
            len(query), 1, len(rows),
        )  # fmt: skip
    return scores


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


def write_index(
    path: Path,
    header: IndexHeader,
    ids: NDArray[np.int64],
    blocks: Iterable[NDArray[np.float32]],
    config: IndexConfig,
    *,
    keep_vectors: bool = True,
) -> None:
    """Write an index file, which appears whole or not at all.

    The vectors pass through memory block by block; the codes have to fit.

    Args:
        path: of the file.
        header: of a flat index; ``row_size`` is that of float32 unless there are enough vectors
            for codes, and such that all ``fit``.
        ids: rising, [N] int64.
        blocks: their vectors [N, D] float32, in consecutive parts.
        config: chooses the kind.
        keep_vectors: whether a file with codes has the vectors, too.

    Raises:
        OSError: the file can't be written.
        ValueError: ``ids`` or ``blocks`` are not as many as the header says.
    """
    shape = header.count, header.row_size
    packed = (packed_rows(block, shape[1]) for block in blocks)
    has_codes = uses_pq(header.count, config)
    if has_codes:
        code_size = empty_pq(header.dimension).code_size
        row_size = header.row_size if keep_vectors else 0
        header = header.model_copy(update={"code_size": code_size, "row_size": row_size})
    with replacing(path, header) as writer:
        writer.write("ids", [ids])
        # Codes are made in several passes over the vectors.
        with (
            nullcontext(writer.write("vectors", packed))
            if header.row_size
            else scratch_rows(path.parent, packed, shape)
        ) as rows:
            if has_codes:
                vectors = stored_vectors(rows, header.dimension)
                header = _write_codes(writer, vectors, header, config)
        writer.finish(header)


def _write_codes(
    writer: IndexWriter, vectors: Vectors, header: IndexHeader, config: IndexConfig
) -> IndexHeader:
    """Write codebook and codes; returns the header with ``rerank`` and the recall it reaches."""
    rng = np.random.default_rng(0)
    sample = rng.choice(len(vectors), min(len(vectors), config.training_size), replace=False)
    pq = empty_pq(header.dimension)
    pq.pq.cp.min_points_per_centroid = 1  # no warning where there are few
    with one_thread():
        pq.train(vectors[np.sort(sample)])
        codebook = writer.write("codebook", [import_faiss().vector_to_array(pq.pq.centroids)])
        starts = range(0, len(vectors), _BLOCK)
        codes = writer.write("codes", (pq.sa_encode(vectors[at : at + _BLOCK]) for at in starts))
    index, exact = fast_scan_index(codebook, codes), ExactSearch(vectors)
    queries = sample_queries(vectors, config.recall_queries, rng)
    least = knn(queries, vectors, _HITS)[1][:, -1]
    rerank = config.rerank
    while True:
        search = PQSearch(exact, lambda: index, rerank, config)
        found = [search.nearest(query, _HITS, None)[1] for query in queries]
        # Ties may be in another order, and sums differ in the last bits.
        recall = float(np.mean(np.stack(found) >= least[:, None] - 1e-6))
        if recall >= config.target_recall or rerank >= config.max_rerank:
            return header.model_copy(update={"rerank": rerank, "recall": recall})
        rerank *= 2


def sample_queries(vectors: Vectors, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Queries that measure recall: half are stored vectors, half as far from one as questions are.

    The rest of such a query is the difference of two stored vectors, so that it lies where they do.

    Returns:
        [count, D] float32.
    """
    near, one, other = (
        vectors[rows] for rows in np.sort(rng.integers(0, len(vectors), (3, count)))
    )
    rest = one - other
    rest -= np.sum(rest * near, axis=1, keepdims=True) * near
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    rest = np.divide(rest, length, out=np.zeros_like(rest), where=length > 0)
    cosines = np.where(np.arange(count) % 2, _QUESTION_COSINE, 1.0).astype(np.float32)[:, None]
    queries: NDArray[np.float32] = cosines * near + np.sqrt(1 - cosines**2) * rest
    return queries
