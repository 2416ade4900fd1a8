"""The tools and resources of the protocol's server, through its library's own client."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent

from memnet import Document, Engine, Fact
from memnet.mcp.server import build_server
from memnet.mcp.tools import ServedMemory

LIGHT = Document(
    id="notes/light.md",
    title="Orre Light",
    text="The Orre Light was built by Una Thale.\n\nIt stands on granite.",
    metadata={"author": "Ann"},
)
PAGE = Document(
    id="page", title="Kestle", text="Kestle is a town.", metadata={"url": "https://example.org/k"}
)


def with_client(
    engine: Engine,
    use: Callable[[Client], Awaitable[None]],
    *,
    read_only: bool = False,
    namespace: str | None = None,
    mode: str = "legacy",
) -> None:
    server = build_server(ServedMemory(lambda: engine, namespace), read_only)

    async def run() -> None:
        async with Client(server, mode=mode) as client:
            await use(client)

    anyio.run(run)


def call(engine: Engine, name: str, arguments: dict[str, Any], **options: Any) -> CallToolResult:
    """The result of one call, whose structure has to be as the tool's schema says."""
    results: list[CallToolResult] = []

    async def use(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool(name, arguments)
        if not result.is_error:
            schema = listed[name].output_schema
            assert schema is not None
            jsonschema.validate(result.structured_content, schema)
        results.append(result)

    with_client(engine, use, **options)
    return results[0]


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def found(engine: Engine, name: str, arguments: dict[str, Any], **options: Any) -> Any:
    result = call(engine, name, arguments, **options)
    assert not result.is_error, text_of(result)
    return result.structured_content


def error_of(engine: Engine, name: str, arguments: dict[str, Any], **options: Any) -> str:
    result = call(engine, name, arguments, **options)
    assert result.is_error
    text = text_of(result)
    assert "\n" not in text
    return text


def test_tools_are_listed_with_hints_and_schemas(toy_engine: Engine) -> None:
    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            "ask", "search", "fetch", "remember", "history", "forget", "list_sources", "status",
        }  # fmt: skip
        writing = {"remember", "forget"}
        for name, tool in tools.items():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint == (name not in writing)
            assert tool.annotations.destructive_hint == (name in writing)
            assert tool.annotations.open_world_hint is False
            for schema in (tool.input_schema, tool.output_schema):
                assert schema is not None
                assert schema["type"] == "object"
                jsonschema.Draft202012Validator.check_schema(schema)
        assert tools["ask"].input_schema["required"] == ["question"]

    with_client(toy_engine, use)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_every_version_of_the_protocol_gets_answers(toy_engine: Engine, mode: str) -> None:
    toy_engine.ingest(LIGHT)
    asked = found(toy_engine, "ask", {"question": "Who built the Orre Light?"}, mode=mode)
    assert asked["answer"] == "The Orre Light was built by Una Thale."


@pytest.mark.parametrize("name", ["question", "query", "q", "text", "prompt", "input"])
def test_ask_quotes_verbatim(toy_engine: Engine, name: str) -> None:
    toy_engine.ingest(LIGHT, PAGE)
    result = call(toy_engine, "ask", {name: "Who built the Orre Light?"})
    asked: Any = result.structured_content
    assert asked["answer"] == "The Orre Light was built by Una Thale."
    for item in (*asked["quotations"], *asked["evidence"]):
        document = toy_engine.get(item["id"])
        assert document is not None
        assert document.text[item["start"] : item["end"]] == item["text"]
    assert asked["quotations"][0]["place"] == asked["evidence"][0]["place"] == "Orre Light"
    assert text_of(result).startswith(
        "The Orre Light was built by Una Thale. [1]\n\n[1] Orre Light"
    )


def test_what_is_not_there_is_said(toy_engine: Engine) -> None:
    result = call(toy_engine, "ask", {"question": "What does zirconium cost?"})
    asked: Any = result.structured_content
    assert asked["answer"] is None
    assert asked["abstained"]
    assert text_of(result) == "The memory does not hold the answer."


def test_search_and_fetch_have_the_shape_of_connectors(toy_engine: Engine) -> None:
    toy_engine.ingest(LIGHT, PAGE)
    result = call(toy_engine, "search", {"query": "Kestle town"})
    searched: Any = result.structured_content
    assert json.loads(text_of(result)) == searched
    best = searched["results"][0]
    assert (best["id"], best["title"], best["url"]) == ("page", "Kestle", "https://example.org/k")
    assert len({one["id"] for one in searched["results"]}) == len(searched["results"])
    result = call(toy_engine, "fetch", {"id": "notes/light.md"})
    fetched: Any = result.structured_content
    assert json.loads(text_of(result)) == fetched
    assert fetched["text"] == LIGHT.text
    assert fetched["metadata"] == {"author": "Ann"}
    assert fetched["url"] == "memnet://source/notes/light.md"
    by_address = found(toy_engine, "fetch", {"url": fetched["url"], "start": 4, "length": 5})
    assert (by_address["text"], by_address["length"]) == (LIGHT.text[4:9], len(LIGHT.text))


@pytest.mark.parametrize("name", ["text", "content", "fact", "memory", "observation"])
def test_remember_supersedes_and_history_tells(toy_engine: Engine, name: str) -> None:
    found(toy_engine, "remember", {name: "Ann lives in Paris.", "at": "2025-01-01"})
    told = found(toy_engine, "remember", {name: "Ann lives in Rome.", "at": "2025-03-01"})
    assert [one["action"] for one in told["decisions"]] == ["supersede"]
    history = found(toy_engine, "history", {"entity": "Ann"})
    assert [one["text"] for one in history["statements"]] == [
        "Ann lives in Paris.", "Ann lives in Rome.",
    ]  # fmt: skip
    assert [one["until"] is None for one in history["statements"]] == [False, True]
    assert history["total"] == 2
    latest = found(toy_engine, "history", {"name": "Ann", "limit": "1"})
    assert [one["text"] for one in latest["statements"]] == ["Ann lives in Rome."]


def test_forget_takes_one_or_several_ids(toy_engine: Engine) -> None:
    toy_engine.ingest(LIGHT, PAGE, Fact(subject="a", relation="b", object="c"))
    assert found(toy_engine, "forget", {"ids": ["page", "memnet://source/notes/light.md"]}) == {
        "sources": 2, "slots": 2,
    }  # fmt: skip
    assert "no source 'page'" in error_of(toy_engine, "forget", {"id": "page"})
    assert [one.id for one in toy_engine.sources()] == ["a | b | c"]


def test_sources_are_listed_page_by_page(toy_engine: Engine) -> None:
    toy_engine.ingest([Document(id=f"n/{number}", text=f"Text {number}.") for number in range(5)])
    toy_engine.ingest(PAGE)
    ids: list[str] = []
    after: dict[str, Any] = {}
    while True:
        page = found(toy_engine, "list_sources", {"prefix": "n/", "limit": 2, **after})
        ids += [one["id"] for one in page["sources"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert ids == [f"n/{number}" for number in range(5)]
    assert found(toy_engine, "list_sources", {"type": "facts"})["sources"] == []
    assert "'gone'" in error_of(toy_engine, "list_sources", {"after": "gone"})


def test_status_counts(toy_engine: Engine) -> None:
    toy_engine.ingest(LIGHT)
    assert found(toy_engine, "status", {}) == toy_engine.info().model_dump(mode="json")


def test_bad_arguments_are_errors_in_one_line(toy_engine: Engine) -> None:
    assert "'question'" in error_of(toy_engine, "ask", {})
    assert "'colour'" in error_of(toy_engine, "ask", {"question": "a", "colour": "red"})
    assert "'limit'" in error_of(toy_engine, "ask", {"question": "a", "top_k": 0})
    assert "empty" in error_of(toy_engine, "ask", {"question": " "})
    assert "'nowhere'" in error_of(toy_engine, "fetch", {"id": "nowhere"})
    assert "2026-13" in error_of(toy_engine, "ask", {"question": "a b", "as_of": "2026-13"})
    assert "'guess'" in error_of(toy_engine, "guess", {})


def test_a_bug_is_an_error_without_its_text(
    toy_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Engine, "info", broken)
    assert "secret" not in error_of(toy_engine, "status", {})
    assert "secret" in caplog.text  # with its traceback, for the operator
    assert not capfd.readouterr().out


def test_read_only_leaves_out_what_writes(toy_engine: Engine) -> None:
    async def use(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names.isdisjoint({"remember", "forget"})
        result = await client.call_tool("remember", {"text": "Ann lives in Paris."})
        assert result.is_error
        assert "read-only" in text_of(result)

    with_client(toy_engine, use, read_only=True)
    assert not toy_engine.history()


def test_a_namespace_is_kept_apart(toy_engine: Engine) -> None:
    toy_engine.ingest(LIGHT)
    toy_engine.ingest(PAGE, namespace="work")
    listed = found(toy_engine, "list_sources", {}, namespace="work")
    assert [one["id"] for one in listed["sources"]] == ["page"]
    assert "no source" in error_of(toy_engine, "fetch", {"id": LIGHT.id}, namespace="work")
    # Without one all are read.
    assert found(toy_engine, "fetch", {"id": "page"})["text"] == PAGE.text
    found(toy_engine, "remember", {"text": "Bo lives in Oslo."}, namespace="work")
    assert [one.text for one in toy_engine.history(namespace="work")] == ["Bo lives in Oslo."]
    assert not toy_engine.history(namespace="")


def test_resources_are_the_sources(toy_engine: Engine) -> None:
    odd = Document(id="a b/ü?#%.md", text="Odd name.")
    many = [Document(id=f"m{number:03}", text=f"Text {number}.") for number in range(120)]
    toy_engine.ingest(odd, many)

    async def use(client: Client) -> None:
        listed, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            listed += page.resources
            cursor = page.next_cursor
            if cursor is None:
                break
        assert [one.name for one in listed] == [odd.id, *(one.id for one in many)]
        read = await client.read_resource(listed[0].uri)
        assert [one.text for one in read.contents if hasattr(one, "text")] == ["Odd name."]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memnet://source/{+id}"
        for uri in ("memnet://source/nowhere", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        with pytest.raises(MCPError):
            await client.list_resources(cursor="x")

    with_client(toy_engine, use)
