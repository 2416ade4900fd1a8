"""Vector search by size: recall, latency, opening, building and bytes, up to a million vectors.

python -m benchmarks.scale PART --store STORE --questions DIR --scratch DIR

Vectors of such numbers are made from those of a real store of passages, queries are real questions:

  v = (1 - t) a + t b + 0.4 (c - d), of length one

with a passage a, one of its 50 nearest b, any two c and d, and t evenly from 0 to 0.5. The cosines
of the nearest, 10th and 50th nearest neighbour among as many of them as there are real ones are
given next to the real ones: the nearest is somewhat closer than in life, the others are further.

Parts: "build" makes vectors and indexes in DIR and measures what takes long; "measure" measures
latency, on a machine that does nothing else, and writes the results; "tries" compares other kinds
of index by processor time, on a machine that may do other things.
"""

import argparse
import json
import resource
import sqlite3
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import environment
from memnet.config import IndexConfig
from memnet.encoders.minilm import MiniLMEncoder
from memnet.storage.vectors.file import read_index
from memnet.storage.vectors.index import VectorIndex
from memnet.storage.vectors.search import fast_scan_index

_RESULTS = Path(__file__).parent / "results"
_SIZES = (75_000, 100_000, 300_000, 1_000_000)
_WIDTH = 384
_BLOCK = 50_000
_TRIES = {
    "PQ64x4fs": [200, 400],
    "PQ96x4fs": [100, 200],
    "PQ128x4fs": [50, 100, 200],
    "PQ192x4fs": [50, 100],
    "RaBitQfs": [100, 200],
    "SQ8": [40],
}

Vectors = NDArray[np.float32]


def real_vectors(store: Path) -> Vectors:
    """Vectors of the passages of a store: [N, D] float32."""
    with sqlite3.connect(f"file:{store / 'memory.sqlite3'}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT vector.data FROM slot JOIN vector ON vector.id = slot.vector "
            "WHERE kind = 'passage' AND valid_until IS NULL ORDER BY slot.id"
        ).fetchall()
    data = np.frombuffer(b"".join(row[0] for row in rows), "<f2")
    return data.reshape(-1, _WIDTH).astype(np.float32)


def questions(folder: Path) -> Vectors:
    """Vectors of the questions of a folder's files, in the order of their names."""
    files = sorted(path for path in folder.glob("*.jsonl") if path.stem != "corpus")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return MiniLMEncoder().encode([json.loads(line)["question"] for line in lines])


def nearest(queries: Vectors, rows: Vectors, count: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Scores and places of the nearest rows, exactly."""
    scores, places = faiss.knn(queries, rows, count, metric=faiss.METRIC_INNER_PRODUCT)
    return scores, places


def make_vectors(real: Vectors, count: int, path: Path) -> Vectors:
    """Make vectors that lie as the real ones do, as described above, in a file."""
    if path.exists():
        kept: Vectors = np.load(path, mmap_mode="r")
        return kept
    _, near = nearest(real, real, 51)
    made = np.lib.format.open_memmap(path, "w+", np.float32, (count, _WIDTH))
    random = np.random.default_rng(1)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        a, c, d = random.integers(0, len(real), (3, size))
        b = near[a, random.integers(1, 51, size)]
        t = random.uniform(0, 0.5, (size, 1)).astype(np.float32)
        some = (1 - t) * real[a] + t * real[b] + np.float32(0.4) * (real[c] - real[d])
        made[start : start + size] = some / np.linalg.norm(some, axis=1, keepdims=True)
    made.flush()
    return made


def make_random(count: int, path: Path) -> Vectors:
    """Vectors of any direction: no index finds anything to hold on to."""
    if path.exists():
        kept: Vectors = np.load(path, mmap_mode="r")
        return kept
    made = np.lib.format.open_memmap(path, "w+", np.float32, (count, _WIDTH))
    random = np.random.default_rng(2)
    for start in range(0, count, _BLOCK):
        some = random.standard_normal((min(_BLOCK, count - start), _WIDTH)).astype(np.float32)
        made[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)
    made.flush()
    return made


def neighbour_cosines(rows: Vectors) -> dict[str, float]:
    """Median cosines with the nearest, 10th and 50th nearest other row."""
    scores, _ = nearest(rows, rows, 51)
    return {str(rank): round(float(np.median(scores[:, rank])), 3) for rank in (1, 10, 50)}


def build(scratch: Path, name: str, rows: Vectors, queries: Vectors) -> dict[str, Any]:
    """Build and save an index of the rows; keep what exact search finds."""
    path = scratch / f"{name}.index"
    index = VectorIndex.empty(_WIDTH, IndexConfig()).add(
        np.arange(len(rows)), np.ascontiguousarray(rows)
    )
    before, began = time.process_time(), time.perf_counter()
    index.save(path, 1, "scale")
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - before
    info = load(path, rows).info()
    result = {
        "vectors": len(rows),
        "kind": info.kind,
        "build_seconds": seconds,
        "build_processor_seconds": processor_seconds,
        "recall_at_build": info.recall,
        "rerank": info.rerank,
        "file_bytes": path.stat().st_size,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    del index
    if not (scratch / f"{name}.exact.npy").exists():
        np.save(scratch / f"{name}.exact.npy", nearest(queries, rows, 100)[1])
    print(name, result, flush=True)
    return result


def reading(rows: Vectors) -> Callable[[NDArray[np.int64]], Vectors]:
    """Reads vectors by their ids, which are their places, as a store does from its rows."""
    return lambda ids: np.ascontiguousarray(rows[ids], np.float32)


def load(path: Path, rows: Vectors) -> VectorIndex:
    """The index of a file that ``build`` wrote."""
    index = VectorIndex.load(path, "scale", _WIDTH, IndexConfig(), reading(rows))
    if index is None:
        raise SystemExit(f"{path} is missing or damaged; run the part 'build' first")
    return index


def recall(found: list[NDArray[np.int64]], exact: NDArray[np.int64], limit: int) -> float:
    """Mean share of the exact hits that were found."""
    pairs = zip(found, exact[:, :limit], strict=True)
    return statistics.mean(len(set(one) & set(true)) / limit for one, true in pairs)


def percentiles(seconds: list[float]) -> dict[str, float]:
    """p50 and p95 in milliseconds."""
    return {
        "p50": 1000 * float(np.percentile(seconds, 50)),
        "p95": 1000 * float(np.percentile(seconds, 95)),
    }


def timed(run: Callable[[], Any], into: list[float]) -> Any:
    """What a call returns; its seconds are added to a list."""
    began = time.perf_counter()
    result = run()
    into.append(time.perf_counter() - began)
    return result


def measure(scratch: Path, name: str, rows: Vectors, queries: Vectors) -> dict[str, Any]:
    """Latency and recall of the saved index, taking turns with FAISS on the same codes."""
    exact = np.load(scratch / f"{name}.exact.npy")
    path = scratch / f"{name}.index"
    openings: list[float] = []
    first: list[float] = []
    for _ in range(5):
        index = timed(partial(load, path, rows), openings)
        timed(partial(index.search, queries[0], 10), first)
    result: dict[str, Any] = {
        "open_ms": 1000 * statistics.median(openings),
        "first_search_ms": 1000 * statistics.median(first),
    }
    raw = raw_faiss(path, rows)
    unchecked: list[float] = []
    for query in queries:  # checks what it reads of the file, once and for all
        timed(partial(index.search, query, 10), unchecked)
        raw(query, 10)
    own_times: list[float] = []
    raw_times: list[float] = []
    hundred: list[float] = []
    own, theirs = [], []
    for number, query in enumerate(queries):
        for turn in (number, number + 1):
            if turn % 2:
                own.append(timed(partial(index.search, query, 10), own_times).ids)
            else:
                theirs.append(timed(partial(raw, query, 10), raw_times))
    spent = []
    for query in queries:
        began = time.thread_time()
        index.search(query, 10)
        spent.append(time.thread_time() - began)
    wide = [timed(partial(index.search, query, 100), hundred).ids for query in queries]
    result |= {
        "recall@10": recall(own, exact, 10),
        "recall@100": recall(wide, exact, 100),
        "ms": percentiles(own_times),
        "processor_ms": percentiles(spent),
        "unchecked_ms": percentiles(unchecked),
        "hundred_ms": percentiles(hundred),
        "faiss": {"recall@10": recall(theirs, exact, 10), "ms": percentiles(raw_times)},
        "over_faiss": statistics.median(own_times) / statistics.median(raw_times),
    }
    print(name, result, flush=True)
    return result


def raw_faiss(path: Path, rows: Vectors) -> Callable[[Vectors, int], NDArray[np.int64]]:
    """Search by FAISS alone, on one thread: the same codes, refined from rows in memory."""
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(_WIDTH)
    for start in range(0, len(rows), _BLOCK):
        flat.add(np.ascontiguousarray(rows[start : start + _BLOCK]))
    header, arrays = read_index(path)
    if not header.code_size:
        return lambda query, limit: flat.search(query[None], limit)[1][0]
    codes = fast_scan_index(arrays["codebook"], arrays["codes"])
    refined = faiss.IndexRefine(codes, flat)
    refined.k_factor = header.rerank / 10

    def search(query: Vectors, limit: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = refined.search(query[None], limit)[1][0]
        _ = flat, codes  # FAISS does not keep them
        return found

    return search


def measure_changed(scratch: Path, name: str, rows: Vectors, queries: Vectors) -> dict[str, Any]:
    """The same with as many changes unsaved as there may be, and among some of the ids."""
    index, random = load(scratch / f"{name}.index", rows), np.random.default_rng(3)
    result: dict[str, Any] = {}
    for share in (1000, 100_000, len(rows) // 2):
        among = np.sort(random.choice(len(rows), share, replace=False))
        some = queries[:60]
        exact = among[nearest(some, np.ascontiguousarray(rows[among]), 10)[1]]
        seconds: list[float] = []
        found = [timed(partial(index.search, query, 10, among), seconds).ids for query in some]
        result[f"among {share}"] = {"recall@10": recall(found, exact, 10), **percentiles(seconds)}
    half = len(rows) // 32
    gone = np.sort(random.choice(len(rows), half, replace=False))
    index = index.remove(gone).add(np.arange(len(rows), len(rows) + half), rows[gone])
    renamed = np.arange(len(rows))
    renamed[gone] = np.arange(len(rows), len(rows) + half)
    exact = renamed[np.load(scratch / f"{name}.exact.npy")]
    seconds = []
    found = [timed(partial(index.search, query, 10), seconds).ids for query in queries]
    result["unsaved"] = {
        "changes": 2 * half,
        "recall@10": recall(found, exact, 10),
        **percentiles(seconds),
    }
    print(name, result, flush=True)
    return result


def tries(rows: Vectors, queries: Vectors, exact: NDArray[np.int64]) -> dict[str, Any]:
    """Other kinds of index: recall after exact comparison, processor time of building, search."""
    faiss.omp_set_num_threads(1)
    results: dict[str, Any] = {}
    for kind, depths in _TRIES.items():
        index = faiss.index_factory(_WIDTH, kind, faiss.METRIC_INNER_PRODUCT)
        before = time.process_time()
        index.train(np.ascontiguousarray(rows[:: max(1, len(rows) // 50_000)]))
        for start in range(0, len(rows), _BLOCK):
            index.add(np.ascontiguousarray(rows[start : start + _BLOCK]))
        results[kind] = {
            "build_processor_seconds": time.process_time() - before,
            "bytes_per_vector": index.sa_code_size() if hasattr(index, "sa_code_size") else None,
            "rerank": {},
        }
        for depth in depths:
            found, seconds = [], []
            for query in queries:
                began = time.thread_time()
                places = index.search(query[None], depth)[1][0]
                order = np.argsort(-np.einsum("kd,d->k", rows[places], query))[:10]
                seconds.append(time.thread_time() - began)
                found.append(places[order])
            results[kind]["rerank"][str(depth)] = {
                "recall@10": recall(found, exact, 10),
                "processor_ms": 1000 * statistics.median(seconds),
            }
        print(kind, results[kind], flush=True)
    return results


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["build", "measure", "tries"])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    arguments = parser.parse_args()
    scratch = arguments.scratch
    scratch.mkdir(parents=True, exist_ok=True)
    queries = questions(arguments.questions)
    if arguments.part == "build":
        build_all(scratch, arguments.store, queries)
        return
    rows = np.load(scratch / "rows.npy", mmap_mode="r")
    if arguments.part == "tries":
        exact = np.load(scratch / "1000000.exact.npy")[:150]
        result = {"environment": environment(), "tries": tries(rows, queries[:150], exact)}
        (_RESULTS / "scale-tries.json").write_text(json.dumps(result, indent=1) + "\n")
        return
    result = {"environment": environment(), **json.loads((scratch / "build.json").read_text())}
    for size in _SIZES:
        result["sizes"][str(size)] |= measure(scratch, str(size), rows[:size], queries)
    result["changed"] = measure_changed(scratch, str(_SIZES[-1]), rows, queries)
    spread = np.load(scratch / "random.npy", mmap_mode="r")
    result["random"] |= measure(scratch, "random", spread, spread_queries())
    (_RESULTS / "scale.json").write_text(json.dumps(result, indent=1) + "\n")


def spread_queries() -> Vectors:
    """Queries of any direction."""
    found = np.random.default_rng(4).standard_normal((200, _WIDTH)).astype(np.float32)
    unit: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def build_all(scratch: Path, store: Path, queries: Vectors) -> None:
    """Make the vectors and the indexes."""
    real = real_vectors(store)
    rows = make_vectors(real, _SIZES[-1], scratch / "rows.npy")
    result: dict[str, Any] = {
        "questions": len(queries),
        "real": {"vectors": len(real), "cosines": neighbour_cosines(real)},
        "made": {"cosines": neighbour_cosines(np.ascontiguousarray(rows[: len(real)]))},
        "sizes": {str(n): build(scratch, str(n), rows[:n], queries) for n in _SIZES},
    }
    spread = make_random(_SIZES[-1], scratch / "random.npy")
    result["random"] = build(scratch, "random", spread, spread_queries())
    (scratch / "build.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
