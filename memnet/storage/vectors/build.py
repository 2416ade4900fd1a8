"""Building an index file: what kind it becomes, its codes, and how well they find."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.storage.vectors.file import DamagedIndexError, IndexFile, IndexWriter, writing
from memnet.storage.vectors.parts import Codes, Part, ToDevice, exact_scores, import_faiss

_BLOCK = 16_384
"""Rows that are coded together: 25 MB."""
_HITS = 10
"""Recall is measured over so many."""

Blocks = Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]]
"""Ids [N] int64, each above the one before, and their vectors [N, D] float32, part by part."""


class IndexStamp(NamedTuple):
    """What an index file must say of itself to be trusted."""

    commit_id: int
    """Of the commit of the rows that it was made from."""
    fingerprint: str
    """Of the encoder."""
    dimension: int
    slots: int
    """How many vectors it holds."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "IndexStamp":
        """The stamp in the description of a file.

        Raises:
            DamagedIndexError: there is none.
        """
        try:
            stamp = cls(
                int(said["commit_id"]),
                str(said["fingerprint"]),
                int(said["dimension"]),
                int(said["slots"]),
            )
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise DamagedIndexError("the stamp is missing") from error
        if not -(2**63) <= stamp.commit_id < 2**63:
            raise DamagedIndexError("the stamp is of no commit")
        return stamp


def write_part(
    path: Path, stamp: IndexStamp, blocks: Blocks, config: IndexConfig
) -> dict[str, Any]:
    """Write the file of an index of ``stamp.slots`` vectors; returns its description.

    The vectors pass through memory block by block. Of an index with codes, only these have to fit.

    Raises:
        OSError: the file can't be written.
        ValueError: there are more or fewer vectors than the stamp says.
    """
    ids: list[NDArray[np.int64]] = []

    def rows() -> Iterator[NDArray[np.float32]]:
        for some, vectors in blocks:
            ids.append(some)
            yield vectors

    said: dict[str, Any] = {**stamp._asdict(), "faiss": import_faiss().__version__, "recall": 1.0}
    with writing(path) as writer:
        written = writer.add("rows", "float32", (stamp.slots, stamp.dimension), rows())
        writer.add("ids", "int64", (stamp.slots,), ids)
        if _coded(stamp.slots, config):
            said |= _write_codes(writer, written, config)
        writer.finish(said)
    return said


def saved_part(
    file: IndexFile, dimension: int, config: IndexConfig, to_device: ToDevice | None = None
) -> Part:
    """What a file holds, ready to be searched; its rows are checked when they are used.

    Args:
        file: of an index.
        dimension: D, width of its vectors.
        config: whether codes, or another device, are to be used.
        to_device: copies vectors to another device; None where there is none.

    Raises:
        DamagedIndexError: the file is not what was written, or not by this version of FAISS.
    """
    ids, rows = file.checked("ids"), file.array("rows")
    types = ids.dtype == np.int64 and rows.dtype == np.float32
    shapes = rows.ndim == 2 and rows.shape[1] == dimension and ids.shape == rows.shape[:1]
    if not types or not shapes:
        raise DamagedIndexError("ids and vectors don't belong together")
    if np.any(ids[1:] <= ids[:-1]):
        raise DamagedIndexError("ids are out of order")
    codes, rerank = None, 0
    if "pq" in file and config.kind != "flat":
        if file.said.get("faiss") != import_faiss().__version__:
            raise DamagedIndexError("another version of FAISS made the codes")
        book, data = file.checked("book"), file.checked("pq")
        if book.dtype != np.float32 or data.dtype != np.uint8 or not book.ndim == data.ndim == 1:
            raise DamagedIndexError("codes are of another type")
        codes = Codes.from_arrays(dimension, len(ids), book, data)
        recall, wanted = file.said.get("recall"), file.said.get("rerank")
        measured = isinstance(recall, float) and 0 <= recall <= 1
        if codes is None or not measured or not isinstance(wanted, int):
            raise DamagedIndexError("codes and vectors don't belong together")
        rerank = wanted
    if config.kind == "pq" or (config.kind == "auto" and len(ids) > config.max_flat_on_device):
        to_device = None
    return Part(ids, rows, codes, lambda places: file.check("rows", places), rerank, to_device)


def of_wanted_kind(file: IndexFile, config: IndexConfig) -> bool:
    """Whether a file has codes where it would be written with them."""
    return ("pq" in file) == _coded(file.array("ids").size, config)


def _coded(count: int, config: IndexConfig) -> bool:
    """Whether so many vectors get codes."""
    if config.kind == "auto":
        return count > max(config.max_flat, config.min_pq)
    return config.kind == "pq" and count >= config.min_pq


def _write_codes(
    writer: IndexWriter, rows: NDArray[np.float32], config: IndexConfig
) -> dict[str, Any]:
    """Write code book and codes of the rows; returns how to use them, and the recall that gives."""
    random = np.random.default_rng(0)
    codes = Codes(rows.shape[1])
    sample = random.choice(len(rows), min(len(rows), config.training_size), replace=False)
    codes.train(rows[np.sort(sample)])
    for start in range(0, len(rows), _BLOCK):
        codes.add(rows[start : start + _BLOCK])
    book, data = codes.arrays()
    writer.add("book", "float32", book.shape, [book])
    writer.add("pq", "uint8", data.shape, [data])
    part = Part(np.arange(len(rows)), rows, codes, rerank=config.rerank)
    queries = probes(rows, config.recall_queries, random)
    exact = exact_scores(queries, rows, _HITS)
    while (recall := _recall(part, queries, exact, config)) < config.target_recall:
        if part.rerank >= config.max_rerank:
            break
        part.rerank *= 2
    return {"recall": recall, "rerank": part.rerank}


def probes(
    rows: NDArray[np.float32], count: int, random: np.random.Generator
) -> NDArray[np.float32]:
    """Queries for measuring: half are stored vectors, half as far from one as questions are.

    A question's nearest passage has a cosine of 0.65 with it, at the median of 481 questions. The
    rest of such a query is the difference of two stored vectors, so that it lies where they do.

    Returns:
        [count, D] float32.
    """
    near, one, other = rows[np.sort(random.integers(0, len(rows), (3, count)))]
    rest = one - other
    rest -= np.sum(rest * near, axis=1, keepdims=True) * near
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    rest = np.divide(rest, length, out=np.zeros_like(rest), where=length > 0)
    cosines = np.where(np.arange(count) % 2, 0.65, 1.0).astype(np.float32)[:, None]
    found: NDArray[np.float32] = cosines * near + np.sqrt(1 - cosines**2) * rest
    return found


def _recall(
    part: Part, queries: NDArray[np.float32], exact: NDArray[np.float32], config: IndexConfig
) -> float:
    """Share of the best scores of exact search [Q, K] that a part's search reaches."""
    reached = 0
    for query, scores in zip(queries, exact, strict=True):
        found = part.search(query, len(scores), None, config).scores
        # The least of them, less what the order of additions changes: equals may change places.
        reached += int(np.count_nonzero(found >= scores[-1] - 1e-6))
    return reached / exact.size
