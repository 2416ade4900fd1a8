"""How long after a change in a watched folder an answer knows of it.

    python -m benchmarks.watching [--notes N ...]

A folder of made notes is followed by ``memnet ingest --watch`` in a process of its own. This one
has the same store open, changes one file at a time, and asks until the answer is the new one: timed
is from the return of the write to the return of ``Engine.ask``. In turns a note comes, changes as
editors do it (a file beside it, renamed over it) and goes.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.environment import environment
from memnet import Engine

_RESULTS = Path(__file__).parent / "results" / "watching.json"
_ROUNDS = 20
_DEADLINE = 30.0
_PAUSE = 0.01
"""Seconds between two questions."""
_NAMES = "Anna Berta Carla Dora Elsa Frida Greta Hanna Ida Jana".split()


def main() -> None:
    """Time it in folders of each size, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, nargs="+", default=[10, 1_000, 10_000])
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    results: dict[str, Any] = {"environment": environment(("watchfiles",)), "sizes": []}
    for notes in options.notes:
        with tempfile.TemporaryDirectory() as scratch:
            results["sizes"].append(_measure(Path(scratch), notes))
            print(json.dumps(results["sizes"][-1]), flush=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _measure(scratch: Path, notes: int) -> dict[str, Any]:
    folder, store = scratch / "notes", scratch / "store"
    for number in range(notes):
        note = folder / f"{number // 100}" / f"{number}.txt"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"Mill {number} grinds {number * 7} sacks a day.")
    watching = subprocess.Popen(
        [sys.executable, "-m", "memnet", "ingest", str(folder), "--watch", "--store", str(store)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while "Watching" not in cast(IO[str], watching.stderr).readline():
            pass
        with Engine.open(store) as memory:
            return {"notes": notes, "changes": _ROUNDS} | _times(memory, folder)
    finally:
        watching.terminate()
        watching.communicate()


def _times(memory: Engine, folder: Path) -> dict[str, Any]:
    times: dict[str, list[float]] = {"added": [], "updated": [], "removed": []}
    for number in range(_ROUNDS):
        first, second = _NAMES[number % 10], _NAMES[(number + 1) % 10]
        place = f"Orre{'abcdefghijklmnopqrst'[number]}"
        note, beside = folder / f"{place}.txt", folder / f".{place}.tmp"
        question = f"Who keeps the lighthouse of {place}?"

        def wait(what: str, expected: str | None, question: str = question) -> None:
            asked = time.perf_counter()
            _until(lambda: _first_word(memory.ask(question).answer) == expected)
            times[what].append(time.perf_counter() - asked)

        note.write_text(f"{first} keeps the lighthouse of {place}.")
        wait("added", first)
        beside.write_text(f"{second} keeps the lighthouse of {place}.")
        beside.replace(note)
        wait("updated", second)
        note.unlink()
        _until_gone(memory, str(note), times["removed"])
    return {f"{what}_s": _quantiles(seconds) for what, seconds in times.items()}


def _first_word(answer: str | None) -> str | None:
    return answer.split()[0] if answer else None


def _until_gone(memory: Engine, source: str, times: list[float]) -> None:
    started = time.perf_counter()
    _until(lambda: source not in memory)
    times.append(time.perf_counter() - started)


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + _DEADLINE
    while not holds():
        if time.perf_counter() > deadline:
            sys.exit(f"not seen within {_DEADLINE:g} s")
        time.sleep(_PAUSE)


def _quantiles(seconds: Sequence[float]) -> dict[str, float]:
    return {
        "p50": round(statistics.median(seconds), 3),
        "max": round(max(seconds), 3),
    }


if __name__ == "__main__":
    main()
