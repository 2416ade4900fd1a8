"""A soak: one process writes, others read, for a long time; nothing may fail and nothing grow.

    python -m benchmarks.soak [--minutes N]

All use the real encoder on one store. The writer replaces documents in pairs, forgets some, tells
statements and asks; two processes of two threads each ask and look at pairs. A read that finds the
two of a pair in different versions, or rows and vectors of different commits, is an error, as
is every exception. The number of documents and statements is bounded, so memory and disk must be
too.
"""

import argparse
import json
import multiprocessing
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Config, Document, Engine
from memnet.config import TellConfig
from memnet.errors import InputError

_RESULTS = Path(__file__).parent / "results" / "soak.json"
_PAIRS = 100
_READERS = 2
_THREADS = 2
_SAMPLES = 180
"""Of memory and disk, evenly over the run."""
_WORDS = "light boat harbour ferry keeper storm island herring lamp rope".split()
_PEOPLE = "Ann Ben Cora Dan Eve Finn".split()
_PLACES = "Kestle Averin Pellgate Orrehaven Strandwick".split()
_CONFIG = Config(threads=1, lock_seconds=30, tell=TellConfig(capacity=200))

Counts = Counter[str]


def main() -> None:
    """Run for so long, and write what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = {
            "environment": environment(),
            "minutes": options.minutes,
            "seed": options.seed,
            **_soak(Path(folder) / "store", 60 * options.minutes, options.seed),
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps({**results, "samples": len(results["samples"])}, indent=1))


def _soak(path: Path, seconds: float, seed: int) -> dict[str, Any]:
    with _open(path, create=True) as memory:
        for number in range(_PAIRS):
            memory.ingest(_pair(number, 0, random.Random(number)))
    start = multiprocessing.get_context("spawn")
    stop, results = start.Event(), start.Queue()
    roles = [("writer", _write), *((f"reader {number}", _read) for number in range(_READERS))]
    processes = {
        name: start.Process(target=_run, args=(role, name, path, seed, stop, results))
        for name, role in roles
    }
    for process in processes.values():
        process.start()
    samples = _sample(path, {name: one.pid or 0 for name, one in processes.items()}, seconds)
    stop.set()
    counts: Counts = Counter()
    errors: list[str] = []
    for _ in processes:
        counted, failed = results.get(timeout=300)
        counts += counted
        errors += failed
    for process in processes.values():
        process.join()
    with _open(path) as memory:
        problems = list(memory.verify().problems)
        slots = memory.info().slots
    return {
        "counts": dict(sorted(counts.items())),
        "errors": errors,
        "problems": problems,
        "slots": slots,
        "growth": {name: _growth(samples, name) for name in samples[0] if name != "seconds"},
        "samples": samples,
    }


def _open(path: Path, create: bool = False) -> Engine:
    return Engine.open(path, create=create, config=_CONFIG, reader="sentences")


def _pair(number: int, version: int, chance: random.Random) -> list[Document]:
    """Two documents that are always replaced together."""
    return [
        Document(
            id=f"pair {number} {side}",
            title=f"Harbour {number}",
            text=f"version {version} of {side} {number}. {' '.join(chance.choices(_WORDS, k=60))}",
        )
        for side in ("left", "right")
    ]


def _run(
    role: Callable[[Engine, random.Random, Counts], None],
    name: str,
    path: Path,
    seed: int,
    stop: Event,
    results: Any,
) -> None:
    """One process: its role again and again, in each of its threads."""
    counts: Counts = Counter()
    errors: list[str] = []

    def repeat(memory: Engine, place: int) -> None:
        chance = random.Random(f"{seed} {name} {place}")
        own: Counts = Counter()
        while not stop.is_set():
            try:
                (role if place == 0 else _read)(memory, chance, own)
            except Exception as error:
                errors.append(f"{name}: {error!r}")
        counts.update(own)

    with _open(path) as memory:
        threads = [threading.Thread(target=repeat, args=(memory, n)) for n in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    results.put((counts, errors))


def _write(memory: Engine, chance: random.Random, counts: Counts) -> None:
    """A change of some kind."""
    kind = chance.choices(["replace", "forget", "tell"], [6, 1, 3])[0]
    number = chance.randrange(_PAIRS)
    if kind == "replace":
        memory.ingest(_pair(number, chance.randrange(10**6), chance))
    elif kind == "forget":
        try:
            memory.forget(f"pair {number} left", f"pair {number} right")
        except InputError:
            kind = "forget what is not there"
    else:
        memory.tell(f"{chance.choice(_PEOPLE)} moved to {chance.choice(_PLACES)}.")
    counts[kind] += 1
    time.sleep(0.05)


def _read(memory: Engine, chance: random.Random, counts: Counts) -> None:
    """A question, or a look at a pair."""
    if chance.random() < 0.5:
        words = " ".join(chance.choices(_WORDS, k=3))
        answer = memory.ask(chance.choice([f"Where is the {words}?", "Where is Ann?"]))
        if not answer.evidence:
            raise AssertionError("no evidence at all")
        counts["ask"] += 1
        return
    store, number = memory.store, chance.randrange(_PAIRS)
    vector = memory.encoder.encode([f"Harbour {number}\nversion of left right {number}"])[0]
    with store.reading():
        dense = store.search_dense(vector, 50)
        found = store.fetch(dense.ids[dense.mask].tolist())
        named = store.fetch(
            store.search_symbolic([f"harbour {number}"], 10).get(f"harbour {number}", [])
        )
    if len(found) != int(dense.mask.sum()):
        raise AssertionError("the vectors are of another commit than the rows")
    versions = {slot.text.split()[1] for slot in named}
    if len(named) not in (0, 2) or len(versions) > 1:
        raise AssertionError(f"half of a pair: {[slot.text[:40] for slot in named]}")
    counts["look"] += 1


def _sample(path: Path, processes: dict[str, int], seconds: float) -> list[dict[str, float]]:
    """Memory of each process and size of the store, in MiB, while time passes."""
    started = time.monotonic()
    samples: list[dict[str, float]] = []
    for number in range(_SAMPLES + 1):
        time.sleep(max(0.0, started + seconds * number / _SAMPLES - time.monotonic()))
        sizes = {
            f"{part} on disk": sum(f.stat().st_size for f in path.glob(pattern)) / 2**20
            for part, pattern in (("database", "*.sqlite3"), ("log", "*-wal"), ("index", "v*"))
        }
        resident = {name: _resident(pid) for name, pid in processes.items()}
        samples.append({"seconds": time.monotonic() - started, **resident, **sizes})
    return samples


def _resident(process: int) -> float:
    """Memory of a process in MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 2**10
    return 0.0


def _growth(samples: list[dict[str, float]], name: str) -> dict[str, float]:
    """MiB at the end of the first third and at the end, and per hour in between."""
    later = samples[len(samples) // 3 :]
    times = np.array([sample["seconds"] for sample in later])
    values = np.array([sample[name] for sample in later])
    slope = float(np.polyfit(times, values, 1)[0]) * 3600
    tenth = max(1, len(values) // 10)
    return {
        "after_a_third": round(float(np.median(values[:tenth])), 1),
        "at_the_end": round(float(np.median(values[-tenth:])), 1),
        "per_hour": round(slope, 1),
    }


if __name__ == "__main__":
    main()
