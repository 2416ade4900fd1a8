"""Kills: processes that change a store, ended by SIGKILL at random moments.

    python -m benchmarks.kills [--kills N] [--copies N] [--commands N]

A process puts, replaces, deletes, tells, ends and erases, and says before each commit what it is
about to do and after it that it is done. After each kill the store must hold what was acknowledged
and the change under way wholly or not at all, be found sound by ``verify``, and find what brute
force over lists finds. Then stores are copied file by file while a process changes them: a copy
must be of one commit, or be refused. Then ``memnet ingest`` with the real encoder is killed while
it takes in a folder whose files change from run to run; after each kill every document must be as
one version of its file makes it.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.environment import environment
from tests import killed

if TYPE_CHECKING:
    from memnet import Engine  # each process that is killed imports this module, and no torch

_RESULTS = Path(__file__).parent / "results" / "kills.json"
_KILLS_OF_A_STORE = 50
_COPIES_OF_A_STORE = 10
_FILES = 40
_WORDS = "light boat harbour ferry keeper storm island herring lamp rope".split()


def main() -> None:
    """Kill, check, and write what was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--copies", type=int, default=200)
    parser.add_argument("--commands", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        results = {
            "environment": environment(),
            "seed": options.seed,
            "store": _kill_writers(Path(folder), chance, options.kills),
            "copies": _copy_stores(Path(folder), chance, options.copies),
            "command": _kill_commands(Path(folder), chance, options.commands),
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


def _kill_writers(folder: Path, chance: random.Random, kills: int) -> dict[str, Any]:
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    model = killed.Model()
    for number in range(kills):
        if number % _KILLS_OF_A_STORE == 0:
            model = killed.Model()
        path = folder / f"store {number // _KILLS_OF_A_STORE}"
        kill = killed.kill_one(path, model, chance, longest=0.15)
        model = kill.held
        if number % _KILLS_OF_A_STORE == _KILLS_OF_A_STORE - 1:
            shutil.rmtree(path)
        counts["acknowledged commits"] += kill.acknowledged
        counts["while opening"] += not kill.opened
        counts["within a change, kept"] += kill.in_doubt is True
        counts["within a change, not kept"] += kill.in_doubt is False
        counts[f"index file {kill.index_file}"] += 1
    return {"kills": kills, **counts, "seconds": time.perf_counter() - started}


def _copy_stores(folder: Path, chance: random.Random, copies: int) -> dict[str, Any]:
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    for number in range(0, copies, _COPIES_OF_A_STORE):
        path = folder / f"copied {number}"
        path.mkdir()
        counts += killed.copy_while_written(path, chance, min(_COPIES_OF_A_STORE, copies - number))
        shutil.rmtree(path)
    return {"copies": copies, **counts, "seconds": time.perf_counter() - started}


def _kill_commands(folder: Path, chance: random.Random, kills: int) -> dict[str, Any]:
    from memnet import Engine

    started = time.perf_counter()
    notes, store = folder / "notes", folder / "memory"
    notes.mkdir()
    counts: Counter[str] = Counter()
    versions: dict[str, list[str]] = {}
    # The first run makes the store and brings files into the system's cache: later ones take less.
    whole = [_run(notes, store, versions, chance, None) for _ in range(2)][-1]
    for _ in range(kills):
        ended = _run(notes, store, versions, chance, chance.uniform(0.3, 1.0) * whole)
        counts["ended before the kill"] += ended < 0
        whole = -ended if ended < 0 else whole
        with Engine.open(store, answerer="untrained", reader="sentences") as memory:
            held = _held(memory, versions)
            memory.ask("Where is the harbour?")
            problems = memory.verify().problems
        if problems:
            sys.exit(f"verify: {problems}")
        counts["committed before the kill"] += set(held) == {0}
    return {"kills": kills, **counts, "seconds": time.perf_counter() - started}


def _run(
    notes: Path,
    store: Path,
    versions: dict[str, list[str]],
    chance: random.Random,
    kill_after: float | None,
) -> float:
    """Rewrite the files, ingest them; gives the seconds it took, negative if it wasn't killed."""
    for number in range(_FILES):
        path = notes / f"{number}.txt"
        text = "\n\n".join(" ".join(chance.choices(_WORDS, k=60)) for _ in range(5))
        versions.setdefault(str(path), []).insert(0, text)
        path.write_text(text)
    command = [sys.executable, "-m", "memnet", "ingest", str(notes), "--store", str(store)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        code = process.wait(kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return time.perf_counter() - started
    if code:
        sys.exit(f"{' '.join(command)} ended with {code}")
    seconds = time.perf_counter() - started
    return seconds if kill_after is None else -seconds


def _held(memory: "Engine", versions: dict[str, list[str]]) -> list[int]:
    """Which version of each document the memory holds, 0 for the last; exits if of none."""
    held: list[int] = []
    slots: dict[str, list[tuple[int, str]]] = {}
    for slot in memory.store.fetch(memory.store.passage_ids().tolist()):
        slots.setdefault(slot.source, []).append((slot.start, slot.text))
    if len(slots) != len(versions):
        sys.exit(f"{len(versions)} documents were acknowledged, {len(slots)} are there")
    for name, texts in versions.items():
        words = [word for _, text in sorted(slots[name]) for word in text.split()]
        found = [place for place, text in enumerate(texts) if text.split() == words]
        if not found:
            sys.exit(f"{name} is of no version of its file: {slots[name]}")
        held.append(found[0])
    return held


if __name__ == "__main__":
    main()
