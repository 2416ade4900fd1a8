"""Servers for tests: in a thread, or as a process (``python -m tests.serving STORE``)."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from memnet import Answer, Config, Engine
from memnet.server import ServerSettings, create_app
from memnet.server.app import listening, serve, server_of
from memnet.storage import Scope
from tests.toy import ToyEncoder, toy_store
from tests.waiting import until

SLOW = "slow"
"""A question that takes ``SLOW_SECONDS``."""
SLOW_SECONDS = 2.0


@contextmanager
def serving(engine: Engine, settings: ServerSettings | None = None) -> Iterator[httpx.Client]:
    """A client of a server in a thread."""
    server = server_of(create_app(engine, settings))
    with listening("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        url = "http://{}:{}".format(*listener.getsockname())
        try:
            until(lambda: server.started, "the server does not start")
            with httpx.Client(base_url=url, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def served_process(store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of a toy memory as a process, and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.serving", str(store)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def open_toy(path: Path, answerer: Any = "untrained") -> Engine:
    """A memory with an encoder that needs no weights."""
    encoder = ToyEncoder()
    store = toy_store(path, encoder, lock_seconds=30)
    return Engine(store, encoder, Config(lock_seconds=30), answerer=answerer, reader="sentences")


class SlowAnswers:
    """Answers with nothing, after a while if asked for that."""

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        if question == SLOW:
            time.sleep(SLOW_SECONDS)
        return Answer(
            question=question, answer=None, confidence=None, abstained=True, candidates=(),
            evidence=(), hops=(), model="slow", elapsed_ms=0.0,
        )  # fmt: skip


def _tell(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until a signal comes."""
    with open_toy(Path(sys.argv[1]), SlowAnswers()) as engine:
        serve(engine, ServerSettings(port=0), _tell)


if __name__ == "__main__":
    main()
