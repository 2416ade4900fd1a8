"""Building an index file: its kind, its codes, and the recall they reach."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.storage.vectors.file import IndexHeader, IndexWriter, replacing
from memnet.storage.vectors.search import (
    ExactSearch,
    PQSearch,
    empty_pq,
    fast_scan_index,
    import_faiss,
    knn,
    one_thread,
)

_BLOCK = 16_384
"""Vectors that are encoded together: 25 MB."""
_HITS = 10
"""Neighbours of a query over which recall is measured: recall@10."""
_QUESTION_COSINE = 0.65
"""Of a question and its nearest passage: the median of 481 questions."""


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
) -> None:
    """Write an index file, which appears whole or not at all.

    The vectors pass through memory block by block; the codes have to fit.

    Args:
        path: of the file.
        header: of a flat index.
        ids: rising, [N] int64.
        blocks: their vectors [N, D] float32, in consecutive parts.
        config: chooses the kind.

    Raises:
        OSError: the file can't be written.
        ValueError: ``ids`` or ``blocks`` are not as many as the header says.
    """
    if uses_pq(header.count, config):
        header = header.model_copy(update={"code_size": empty_pq(header.dimension).code_size})
    with replacing(path, header) as writer:
        writer.write("ids", [ids])
        vectors = writer.write("vectors", blocks)
        if header.code_size:
            header = _write_codes(writer, vectors, header, config)
        writer.finish(header)


def _write_codes(
    writer: IndexWriter, vectors: NDArray[np.float32], header: IndexHeader, config: IndexConfig
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


def sample_queries(
    vectors: NDArray[np.float32], count: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Queries that measure recall: half are stored vectors, half as far from one as questions are.

    The rest of such a query is the difference of two stored vectors, so that it lies where they do.

    Returns:
        [count, D] float32.
    """
    near, one, other = vectors[np.sort(rng.integers(0, len(vectors), (3, count)))]
    rest = one - other
    rest -= np.sum(rest * near, axis=1, keepdims=True) * near
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    rest = np.divide(rest, length, out=np.zeros_like(rest), where=length > 0)
    cosines = np.where(np.arange(count) % 2, _QUESTION_COSINE, 1.0).astype(np.float32)[:, None]
    queries: NDArray[np.float32] = cosines * near + np.sqrt(1 - cosines**2) * rest
    return queries
