"""A language model on a server as the reader: what it quotes is checked word for word."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memnet import Config, Document, Engine, InputError, ModelError
from memnet.protocols import Passage
from memnet.reader import remote
from memnet.reader.remote import RemoteReader, cited_spans
from tests.toy import ToyEncoder, toy_store

PASSAGES = [
    Passage("Orre Light", "The Orre Light was built by\nUna Thale in 1862."),
    Passage("Kestle", "Kestle is a town. (It has 3,600 inhabitants.)"),
]


class FakeServer(ThreadingHTTPServer):
    """Answers every request with the same text, and keeps what it was asked."""

    content: Any = ""
    status = 200
    raw: bytes | None = None
    seconds = 0.0
    requests: list[tuple[str, dict[str, str], Any]]


class _Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, dict(self.headers.items()), body))
        time.sleep(self.server.seconds)
        answer = {"choices": [{"message": {"role": "assistant", "content": self.server.content}}]}
        data = json.dumps(answer).encode() if self.server.raw is None else self.server.raw
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    one = FakeServer(("127.0.0.1", 0), _Handler)
    one.requests = []
    thread = threading.Thread(target=one.serve_forever)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()
    thread.join()


def name_of(server: FakeServer) -> str:
    return f"openai:http://127.0.0.1:{server.server_address[1]}/v1#small"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Una Thale [1]", ["Una Thale"]),
        ('- "built by Una Thale" [1].', ["built by\nUna Thale"]),
        ("1862 [1]\n**3,600** [2]", ["1862", "3,600"]),
        ("Una Thale [1]\nUna Thale [1]", ["Una Thale"]),
        ("(It has 3,600 inhabitants.) [2]", ["(It has 3,600 inhabitants.)"]),
        # Not cited, cited from elsewhere, from nowhere, made up, a part of a word, nothing.
        ("Una Thale", []),
        ("Una Thale [2]", []),
        ("Una Thale [0]\nUna Thale [3]\nUna Thale [99999999999]", []),
        ("Una Thale built it [1]", []),
        ("Una Thal [1]", []),
        ("186 [1]", []),
        ("NONE", []),
        ("[1]", []),
        ("", []),
    ],
)
def test_only_verbatim_citations_are_kept(answer: str, expected: list[str]) -> None:
    spans = cited_spans(answer, PASSAGES)
    assert [PASSAGES[one.passage].text[one.start : one.end] for one in spans] == expected
    assert [one.probability for one in spans] == [0.5 ** (n + 1) for n in range(len(spans))]


def test_the_server_gets_question_and_passages(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_READER_KEY", "secret")
    server.content = "Una Thale [1]"
    reading = RemoteReader(name_of(server)).read("Who built the Orre Light?", PASSAGES)
    assert reading.answerable == 1
    ((path, headers, body),) = server.requests
    assert path == "/v1/chat/completions"
    assert {key.lower(): value for key, value in headers.items()}["authorization"] == (
        "Bearer secret"
    )
    assert body["model"] == "small"
    prompt = body["messages"][-1]["content"]
    assert "[2] Kestle\nKestle is a town." in prompt
    assert prompt.endswith("Question: Who built the Orre Light?")


def test_without_passages_nobody_is_asked(server: FakeServer) -> None:
    assert RemoteReader(name_of(server)).read("Who?", []).answerable == 0
    assert not server.requests


def test_failures_are_errors_in_one_line(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_SECONDS", 0.2)
    reader = RemoteReader(name_of(server))

    def error() -> str:
        with pytest.raises(ModelError) as caught:
            reader.read("Who?", PASSAGES)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    server.status, server.raw = 404, b"no such\nmodel"
    assert "404" in error()
    server.status, server.raw = 200, b"<html>"
    assert "no usable answer" in error()
    for raw in (b"{}", b"[]", b'{"choices": [{"message": {"content": null}}]}'):
        server.raw = raw
        assert "without a message" in error()
    server.seconds = 1.0
    assert "no usable answer" in error()


def test_a_server_that_is_not_there_is_named(server: FakeServer) -> None:
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1/chat/completions"):
        RemoteReader("openai:http://127.0.0.1:9/v1#small").read("Who?", PASSAGES)


@pytest.mark.parametrize(
    "name", ["openai:", "openai:http://x/v1", "openai:x#m", "openai:http://#m"]
)
def test_an_incomplete_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="openai:URL#MODEL"):
        RemoteReader(name)


def test_an_engine_reads_with_it_and_abstains_without_a_citation(
    server: FakeServer, tmp_path: Path
) -> None:
    encoder = ToyEncoder()
    store = toy_store(tmp_path / "store", encoder)
    with Engine(store, encoder, Config(), answerer="untrained", reader=name_of(server)) as engine:
        text = "The Orre Light was built by Una Thale in 1862. It stands on granite."
        engine.ingest(Document(id="a", title="Orre Light", text=text))
        server.content = "Una Thale [1]"
        answer = engine.ask("Who built the Orre Light?")
        assert answer.short == "Una Thale"
        assert answer.answer == "The Orre Light was built by Una Thale in 1862."
        server.content = "Bo Marrack [1]"
        answer = engine.ask("Who built the Orre Light?")
        assert answer.answer is None
        assert answer.abstained
