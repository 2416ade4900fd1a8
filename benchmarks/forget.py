"""Forgetting one document, in stores of several sizes.

    python -m benchmarks.forget [--passages N ...]

Each store holds passages with random vectors, two a document. Timed are ``MemoryStore.delete`` of
one document at a time, from the call to the durable commit, with the vector index in memory; the
search after it, which takes the change into that index; and how long a new process needs to open
the store and search once, when its index file is older than the rows and when it is not.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import environment
from memnet.storage import MemoryStore, NewSlot, NewSource

_RESULTS = Path(__file__).parent / "results" / "forget.json"
_DIMENSION = 384
_BATCH = 2000
_FORGOTTEN = 200
_OPENED = 5
_WORDS = [f"word{number}" for number in range(20_000)]


def main() -> None:
    """Time it at each size, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    results: dict[str, Any] = {"environment": environment(), "seed": options.seed, "sizes": []}
    for passages in options.passages:
        with tempfile.TemporaryDirectory() as folder:
            results["sizes"].append(_measure(Path(folder) / "store", passages, options.seed))
            print(json.dumps(results["sizes"][-1]), flush=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _measure(path: Path, passages: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    generator = np.random.default_rng(seed)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = generator.normal(size=(len(texts), _DIMENSION)).astype(np.float32)
        normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normal

    documents = passages // 2
    with closing(_open(path)) as store, store.writing():
        for start in range(0, documents, _BATCH):
            batch = range(start, min(start + _BATCH, documents))
            store.put([_document(number, chance) for number in batch], encode)
    fresh = _times(_OPENED, lambda: _open_and_search(path, encode))
    deletes: list[float] = []
    searches: list[float] = []
    with closing(_open(path)) as store:
        query = encode(["query"])[0]
        store.search_dense(query, 10)
        for number in chance.sample(range(documents), _FORGOTTEN):
            deletes += _times(1, lambda name=str(number): store.delete([name]))  # type: ignore[misc]
            searches += _times(1, lambda: store.search_dense(query, 10))
    return {
        "passages": passages,
        "forgotten": _FORGOTTEN,
        "delete_ms": _quantiles(deletes),
        "search_after_it_ms": _quantiles(searches),
        "open_and_search_ms": _quantiles(fresh),
        "open_and_catch_up_ms": _quantiles(_times(_OPENED, lambda: _open_and_search(path, encode))),
    }


def _open(path: Path) -> MemoryStore:
    return MemoryStore(path, fingerprint="random/384", dimension=_DIMENSION, create=True)


def _open_and_search(path: Path, encode: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
    with closing(_open(path)) as store:
        store.search_dense(encode(["query"])[0], 10)


def _document(number: int, chance: random.Random) -> NewSource:
    slots: list[NewSlot] = []
    for place in range(2):
        text = f"{number}.{place} {' '.join(chance.choices(_WORDS, k=80))}"
        names = chance.sample(_WORDS, 4)
        start = 1000 * place
        slots.append(
            NewSlot(
                "passage", f"title {number}", text, start, start + len(text), text,
                (f"title {number}",), tuple(names),
            )
        )  # fmt: skip
    return NewSource(str(number), str(number).encode(), slots)


def _times(runs: int, what: Callable[[], object]) -> list[float]:
    """Milliseconds of each run."""
    times: list[float] = []
    for _ in range(runs):
        started = time.perf_counter()
        what()
        times.append((time.perf_counter() - started) * 1000)
    return times


def _quantiles(times: Sequence[float]) -> dict[str, float]:
    return {
        "p50": float(np.percentile(times, 50)),
        "p95": float(np.percentile(times, 95)),
        "largest": max(times),
    }


if __name__ == "__main__":
    main()
