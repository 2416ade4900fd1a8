"""Servers as processes: how they stop, and several of them on one store."""

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from memnet.server.app import listening
from tests.conftest import Memnet
from tests.serving import SLOW, open_toy, served_process
from tests.waiting import PATIENCE

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")


@posix
def test_a_signal_lets_requests_in_flight_finish(tmp_path: Path) -> None:
    with served_process(tmp_path / "store") as (process, url):
        responses: list[httpx.Response] = []
        arrived = threading.Event()

        def ask() -> None:
            with httpx.stream("POST", f"{url}/ask/stream", json={"question": SLOW}) as response:
                chunks = response.iter_text()
                first = next(chunks)
                arrived.set()
                response._content = (first + "".join(chunks)).encode()
                responses.append(response)

        asking = threading.Thread(target=ask)
        asking.start()
        assert arrived.wait(30)
        process.send_signal(signal.SIGTERM)
        asking.join(30)
        assert process.wait(30) == 0
    assert "event: answer" in responses[0].text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with served_process(store) as (_, one), served_process(store) as (_, other):
        put = {"text": "Una Thale built the Orre Light."}
        assert httpx.put(f"{one}/sources/light", json=put).json()["added"] == 1
        assert httpx.get(f"{other}/sources/light").json()["text"] == put["text"]

        def tell(number: int) -> int:
            url = (one, other)[number % 2]
            body = {"text": f"Person{number} lives in Town{number}."}
            return httpx.post(f"{url}/tell", json=body, timeout=60).status_code

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(tell, range(24))) == [200] * 24
        for url in (one, other):
            told = httpx.get(f"{url}/history").json()["statements"]
            assert {statement["subject"] for statement in told} == {
                f"Person{number}" for number in range(24)
            }
        assert httpx.delete(f"{other}/sources/light").json() == {"forgotten": 1}
        assert httpx.get(f"{one}/sources/light").status_code == 404
        assert httpx.get(f"{one}/info").json()["slots"] == 24


def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with served_process(store) as (process, url), ThreadPoolExecutor(4) as pool:
        stopped = threading.Event()

        def put(writer: int) -> list[str]:
            acknowledged: list[str] = []
            for number in range(1000):
                name = f"{writer}-{number}"
                try:
                    body = {"text": f"Text {name}."}
                    response = httpx.put(f"{url}/sources/{name}", json=body, timeout=30)
                except httpx.HTTPError:
                    break
                assert response.status_code == 200
                acknowledged.append(name)
                if number == 5:
                    stopped.set()
            return acknowledged

        writers = [pool.submit(put, writer) for writer in range(4)]
        try:
            assert stopped.wait(PATIENCE)
        finally:
            process.kill()  # which ends the writers
        acknowledged = [name for writer in writers for name in writer.result()]
    with open_toy(store) as memory:
        assert len(acknowledged) >= 6
        assert all(name in memory for name in acknowledged)
        assert memory.verify().problems == ()


@posix
def test_the_command_serves_without_torch_and_ends(tmp_path: Path, memnet: Memnet) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Una Thale built the Orre Light.")
    store = ["--store", str(tmp_path / "store")]
    memnet("ingest", note, *store)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.without_torch", "hidden", "serve", "--port", "0", *store],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("Listening on http://127.0.0.1:")
        url = line.split()[-1]
        answer = httpx.post(
            f"{url}/ask", json={"question": "Who built the Orre Light?"}, timeout=60
        )
        assert answer.json()["short"] == "Una Thale"
        port = url.rpartition(":")[2]
        _, error = memnet("serve", "--port", port, *store, code=1)
        assert "choose another --host or --port" in error
        assert error.count("\n") == 1
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_responses_are_sent_at_once() -> None:
    """Asyncio sets TCP_NODELAY on the connections of such listeners alone."""
    with (
        listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP
