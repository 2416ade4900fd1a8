"""Several processes on one PostgreSQL store: workers of an ingest, and reads at a replica.

python -m benchmarks.postgres_spread --data DIR [--documents 10000] [--commits 200] [--rounds 3]

DIR is that of ``benchmarks.multihop``. Servers of their own, which sync their commits, run on this
machine. The corpus is ingested without workers, with one and with two, which wait for it already;
an encoder that costs next to nothing stands for a real one, so that all else is measured. Then,
with the encoder "static", a process writes to a server with a streaming replica, and another one,
which reads there, asks until it sees each commit.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import environment
from memnet import Config, Document, Engine, MemoryStore
from tests.postgres_server import Server, new_schema, programs, running_server, server_folder

_RESULTS = Path(__file__).parent / "results"
_DIMENSION = 384
_TABLES = ("source", "slot", "vector", "symbol", "slot_key", "mention", "slot_text", "change")
_PATIENCE = 30.0
"""Seconds in which a commit has to be seen."""
_WARM = 300
"""Documents of each worker before it is measured."""


class CheapEncoder:
    """Vectors of digests."""

    fingerprint = "cheap/384"
    dimension = _DIMENSION
    releases_gil = True

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``Encoder.encode``."""
        digests = b"".join(hashlib.shake_256(one.encode()).digest(_DIMENSION) for one in texts)
        vectors = np.frombuffer(digests, np.int8).reshape(-1, _DIMENSION).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        found: NDArray[np.float32] = vectors / lengths
        return found


@contextmanager
def opened(address: str, *, create: bool = False) -> Iterator[Engine]:
    """The memory at an address."""
    encoder = CheapEncoder()
    store = MemoryStore(
        address, fingerprint=encoder.fingerprint, dimension=_DIMENSION, create=create
    )
    with Engine(store, encoder, Config(), answerer="untrained", reader="sentences") as engine:
        yield engine


def work(address: str) -> None:
    """A worker, until it is killed."""
    with opened(address) as engine:
        engine.work()


def ingest(server: Server, documents: Sequence[Document], workers: int | None) -> dict[str, Any]:
    """Ingest into an empty schema; the seconds of it, and rows a second."""
    with new_schema(server) as schema, ExitStack() as stack:
        address = f"{schema.address}&schema={schema.name}"
        engine = stack.enter_context(opened(address, create=True))
        shared = None
        if workers is not None:
            for _ in range(workers):
                process = multiprocessing.get_context("spawn").Process(target=work, args=(address,))
                process.start()
                stack.callback(process.join)
                stack.callback(process.kill)
            shared = stack.enter_context(engine.workers(0))
        warm = [one.model_copy(update={"id": f"warm {one.id}"}) for one in documents[:_WARM]]
        engine.ingest(warm, workers=shared, full=False)
        before = rows(engine)
        processor = time.process_time()
        report = engine.ingest(documents, workers=shared, full=False)
        processor = time.process_time() - processor
        written = rows(engine) - before
    return {
        "seconds": report.seconds,
        "rows": written,
        "rows_per_second": written / report.seconds,
        "processor_seconds_here": processor,
    }


def rows(engine: Engine) -> int:
    """Rows of the store: slots and what hangs on them."""
    counted = " + ".join(f"(SELECT count(*) FROM {table})" for table in _TABLES)
    return int(engine.store._connection.only(f"SELECT {counted}")[0])


def write(address: str, commits: int, sending: Any, receiving: Any) -> None:
    """Write sources one by one; sends when each was committed, once the one before was seen."""
    with Engine.open(address) as engine:
        for number in range(commits):
            text = f"Captain Heron{number} sailed to Lisbon."
            engine.ingest([Document(id=f"new {number}", text=text)])
            sending.send((f"new {number}", time.monotonic()))
            receiving.recv()


def lag(commits: int, filled: Sequence[Document]) -> dict[str, Any]:
    """Milliseconds from a commit until an answer of the replica cites it."""
    with running_server(durable=True) as primary, server_folder() as folder:
        replica = Server(folder, programs(), durable=True)
        replica.command(
            "pg_basebackup", "-R", "-D", replica.data, "-d", primary.address(), "-c", "fast"
        )
        replica.start()
        try:
            with new_schema(primary) as schema:
                address = f"{schema.address}&schema={schema.name}"
                with Engine.open(address, create=True, encoder="static") as engine:
                    engine.ingest(filled)
                return _lag(address, f"{address}&readers={quote(str(folder))}:5432", commits)
        finally:
            replica.stop()


def _lag(address: str, at_replica: str, commits: int) -> dict[str, Any]:
    here, there = multiprocessing.Pipe()
    arguments = (address, commits, there, there)
    writer = multiprocessing.get_context("spawn").Process(target=write, args=arguments)
    milliseconds: list[float] = []
    asked: list[float] = []
    with Engine.open(at_replica) as engine:
        engine.ask("What is the first question for?")
        writer.start()
        for number in range(commits):
            name, committed = here.recv()
            while True:
                started = time.monotonic()
                answer = engine.ask(f"Where did Captain Heron{number} sail?")
                asked.append(1000 * (time.monotonic() - started))
                if started > committed + _PATIENCE:
                    raise TimeoutError(f"{name} is not seen at the replica")
                if any(one.source == name for one in answer.evidence):
                    break
            milliseconds.append(1000 * (time.monotonic() - committed))
            here.send(None)
        writer.join()
    return {
        "commits": commits,
        "answers": len(asked),
        "answer_ms": _percentiles(asked),
        "commit_to_answer_ms": _percentiles(milliseconds),
    }


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": float(np.percentile(values, share)) for share in (50, 95, 100)}


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    lines = (arguments.data / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [Document(**json.loads(line)) for line in lines[: arguments.documents]]
    result: dict[str, Any] = {
        "environment": environment(["asyncpg"]),
        "load_average": os.getloadavg()[0],
        "documents": len(documents),
        "ingest": {},
    }
    with running_server(durable=True) as server:
        for _ in range(arguments.rounds):
            for count in (None, 1, 2):
                name = "without workers" if count is None else f"{count} workers"
                measured = ingest(server, documents, count)
                result["ingest"].setdefault(name, []).append(measured)
                print(name, json.dumps(measured), flush=True)
    result["replica"] = lag(arguments.commits, documents[:2000])
    print(json.dumps(result["replica"]), flush=True)
    (_RESULTS / "postgres_spread.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
