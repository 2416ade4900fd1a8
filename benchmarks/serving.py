"""Serving: what HTTP adds to a question, many clients at once, and a server that is killed.

    python -m benchmarks.serving [--questions N] [--clients N] [--minutes M]

The Saltmere example is served by ``memnet serve`` with its defaults. A question takes turns: once
in process, once over HTTP on a connection that is kept; what passes outside the engine is the time
of the request less the answer's own ``elapsed_ms``. Then so many clients ask at once. Last, clients
ask, tell, put and delete, while the server is ended by SIGKILL every half minute and started again;
what it acknowledged must be there after each start. Fifteen minutes are the full run.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.environment import environment
from memnet import Engine

_RESULTS = Path(__file__).parent / "results" / "serving.json"
_SALTMERE = Path(__file__).parents[1] / "examples" / "saltmere"
_WRITERS = 3
_KILL_SECONDS = 30
_WARM = 10
"""Questions before the clock starts."""


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    lines = (_SALTMERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        with Engine.open(store, create=True) as memory:
            memory.ingest(_SALTMERE / "memory")
        results = {
            "environment": environment(("fastapi", "uvicorn")),
            "added": _added(store, questions, options.questions),
            "clients": _at_once(store, questions, options.clients, options.questions),
            "kills": _kills(store, questions, options.minutes * 60),
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


class _Server:
    """``memnet serve`` of a store, as a process."""

    def __init__(self, store: Path) -> None:
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memnet", "serve", "--port", "0", "--store", str(store)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None  # noqa: S101  # it is a pipe
        self.url = self.process.stderr.readline().split()[-1]
        self.seconds = time.perf_counter() - started

    def memory(self) -> float:
        """Resident memory in MiB; Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def end(self, *, kill: bool = False) -> None:
        """End it."""
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()


def _added(store: Path, questions: list[str], count: int) -> dict[str, Any]:
    """Milliseconds of a question in process and over HTTP, in turns."""
    server = _Server(store)
    inside: list[float] = []
    over: list[float] = []
    outside: list[float] = []
    with Engine.open(store) as memory, httpx.Client(base_url=server.url, timeout=60) as client:
        for number in range(_WARM + count):
            question = questions[number % len(questions)]
            started = time.perf_counter()
            memory.ask(question).model_dump_json()
            between = time.perf_counter()
            response = client.post("/ask", json={"question": question}).raise_for_status()
            ended = time.perf_counter()
            if number >= _WARM:
                outside.append((ended - between) * 1000 - response.json()["elapsed_ms"])
                inside.append((between - started) * 1000)
                over.append((ended - between) * 1000)
    server.end()
    return {
        "questions": count,
        "start_seconds": server.seconds,
        "in_process_ms": _quantiles(inside),
        "http_ms": _quantiles(over),
        "difference_ms": float(np.median(over) - np.median(inside)),
        "outside_engine_ms": _quantiles(outside),
    }


def _at_once(store: Path, questions: list[str], clients: int, count: int) -> dict[str, Any]:
    """Many clients that ask one question after the other."""
    server = _Server(store)
    errors = 0
    times: list[float] = []
    each = max(2, 2 * count // clients)

    def ask(number: int) -> None:
        nonlocal errors
        with httpx.Client(base_url=server.url, timeout=120) as client:
            for turn in range(each):
                question = questions[(number + turn) % len(questions)]
                started = time.perf_counter()
                try:
                    client.post("/ask", json={"question": question}).raise_for_status()
                except httpx.HTTPError:
                    errors += 1
                times.append((time.perf_counter() - started) * 1000)

    httpx.post(f"{server.url}/ask", json={"question": questions[0]}, timeout=60)
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))
    seconds = time.perf_counter() - started
    server.end()
    with Engine.open(store) as memory:
        asked = (questions * (1 + len(times) // len(questions)))[: len(times)]
        memory.ask(questions[0])
        began = time.perf_counter()
        list(memory.ask_many(asked))
        alone = len(asked) / (time.perf_counter() - began)
    return {
        "clients": clients,
        "questions": len(times),
        "errors": errors,
        "a_second": len(times) / seconds,
        "a_second_in_process": alone,
        "ms": _quantiles(times),
    }


def _kills(store: Path, questions: list[str], seconds: float) -> dict[str, Any]:
    """Clients that ask and write, while the server is killed and started again."""
    server = _Server(store)
    counts: Counter[str] = Counter()
    held: dict[str, str | None] = {}
    """The acknowledged text of each source, None once it is deleted; in doubt, it is left out."""
    told: set[str] = set()
    guard = threading.Lock()
    stop = threading.Event()

    def work(writer: int) -> None:
        chance = random.Random(writer)
        number = 0
        while not stop.is_set():
            number += 1
            name = f"{writer}/{chance.randrange(50)}"
            what = chance.choice(("ask", "put", "put", "delete", "tell"))
            try:
                _request(what, name, writer, number)
            except httpx.HTTPError:
                counts["requests cut off by a kill"] += 1
                time.sleep(0.2)

    def _request(what: str, name: str, writer: int, number: int) -> None:
        url = server.url
        if what == "ask":
            question = random.choice(questions)
            response = httpx.post(f"{url}/ask", json={"question": question}, timeout=60)
        elif what == "tell":
            text = f"Person{writer}x{number} lives in Town{number}."
            response = httpx.post(f"{url}/tell", json={"text": text}, timeout=60)
            if response.is_success:
                with guard:
                    told.add(text)
        else:
            text = f"Version {number} of {name} tells of boat {number}."
            with guard:
                held.pop(name, None)
            if what == "put":
                response = httpx.put(f"{url}/sources/{name}", json={"text": text}, timeout=60)
            else:
                response = httpx.delete(f"{url}/sources/{name}", timeout=60)
            with guard:
                held[name] = text if what == "put" else None
        counts[what] += 1
        if response.status_code >= 400 and response.status_code != 404:
            counts["errors"] += 1

    lost = 0
    memory: list[float] = []
    ends = time.monotonic() + seconds
    workers = [threading.Thread(target=work, args=(writer,)) for writer in range(_WRITERS)]
    for worker in workers:
        worker.start()
    while time.monotonic() < ends:
        time.sleep(max(1.0, min(_KILL_SECONDS, ends - time.monotonic())))
        memory.append(server.memory())
        with guard:
            expected, statements = dict(held), set(told)
        server.end(kill=True)
        counts["kills"] += 1
        server = _Server(store)
        lost += _lost(server.url, expected, statements, held, guard)
    stop.set()
    for worker in workers:
        worker.join()
    server.end()
    with Engine.open(store) as engine:
        problems = engine.verify().problems
    return {
        "minutes": seconds / 60,
        **counts,
        "lost acknowledged writes": lost,
        "problems": list(problems),
        "memory_mib": memory,
    }


def _lost(
    url: str,
    expected: dict[str, str | None],
    told: set[str],
    held: dict[str, str | None],
    guard: threading.Lock,
) -> int:
    """Acknowledged writes that are not there; what changed meanwhile is not looked at."""
    lost = 0
    for name, text in expected.items():
        with suppress(httpx.HTTPError):
            response = httpx.get(f"{url}/sources/{name}", timeout=60)
            found = response.json()["text"] if response.is_success else None
            with guard:
                lost += held.get(name, "") == text and found != text
    statements: set[str] = set()
    response = httpx.get(f"{url}/history", params={"limit": 1000}, timeout=60)
    statements = {one["text"] for one in response.json()["statements"]}
    return lost + len(told - statements if len(told) < 1000 else set())


def _quantiles(values: list[float]) -> dict[str, float]:
    return {f"p{part}": float(np.percentile(values, part)) for part in (50, 95)}


if __name__ == "__main__":
    main()
