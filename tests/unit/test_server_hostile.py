"""Hostile requests: whatever comes, every route answers with an error of its form and goes on."""

import io
import json
import socket
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import fastapi.routing
import httpx
import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memnet import Document, Engine
from memnet.server import ServerSettings
from tests.serving import open_toy, serving
from tests.waiting import until

_text = st.text(max_size=40) | st.sampled_from(
    ["", "..", "../../etc/passwd", "a/pages", "a/pages/1.png", "%00", "\x00", "notes", "\ud800",
     "𝕏" * 9]
)  # fmt: skip
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _text | st.just(10**400)
_lists = st.lists(_scalars, max_size=3)
_objects = st.dictionaries(_text, _scalars | _lists, max_size=3)
_json = _scalars | _lists | _objects | st.lists(_objects, max_size=3)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with open_toy(tmp_path_factory.mktemp("hostile") / "store") as engine:
        engine.ingest(Document(id="notes", text="Una Thale built the Orre Light."))
        with serving(engine, ServerSettings(max_body=10_000, max_upload=10_000)) as client:
            yield client
        assert engine.verify().problems == ()


@pytest.fixture(scope="module")
def schema(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def _operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def _field_names(schema: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    """The fields of the body that an operation takes."""
    content = operation.get("requestBody", {}).get("content", {})
    for one in content.values():
        name = one["schema"].get("$ref", "/").rpartition("/")[2]
        return list(schema["components"]["schemas"].get(name, {}).get("properties", {}))
    return []


def _body(data: st.DataObject, names: list[str]) -> bytes:
    if data.draw(st.integers(0, 9)) == 0:
        return data.draw(st.binary(max_size=40))
    fields = {}
    for name in names:
        likely = st.just("Una Thale") if name in ("question", "query", "text") else _json
        if data.draw(st.booleans()) or likely is not _json:
            fields[name] = data.draw(_json | likely)
    return json.dumps(fields).encode("utf-8", "surrogatepass")


def _check(response: httpx.Response) -> None:
    assert response.status_code < 500, (response.request.method, response.request.url)
    if response.status_code >= 400:
        error = response.json()["error"]
        # OpenAI's have a code and a parameter, too.
        assert error.keys() - {"code", "param"} == {"message", "type"}
        assert "\n" not in error["message"]


@settings(phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_no_request_of_the_schema_breaks_it(
    client: httpx.Client, schema: dict[str, Any], data: st.DataObject
) -> None:
    method, path, operation = data.draw(st.sampled_from(_operations(schema)))
    query: dict[str, str] = {}
    for parameter in operation.get("parameters", []):
        value = data.draw(_text | st.integers().map(str) | st.just("notes"))
        value = value.encode("utf-8", "replace").decode()
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
        elif parameter["required"] or data.draw(st.booleans()):
            query[parameter["name"]] = value
    body = _body(data, _field_names(schema, operation))
    headers = {"Content-Type": "application/json"}
    response = client.request(
        method, path.replace("{source_id}", "notes"), params=query, content=body, headers=headers
    )
    _check(response)
    if path.endswith("/stream") and response.status_code == 200:
        assert '"type":"internal"' not in response.text


def test_a_source_without_an_id_is_refused(client: httpx.Client) -> None:
    response = client.put("/sources/", json={"text": "Una Thale built the Orre Light."})
    assert response.status_code == 400
    assert "PUT /sources/ID" in response.json()["error"]["message"]


@given(
    path=st.binary(max_size=30), method=st.sampled_from(["GET", "PUT", "DELETE", "POST", "HEAD"])
)
def test_no_path_breaks_it(client: httpx.Client, path: bytes, method: str) -> None:
    response = client.request(method, "/" + quote(path, safe="/"))
    if method != "HEAD":
        _check(response)
    assert response.status_code < 500


# Starlette leaves the files of a form that ends early to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(name=st.text(min_size=1, max_size=30), content=st.binary(max_size=200))
def test_no_upload_breaks_it(client: httpx.Client, name: str, content: bytes) -> None:
    name = name.encode("utf-8", "replace").decode()
    _check(client.post("/upload", files=[("files", (name, content))]))
    raw = b"--x\r\nContent-Disposition: form-data; name=files; filename=" + content + b"\r\n\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    _check(client.post("/upload", content=raw, headers=headers))


_WRONG = 200_000
"""Items: as errors of their own they would take seconds and hundreds of megabytes."""


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ask", {"question": "Who?"} | {f"x{n}": 1 for n in range(_WRONG)}),
        ("/tell", {f"x{n}": 1 for n in range(_WRONG)}),
        ("/v1/chat/completions", {"model": "memnet", "messages": [1] * _WRONG}),
        (
            "/v1/chat/completions",
            {"model": "memnet", "messages": [{"role": "user", "content": [1] * _WRONG}]},
        ),
        ("/v1/embeddings", {"model": "memnet", "input": [1] * _WRONG}),
    ],
)
def test_of_many_errors_one_is_looked_for(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch, path: str, body: Any
) -> None:
    counted: list[int] = []

    class CountingError(RequestValidationError):
        def __init__(self, errors: Sequence[Any], **options: Any) -> None:
            counted.append(len(errors))
            super().__init__(errors, **options)

    monkeypatch.setattr(fastapi.routing, "RequestValidationError", CountingError)
    with serving(toy_engine) as client:
        _check(response := client.post(path, json=body))
    assert response.status_code in (400, 422)
    assert len(counted) == 1
    assert counted[0] <= 3


def test_what_holds_no_unicode_is_told(client: httpx.Client) -> None:
    for content in ("\ud800", '### Task: "title"\nUSER: \ud800', "### Task: title\nUSER: \ud800"):
        body = {"model": "memnet", "messages": [{"role": "user", "content": content}]}
        headers = {"Content-Type": "application/json"}
        response = client.post("/v1/chat/completions", content=json.dumps(body), headers=headers)
        assert response.status_code == 400
        assert "broken character" in response.json()["error"]["message"]


def _call(client: httpx.Client, method: str, parameters: Any) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return client.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})


def test_cursors_of_strangers_are_told_apart(client: httpx.Client) -> None:
    for cursor in ("9" * 5000, "9" * 30, "-1", "²", "१", "", "x", "1.0"):
        error = _call(client, "resources/list", {"cursor": cursor}).json()["error"]
        assert error["code"] == -32602
        assert "cursor" in error["message"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("status", {f"x{n}": 1 for n in range(_WRONG)}), ("forget", {"id": [None] * _WRONG})],
)
def test_of_many_wrong_arguments_of_a_tool_a_few_are_named(
    toy_engine: Engine, name: str, arguments: Any
) -> None:
    with serving(toy_engine) as client:
        called = _call(client, "tools/call", {"name": name, "arguments": arguments})
    result = called.json()["result"]
    assert result["isError"]
    assert len(result["content"][0]["text"]) < 2000


def test_a_client_that_leaves_is_no_error(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for path in ("/mcp", "/ask", "/upload", "/v1/chat/completions"):
        address = (client.base_url.host, client.base_url.port or 0)
        with socket.create_connection(address) as connection:
            connection.sendall(
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
                % path.encode()
            )
    until(lambda: "memnet_requests_in_flight 1\n" in client.get("/metrics").text)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_the_schema_says_what_errors_look_like(
    client: httpx.Client, schema: dict[str, Any]
) -> None:
    for _, path, operation in _operations(schema):
        described = operation["responses"]["default"]["content"]["application/json"]["schema"]
        name = "OpenAIErrorBody" if path.startswith("/v1/") else "ErrorBody"
        assert described == {"$ref": f"#/components/schemas/{name}"}, path
        assert operation["responses"].keys() == {"200", "default"}
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    for path in ("/ask", "/v1/embeddings", "/v1/chat/completions"):
        error = client.post(path, json=[]).json()["error"]
        name = "OpenAIErrorDetail" if path.startswith("/v1/") else "ErrorDetail"
        assert error.keys() == schema["components"]["schemas"][name]["properties"].keys()


def test_errors_of_uploads_tell_no_paths(client: httpx.Client) -> None:
    archive, linked = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../up.txt", "Some text.")
    with tarfile.open(fileobj=linked, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("../../up.txt"))
    files = {
        "a.zip": archive.getvalue(), "l.tar.gz": linked.getvalue(), "d.jsonl": b"[" * 5_000,
        "e.jsonl": b'{"id": 1}', "f.csv": b"a,b\n" + b'"' * 99, "p.pdf": b"%PDF-1.4\n",
        "n.txt": b" ",
    }  # fmt: skip
    sent = [("files", item) for item in files.items()]
    reports = client.post("/upload", files=sent).json()["reports"]
    for report in reports:
        assert report["error"] or report["report"]
        assert "uploads" not in (report["error"] or ""), report
    errors = {report["name"]: report["error"] for report in reports}
    assert errors["l.tar.gz"].startswith("l.tar.gz/../../up.txt: ")
    assert errors["d.jsonl"].startswith("d.jsonl, line 1: ")


@pytest.mark.parametrize("name", ["kept\n", "ke\npt", "\nkept", "kept\r\n", "kept\u2028", "\n"])
def test_line_ends_belong_to_an_id(client: httpx.Client, name: str) -> None:
    url = f"/sources/{quote(name, safe='')}"
    kept = {"text": "Not to be touched."}
    assert client.put("/sources/kept", json=kept).status_code == 200
    assert client.delete(url).status_code == 404
    assert client.put(url, json={"text": "Another."}).json()["added"] == 1
    assert client.get(url).json()["source"]["id"] == name
    assert client.get("/sources/kept").json()["text"] == kept["text"]
    assert client.delete(url).json() == {"forgotten": 1}
    assert client.get("/sources/kept").status_code == 200
