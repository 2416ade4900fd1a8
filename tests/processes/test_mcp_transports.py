"""The protocol's server over standard streams and HTTP, as processes and clients use it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")
import httpx
import uvicorn
from mcp import Client, StdioServerParameters

from memnet import Document, Engine
from memnet.mcp import http_app
from memnet.mcp.server import INSTRUCTIONS

# Serves a memory with an encoder that needs no weights, and prints where it should not.
SERVER = """
import os, sys
from pathlib import Path
from memnet.mcp import serve_stdio

def open_engine():
    from tests.toy import toy_memory
    print("a stray line")
    os.system("echo another stray line")
    return toy_memory(Path(sys.argv[1]))

serve_stdio(open_engine)
"""
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def process(*arguments: object) -> StdioServerParameters:
    """How a client starts Python."""
    return StdioServerParameters(
        command=sys.executable, args=list(map(str, arguments)), env=ENVIRONMENT, cwd=ROOT
    )


def called(
    server: StdioServerParameters, *calls: tuple[str, dict[str, Any]], mode: str = "legacy"
) -> list[Any]:
    """The results of tools with their arguments, called one after the other."""

    async def run() -> list[Any]:
        async with Client(server, mode=mode) as client:
            assert client.instructions == INSTRUCTIONS
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_starts_the_server_and_uses_it(tmp_path: Path, mode: str) -> None:
    server = process("-c", SERVER, tmp_path / "store")
    remember = ("remember", {"text": "Ann lives in Rome."})
    told, asked = called(server, remember, ("ask", {"q": "Where does Ann live?"}), mode=mode)
    assert not told.is_error
    assert asked.structured_content["answer"] == "Ann lives in Rome."


def test_only_messages_are_written_to_standard_output(tmp_path: Path) -> None:
    client = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    given: list[dict[str, Any]] = [
        {"id": "first", "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", **client}},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": {"name": "status"}},
    ]  # fmt: skip
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in given]
    lines.insert(2, "no message at all")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.flush()
    received: dict[Any, Any] = {}
    while 1 not in received:
        message = json.loads(process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        if "id" in message:
            assert message["id"] not in received
            received[message["id"]] = message
    rest, errors = process.communicate(timeout=60)
    assert not rest
    assert "a stray line" in errors
    assert "another stray line" in errors
    assert process.returncode == 0
    assert received["first"]["result"]["protocolVersion"] == "2025-06-18"
    assert received[1]["result"]["structuredContent"]["slots"] == 0


def test_a_store_that_cannot_be_opened_is_an_error_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no store")
    server = process("-m", "memnet", "mcp", "--read-only", "--store", tmp_path / "file")
    [result] = called(server, ("status", {}))
    assert result.is_error
    assert str(tmp_path / "file") in result.content[0].text


def test_the_command_serves_a_store_without_torch(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Engine.open(store, create=True) as engine:
        engine.ingest(Document(id="light", text="The Orre Light was built by Una Thale."))
    server = process("-m", "tests.without_torch", "hidden", "mcp", "--store", store)
    [result] = called(server, ("ask", {"q": "Who built the Orre Light?"}))
    assert result.structured_content["short"] == "Una Thale"


@pytest.fixture
def address(toy_engine: Engine) -> Iterator[str]:
    """Of a server over HTTP."""
    toy_engine.ingest(Document(id="light", text="The Orre Light was built by Una Thale."))
    config = uvicorn.Config(http_app(toy_engine, True), port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_over_http(address: str, mode: str) -> None:
    async def one(results: list[str]) -> None:
        async with Client(address, mode=mode) as client:
            asked: Any = await client.call_tool("ask", {"question": "Who built the Orre Light?"})
            results.append(asked.structured_content["answer"])
            refused = await client.call_tool("forget", {"id": "light"})
            assert refused.is_error

    async def run() -> None:
        results: list[str] = []
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one, results)
        assert results == ["The Orre Light was built by Una Thale."] * 4

    anyio.run(run)


def test_http_without_the_protocol_is_refused(address: str) -> None:
    assert httpx.get(address, timeout=10).status_code == 405
    assert httpx.delete(address, timeout=10).status_code == 405
    assert httpx.post(address, content=b"{", timeout=10).status_code in (400, 406)
