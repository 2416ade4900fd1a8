"""What a memory costs by its size: ingest, questions, forgetting, bytes, with quick vectors.

python -m benchmarks.by_size --source CORPUS.jsonl --questions DIR --scratch DIR [--sizes N ...]

One store grows from size to size by passages of ``benchmarks.made_passages``, the first of which
are those of CORPUS.jsonl. At each size some questions are asked of it: each for the first time, and
once more, as the store keeps what it looked up. Seconds are given by the clock, which other work on
the machine delays, and of the processors.
"""

import argparse
import json
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from benchmarks.made_passages import Passages, read_source
from memnet import Engine

_RESULTS = Path(__file__).parent / "results"
_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_QUESTIONS = 60
_FORGOTTEN = 20
"""Passages that are forgotten one by one at each size."""


class Stopwatch:
    """Seconds by the clock and of the processors, of this process and those that it waited for."""

    def __init__(self) -> None:
        self._began = _times()

    def read(self) -> dict[str, float]:
        """Seconds since it was made."""
        clock, processor = (now - then for now, then in zip(_times(), self._began, strict=True))
        return {"seconds": clock, "processor_seconds": processor}


def _times() -> tuple[float, float]:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)


def percentiles(watched: Sequence[dict[str, float]]) -> dict[str, float]:
    """p50 and p95 in milliseconds."""
    found: dict[str, float] = {}
    for kind, name in (("seconds", ""), ("processor_seconds", "processor_")):
        for share in (50, 95):
            value = np.percentile([one[kind] for one in watched], share)
            found[f"{name}p{share}_ms"] = 1000 * float(value)
    return found


def timed(call: Callable[[str], Any], arguments: Sequence[str]) -> dict[str, float]:
    """Percentiles of the times of some calls."""
    watched = []
    for argument in arguments:
        watch = Stopwatch()
        call(argument)
        watched.append(watch.read())
    return percentiles(watched)


def questions(folder: Path, count: int) -> list[str]:
    """Questions of a folder's files, evenly from all of them."""
    files = sorted(path for path in folder.glob("*.jsonl") if path.stem != "corpus")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["question"] for line in lines[:: max(1, len(lines) // count)]][:count]


def bytes_by_table(store: Path) -> dict[str, int]:
    """Bytes of each table and index of the rows, and of the other files."""
    with closing(sqlite3.connect(f"file:{store / 'memory.sqlite3'}?mode=ro", uri=True)) as rows:
        statement = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        found = dict(rows.execute(statement).fetchall())
        pages, size = (
            rows.execute(f"PRAGMA {of}").fetchone()[0] for of in ("freelist_count", "page_size")
        )
        found["free pages"] = pages * size
    return found | {
        path.name: path.stat().st_size
        for path in store.iterdir()
        if path.is_file() and path.name != "memory.sqlite3"
    }


def grow(
    scratch: Path, passages: Iterator[dict[str, str]], size: int, asked: Sequence[str]
) -> dict[str, Any]:
    """Let the store hold ``size`` passages, and measure it."""
    store, more = scratch / "store", scratch / "more.jsonl"
    with more.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in passages)
    result: dict[str, Any] = {}
    with Engine.open(store, create=True, encoder="static") as memory:
        watch = Stopwatch()
        result["added"] = memory.ingest(more).added
        result["ingest"] = watch.read()
    # With the index, which is saved in the background.
    result["ingest_and_index"] = watch.read()
    result["bytes"] = bytes_by_table(store)
    with Engine.open(store) as memory:
        result["slots"] = memory.info().slots
        watch = Stopwatch()
        memory.search(asked[0])
        result["first_search"] = watch.read()
        for name, call in (("search", memory.search), ("ask", memory.ask)):
            result[f"{name}_first"] = timed(call, asked)
            result[name] = timed(call, asked)
        gone = [one.id for one in islice(memory.sources(), 0, None, max(1, size // _FORGOTTEN))]
        result["forget"] = timed(memory.forget, gone)
        watch = Stopwatch()
        problems = memory.verify().problems
        result["verify"] = watch.read()
        if problems:
            raise SystemExit(f"the store is damaged: {problems}")
    result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(size, json.dumps(result), flush=True)
    return result


def main() -> None:
    """Measure all sizes, each written as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, nargs="+", required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(_SIZES))
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch / "store", ignore_errors=True)
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    asked = questions(arguments.questions, _QUESTIONS)
    passages = Passages(read_source(arguments.source)).make(max(arguments.sizes))
    result: dict[str, Any] = {"environment": environment(), "questions": len(asked), "sizes": {}}
    before = 0
    for size in sorted(arguments.sizes):
        some = islice(passages, size - before)
        result["sizes"][str(size)] = grow(arguments.scratch, some, size, asked)
        before = size
        (_RESULTS / "by_size.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
