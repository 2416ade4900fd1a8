"""A store on PostgreSQL under load and kills: what was acknowledged must be there.

python -m benchmarks.postgres_load [--minutes 10] [--writers 8] [--readers 8] [--kills 200]

A server of its own, which syncs its commits, is written to and read by processes, and now and then
a process, or all of the server, is killed with SIGKILL and started again. Each writer replaces and
deletes sources of its own, and sources that all share; every version of a source has another number
of passages, each of which names the version. A reader checks within one snapshot that a source is
whole, and that what words and vectors find is stored. In the end each source must be of a version
that was not acknowledged as replaced, and ``verify`` must find nothing.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from memnet.errors import StoreError
from memnet.storage import MemoryStore, NewSource
from tests.postgres_server import running_server
from tests.toy import DIMENSION, ToyEncoder, passage

_RESULTS = Path(__file__).parent / "results"
_PATIENCE = 30.0
"""Seconds that a server may take to come back."""
_OWN = 20
"""Sources of each writer."""
_SHARED = 10
"""Sources that all writers write."""
_WORDS = "heron lamp quay pier light boat tide rope bell wharf gull sail mast keel anchor".split()
_SERVER_SHARE = 0.1
"""Of the kills, those of the server."""
_encode = ToyEncoder().encode


def open_store(address: str, create: bool = False) -> MemoryStore:
    """The store; waits for a server that restarts."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return MemoryStore(
                address,
                fingerprint=ToyEncoder.fingerprint,
                dimension=DIMENSION,
                create=create,
                lock_seconds=_PATIENCE,
            )
        except StoreError:
            if time.monotonic() > until:
                raise
            time.sleep(1)


def content(name: str, version: int) -> NewSource:
    """A version of a source: 1 to 6 passages that name it."""
    chance = random.Random(f"{name}/{version}")
    count = 1 + version % 6
    slots = [
        passage(
            f"{name} version {version} part {part}: {' '.join(chance.choices(_WORDS, k=12))}",
            name,
            [name],
            chance.sample(_WORDS, 4),
            start=1000 * part,
        )
        for part in range(count)
    ]
    return NewSource(name, f"{version}".encode(), slots)


def write(address: str, number: int, log: Path, seconds: float) -> None:
    """Replace and delete sources until the end; log what begins, and what was acknowledged."""
    store, chance = open_store(address), random.Random(os.getpid())
    names = [f"own-{number}-{one}" for one in range(_OWN)]
    shared = [f"shared-{one}" for one in range(_SHARED)]
    until = time.time() + seconds
    with log.open("a") as file:
        while time.time() < until:
            # Versions rise over restarts of this process.
            version = time.time_ns() // 1000
            name = chance.choice(shared if chance.random() < 0.2 else names)
            deletes = chance.random() < 0.15
            line = f"{name} {'-' if deletes else version}"
            file.write(f"begin {line}\n")
            file.flush()
            try:
                if deletes:
                    store.delete([name])
                else:
                    store.put([content(name, version)], _encode)
            except StoreError as error:
                file.write(f"error {str(error)[:200]}\n")
            else:
                file.write(f"done {line}\n")
            file.flush()
    store.close()


def read(address: str, number: int, log: Path, seconds: float) -> None:
    """Check sources and searches until the end; log what is wrong."""
    store, chance = open_store(address), random.Random(os.getpid())
    until = time.time() + seconds
    reads = 0
    with log.open("a") as file:
        while time.time() < until:
            try:
                with store.reading():
                    wrong = _wrong(store, chance)
            except StoreError as error:
                file.write(f"error {str(error)[:200]}\n")
                continue
            reads += 1
            if wrong:
                file.write(f"wrong {wrong}\n")
            file.write(f"read {number}\n")
            file.flush()
    store.close()


def _wrong(store: MemoryStore, chance: random.Random) -> str:
    """What is wrong with a random source and with searches; empty if nothing is."""
    words = chance.sample(_WORDS, 2)
    hits = [
        store.search_dense(_encode([" ".join(words)])[0], 10),
        store.search_lexical(words, 10),
    ]
    for hit in hits:
        ids = hit.ids[hit.mask].tolist()
        if len(store.fetch(ids)) != len(ids):
            return f"a search for {words} finds what is not stored"
    slots = store.fetch(hits[1].ids[hits[1].mask].tolist()[:1])
    name = slots[0].source if slots else f"shared-{chance.randrange(_SHARED)}"
    stored = store.sources.get(name)
    return "" if stored is None else _not_whole(name, stored[1])


def _not_whole(name: str, text: str) -> str:
    parts = [line for line in text.split("\n") if line]
    versions = {int(part.split()[2]) for part in parts}
    if len(versions) != 1:
        return f"{name} is of versions {versions}"
    if len(parts) != 1 + versions.pop() % 6:
        return f"{name} has {len(parts)} passages"
    return ""


@dataclass
class _Load:
    """The processes of the load, and what was killed."""

    address: str
    folder: Path
    until: float
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)

    def start(self, name: str) -> None:
        """Start a writer or reader, "write-3" for one, again."""
        what, number = name.split("-")
        seconds = max(0.0, self.until - time.time())
        code = (
            "from pathlib import Path; from benchmarks.postgres_load import *; "
            f"{what}({self.address!r}, {number}, Path({str(self.folder / name)!r}), {seconds})"
        )
        self.processes[name] = subprocess.Popen([sys.executable, "-c", code])

    def kill(self, name: str) -> None:
        """Kill a process at once, and start it again."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.killed[name.split("-")[0]] += 1
        self.start(name)

    def events(self) -> Iterator[tuple[str, str]]:
        """Kind and text of the lines of all logs."""
        for name in self.processes:
            for line in (self.folder / name).read_text().splitlines():
                kind, _, text = line.partition(" ")
                yield kind, text


def check(store: MemoryStore, load: _Load) -> list[str]:
    """What the store lost or holds in halves."""
    wrong: list[str] = []
    for name in load.processes:
        if not name.startswith("write"):
            continue
        # Of a source of one writer: the last that was acknowledged, and all begun after it.
        possible: dict[str, set[str]] = {}
        for line in (load.folder / name).read_text().splitlines():
            kind, _, rest = line.partition(" ")
            source, _, version = rest.partition(" ")
            if kind == "done":
                possible[source] = {version}
            elif kind == "begin":
                possible.setdefault(source, {"-"}).add(version)
        for source, versions in possible.items():
            if not source.startswith("own"):
                continue
            stored = store.sources.get(source)
            found = "-" if stored is None else stored[1].split()[2]
            if found not in versions:
                wrong.append(f"{source} is {found}, expected one of {sorted(versions)}")
    for source_ in store.sources.all():
        stored = store.sources.get(source_.id)
        problem = "" if stored is None else _not_whole(source_.id, stored[1])
        if problem:
            wrong.append(problem)
    return wrong


def run(minutes: float, writers: int, readers: int, kills: int) -> dict[str, Any]:
    """Run the load and check the store; gives what was done, and what is wrong."""
    chance = random.Random(1)
    seconds = 60 * minutes
    with running_server(durable=True) as server:
        address = f"{server.address()}&schema=load"
        open_store(address, create=True).close()
        load = _Load(address, server.folder, time.time() + seconds)
        names = [f"write-{one}" for one in range(writers)]
        names += [f"read-{one}" for one in range(readers)]
        for name in names:
            load.start(name)
        for _ in range(kills):
            time.sleep(seconds / (kills + 5))
            if chance.random() < _SERVER_SHARE:
                server.kill()
                server.start()
                load.killed["server"] += 1
            else:
                load.kill(chance.choice(names))
        for process in load.processes.values():
            process.wait()
        store = open_store(address)
        began = time.perf_counter()
        problems = store.verify()
        errors = Counter(text[-60:] for kind, text in load.events() if kind == "error")
        result: dict[str, Any] = {
            "writers": writers,
            "readers": readers,
            "seconds": seconds,
            "killed": dict(load.killed),
            "events": dict(Counter(kind for kind, _ in load.events())),
            "errors": dict(errors.most_common(8)),
            "wrong_reads": [text for kind, text in load.events() if kind == "wrong"],
            "lost_or_halved": check(store, load),
            "problems": problems,
            "verify_seconds": time.perf_counter() - began,
            "slots": store.count_slots(),
        }
        store.close()
    return result


def main() -> None:
    """Run the load, check the store, write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=200)
    result = {"environment": environment(["psycopg"]), **run(**vars(parser.parse_args()))}
    print(json.dumps(result, indent=1))
    (_RESULTS / "postgres_load.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
