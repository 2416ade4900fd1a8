"""Serving: what HTTP adds to a question, many clients at once, and a server that is killed.

    python -m benchmarks.serving [--questions N] [--clients N] [--minutes M]

The Saltmere example is served by ``memnet serve`` with its defaults. A question takes turns: once
in process, once over HTTP on a connection that is kept; what passes outside the engine is the time
of the request less the answer's own ``elapsed_ms``. Then so many clients ask at once. Then clients
ask, tell, put and delete, while the server is ended by SIGKILL every half minute or so and started
again; what it acknowledged must be there after each start. Last, they do so without kills, taking
back what they tell, and the memory of the server is looked at. Each of these two takes M minutes;
fifteen are the full run.
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
"""Between two kills, on average."""
_SAMPLE_SECONDS = 30
"""Between two looks at the server's memory."""
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
            "steady": _steady(store, questions, options.minutes * 60),
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


class _Load:
    """Clients that ask and write, each on sources of its own, and what the server acknowledged."""

    def __init__(self, url: str, questions: list[str], *, takes_back: bool = False) -> None:
        """Start no client yet.

        Args:
            url: of the server; it may change while the clients run.
            questions: to ask.
            takes_back: undo each statement, so that the memory holds no more from hour to hour.
        """
        self.url = url
        self.counts: Counter[str] = Counter()
        self._questions = questions
        self._takes_back = takes_back
        self._held: dict[str, str | None] = {}
        """The acknowledged text of each source, None once it is deleted; those in doubt are left
        out."""
        self._told: list[str] = []
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._clients = [threading.Thread(target=self._work, args=(n,)) for n in range(_WRITERS)]

    def __enter__(self) -> "_Load":
        """Start the clients."""
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self._stop.set()
        for client in self._clients:
            client.join()

    def acknowledged(self) -> tuple[dict[str, str | None], list[str]]:
        """Sources and statements that must be there from now on."""
        with self._guard:
            return dict(self._held), list(self._told)

    def lost(self, expected: dict[str, str | None], told: list[str]) -> int:
        """Acknowledged writes that the server lacks; what changed meanwhile is not looked at."""
        lost = 0
        for name, text in expected.items():
            with suppress(httpx.HTTPError):
                response = httpx.get(f"{self.url}/sources/{name}", timeout=60)
                found = response.json()["text"] if response.is_success else None
                with self._guard:
                    lost += self._held.get(name, "") == text and found != text
        for text in told:
            query: dict[str, str | int] = {"query": text, "limit": 1}
            response = httpx.get(f"{self.url}/history", params=query, timeout=60)
            lost += not response.json()["statements"]
        return lost

    def _work(self, client: int) -> None:
        chance = random.Random(client)
        number = 0
        while not self._stop.is_set():
            number += 1
            name = f"{client}/{chance.randrange(50)}"
            what = chance.choice(("ask", "put", "put", "delete", "tell"))
            try:
                response = self._request(what, name, client, number)
            except httpx.HTTPError:
                self.counts["requests cut off by a kill"] += 1
                time.sleep(0.2)
                continue
            self.counts[what] += 1
            if response.status_code >= 400 and response.status_code != 404:
                self.counts["errors"] += 1

    def _request(self, what: str, name: str, client: int, number: int) -> httpx.Response:
        url = self.url
        if what == "ask":
            question = random.choice(self._questions)
            return httpx.post(f"{url}/ask", json={"question": question}, timeout=60)
        if what == "tell":
            text = f"Person{client}x{number} lives in Town{number}."
            space = f"of {client}" if self._takes_back else ""
            body = {"text": text, "namespace": space}
            response = httpx.post(f"{url}/tell", json=body, timeout=60)
            if self._takes_back:
                return httpx.post(f"{url}/undo", json={"namespace": space}, timeout=60)
            if response.is_success:
                with self._guard:
                    self._told.append(text)
            return response
        text = f"Version {number} of {name} tells of boat {number}."
        with self._guard:
            self._held.pop(name, None)
        if what == "put":
            response = httpx.put(f"{url}/sources/{name}", json={"text": text}, timeout=60)
        else:
            response = httpx.delete(f"{url}/sources/{name}", timeout=60)
        with self._guard:
            self._held[name] = text if what == "put" else None
        return response


def _kills(store: Path, questions: list[str], seconds: float) -> dict[str, Any]:
    """Clients that ask and write, while the server is killed and started again."""
    server = _Server(store)
    chance = random.Random(0)
    memory: list[float] = []
    kills = lost = checked = 0
    ends = time.monotonic() + seconds
    with _Load(server.url, questions) as load:
        while time.monotonic() < ends:
            wait = chance.uniform(0.2, 1.8) * _KILL_SECONDS
            time.sleep(max(1.0, min(wait, ends - time.monotonic())))
            memory.append(server.memory())
            expected, told = load.acknowledged()
            server.end(kill=True)
            kills += 1
            server = _Server(store)
            load.url = server.url
            lost += load.lost(expected, told[checked:])
            checked = len(told)
    server.end()
    expected, told = load.acknowledged()
    with Engine.open(store) as engine:
        problems = engine.verify().problems
        kept = {one.text for one in engine.history()}
        lost += sum(text not in kept for text in told)
        for name, text in expected.items():
            document = engine.get(name)
            lost += (None if document is None else document.text) != text
    return {
        "minutes": seconds / 60,
        **load.counts,
        "kills": kills,
        "lost acknowledged writes": lost,
        "problems": list(problems),
        "memory_mib": memory,
    }


def _steady(store: Path, questions: list[str], seconds: float) -> dict[str, Any]:
    """The same clients without kills: the memory of a server that holds no more than before."""
    server = _Server(store)
    memory: list[float] = []
    with _Load(server.url, questions, takes_back=True) as load:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(min(_SAMPLE_SECONDS, seconds / 4))
            memory.append(server.memory())
    server.end()
    later = memory[len(memory) // 2 :]
    minutes = np.arange(len(later)) * _SAMPLE_SECONDS / 60
    slope = float(np.polyfit(minutes, later, 1)[0]) if len(later) > 1 else 0.0
    return {
        "minutes": seconds / 60,
        **load.counts,
        "memory_mib": memory,
        "mib_a_minute_in_the_second_half": slope,
    }


def _quantiles(values: list[float]) -> dict[str, float]:
    return {f"p{part}": float(np.percentile(values, part)) for part in (50, 95)}


if __name__ == "__main__":
    main()
