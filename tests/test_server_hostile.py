"""Hostile requests: whatever comes, every route answers with an error of its form and goes on."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memnet import Document
from memnet.server import ServerSettings
from tests.serving import open_toy, serving

_text = st.text(max_size=40) | st.sampled_from(
    [
        "",
        "..",
        "../../etc/passwd",
        "a/pages",
        "a/pages/1.png",
        "%00",
        "\x00",
        "notes",
        "\ud800",
        "𝕏" * 9,
    ]
)
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


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
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


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
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
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.text(min_size=1, max_size=30), content=st.binary(max_size=200))
def test_no_upload_breaks_it(client: httpx.Client, name: str, content: bytes) -> None:
    name = name.encode("utf-8", "replace").decode()
    _check(client.post("/upload", files=[("files", (name, content))]))
    raw = b"--x\r\nContent-Disposition: form-data; name=files; filename=" + content + b"\r\n\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    _check(client.post("/upload", content=raw, headers=headers))
