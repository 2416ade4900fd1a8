"""Clients that keep a server waiting, and requests that ask for heads alone."""

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from memnet import Engine
from memnet.server import app, security
from tests.serving import serving
from tests.waiting import until

JSON, FORM = b"application/json", b"multipart/form-data; boundary=x"


@pytest.fixture
def client(toy_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(app, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(app, "READ_SECONDS", 0.5)
    monkeypatch.setattr(security, "_BODY_SECONDS", 0.5)
    with serving(toy_engine) as client:
        yield client


def connect(client: httpx.Client) -> socket.socket:
    connection = socket.create_connection((client.base_url.host, client.base_url.port or 0))
    connection.settimeout(20)
    return connection


def until_closed(connection: socket.socket) -> bytes:
    """What a server sends before it closes the connection; fails if it does not."""
    received = b""
    while part := connection.recv(65_536):
        received += part
    return received


def test_the_head_of_a_request_has_its_time(client: httpx.Client) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    for sent in (b"", b"GET /healthz HT", whole + b"A: ", whole + b"\r\nGET /healthz HT"):
        with connect(client) as connection:
            connection.sendall(sent)
            received = until_closed(connection)
        assert received.count(b"HTTP/1.1 200 ") == sent.count(b"\r\n\r\n")


def test_bytes_now_and_then_win_no_time(client: httpx.Client) -> None:
    with connect(client) as connection:
        done = threading.Event()

        def drip() -> None:
            try:
                connection.sendall(b"GET /healthz HTTP/1.1\r\n")
                while not done.wait(0.1):
                    connection.sendall(b"A: b\r\n")
            except OSError:  # it is closed
                pass

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            assert until_closed(connection) == b""
        except ConnectionResetError:  # bytes were under way when it was closed
            pass
        finally:
            done.set()
            dripping.join()


def test_a_body_that_stops_is_an_error(client: httpx.Client) -> None:
    for path, kind in (
        (b"/ask", JSON), (b"/upload", FORM), (b"/mcp", JSON), (b"/v1/chat/completions", JSON),
    ):  # fmt: skip
        with connect(client) as connection:
            connection.sendall(
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"
                b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n-"
                % (path, kind)
            )
            received = b""
            while b"0.5 seconds" not in received and (part := connection.recv(65_536)):
                received += part
        assert received.startswith(b"HTTP/1.1 408 ")
        assert b"0.5 seconds" in received


def test_a_client_that_reads_nothing_is_left(client: httpx.Client) -> None:
    with connect(client) as connection:
        connection.sendall(b"GET /page/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3000)

        def is_closed() -> bool:
            try:
                connection.sendall(b"\r\n")
            except OSError:
                return True
            return False

        until(is_closed)


def test_answers_may_take_longer_than_heads(client: httpx.Client) -> None:
    with connect(client) as connection:
        for _ in range(3):  # on one connection, with pauses shorter than those of its own limit
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            received = b""
            while not received.endswith(b'{"status":"ok"}'):
                received += connection.recv(1000)
            threading.Event().wait(0.3)


def test_what_get_answers_head_answers(client: httpx.Client) -> None:
    for path in ("/", "/page/app.js", "/healthz", "/info", "/sources", "/metrics"):
        whole, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == whole.headers["content-type"]
        if path != "/metrics":
            assert head.headers["content-length"] == whole.headers["content-length"]
    assert client.head("/nothing").status_code == 404
    assert client.head("/ask").status_code == 405
    assert client.get("/healthz").json() == {"status": "ok"}  # on the same connection
