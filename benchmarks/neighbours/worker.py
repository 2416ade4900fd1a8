"""One task of one neighbour, in a process of its own; prints a line of JSON.

python -m benchmarks.neighbours.worker NAME TASK --folder DIR --model DIR [--passages FILE]
"""

import argparse
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.neighbours.adapter import Memory, Passage

_FIRST = 5
_KIB = 1024


def main() -> None:
    """Run the task and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("task", choices=("add", "ask", "delete", "probe"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--lines", type=Path, required=True)
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.lines.open(encoding="utf-8")]
    started = time.perf_counter()
    module = importlib.import_module(f"benchmarks.neighbours.{options.name}")
    memory: Memory = module.Memory(options.folder, options.model)
    opened = time.perf_counter() - started
    found = _TASKS[options.task](memory, lines)
    print(json.dumps({"open_seconds": opened, **found}), flush=True)
    memory.close()
    sys.stdout.flush()
    # What tearing the libraries down would take is not measured.
    os._exit(0)


def _add(memory: Memory, lines: list[dict[str, Any]]) -> dict[str, Any]:
    passages = [Passage(one["id"], one["title"], one["text"]) for one in lines]
    print("adding", flush=True)
    started, worked = time.perf_counter(), time.process_time()
    memory.add(passages)
    return {
        "seconds": time.perf_counter() - started,
        "core_seconds": time.process_time() - worked,
        "count": memory.count(),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB,
    }


def _ask(memory: Memory, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The first question alone, then all of them."""
    print(json.dumps(memory.find(lines[0]["question"], _FIRST)), flush=True)
    seconds: list[float] = []
    found: list[list[str]] = []
    worked = time.process_time()
    for one in lines[1:]:
        started = time.perf_counter()
        found.append(memory.find(one["question"], _FIRST))
        seconds.append(time.perf_counter() - started)
    return {"seconds": seconds, "core_seconds": time.process_time() - worked, "found": found}


def _delete(memory: Memory, lines: list[dict[str, Any]]) -> dict[str, Any]:
    started = time.perf_counter()
    memory.delete(lines[0]["id"])
    return {"seconds": time.perf_counter() - started, "count": memory.count()}


def _probe(memory: Memory, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """How many stored passages are found by their own first words."""
    found = sum(
        one["id"] in memory.find(f"{one['title']}\n{one['text'][:200]}", _FIRST) for one in lines
    )
    return {"found": found, "count": memory.count()}


_TASKS = {"add": _add, "ask": _ask, "delete": _delete, "probe": _probe}

if __name__ == "__main__":
    main()
