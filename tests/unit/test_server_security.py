"""What a server refuses before any route sees it."""

import hashlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from memnet import Engine, InputError
from memnet.server import ServerSettings
from memnet.server.settings import make_token, read_token_file
from tests.conftest import Memnet
from tests.serving import serving
from tests.unit.test_server import error_of

TOKEN = "a token"  # noqa: S105  # of a test
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
MAX_BODY = 2_000_000


@pytest.fixture
def guarded(toy_engine: Engine) -> Iterator[httpx.Client]:
    settings = ServerSettings(
        token_digest=DIGEST, allowed_hosts=("notes.example",), max_body=MAX_BODY,
        max_upload=3_000_000,
    )  # fmt: skip
    with serving(toy_engine, settings) as client:
        yield client


@pytest.fixture
def known(guarded: httpx.Client) -> httpx.Client:
    guarded.headers["Authorization"] = f"Bearer {TOKEN}"
    return guarded


def test_a_request_needs_the_token(guarded: httpx.Client) -> None:
    wrong = ("", "Bearer", f"Basic {TOKEN}", "Bearer another", f"Bearer {DIGEST}", "Bearer \xff")
    for headers in ({}, *({b"Authorization": one.encode("latin-1")} for one in wrong)):
        response = guarded.get("/info", headers=headers)
        assert error_of(response) == (401, "unauthorized"), headers
        assert response.headers["www-authenticate"] == "Bearer"
        assert guarded.get("/healthz", headers=headers).status_code == 200


def test_every_route_but_the_page_and_health_needs_it(
    guarded: httpx.Client, known: httpx.Client
) -> None:
    assert known.get("/info").status_code == 200
    assert known.get("/info", headers={"Authorization": f"bearer   {TOKEN}"}).status_code == 200
    paths = known.get("/openapi.json").json()["paths"]
    del guarded.headers["Authorization"]
    for path, methods in {**paths, "/openapi.json": {"get": {}}, "/mcp": {"post": {}}}.items():
        for method in methods:
            response = guarded.request(method, path)
            assert response.status_code == (200 if path == "/healthz" else 401), path


OWN_HOSTS = (
    "localhost", "LOCALHOST:8321", "127.0.0.1:1", "127.8.8.8", "[::1]:8321", "notes.example",
    "Notes.Example.:443",
)  # fmt: skip
OTHER_HOSTS = (
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.5", "",
    "[::1]evil.example", "localhost:80@evil.example", "localhost:80x", "localhost evil.example",
    "0x7f000001", "127.1",
)  # fmt: skip
OTHER_ORIGINS = (
    "http://localhost", "http://localhost:8322", "http://evil.example",
    "http://localhost:8321.evil.example", "http://localhost:8321@evil.example", "null", "",
    "http://[", "evil://localhost:8321", "localhost:8321",
)  # fmt: skip


def test_the_host_must_be_a_name_of_this_server(known: httpx.Client) -> None:
    for host in (*OWN_HOSTS, *OTHER_HOSTS):
        response = known.get("/info", headers={"Host": host})
        assert response.status_code == (200 if host in OWN_HOSTS else 400), host
        assert guarded_headers(response)


def test_pages_of_other_sites_are_refused(known: httpx.Client) -> None:
    for origin in ("http://localhost:8321", "https://localhost:8321", *OTHER_ORIGINS):
        headers = {"Host": "localhost:8321", "Origin": origin}
        response = known.get("/info", headers=headers)
        assert response.status_code == (403 if origin in OTHER_ORIGINS else 200), origin
        assert "access-control-allow-origin" not in response.headers


def test_another_host_in_a_header_of_proxies_changes_nothing(known: httpx.Client) -> None:
    for name in ("X-Forwarded-Host", "X-Original-Host", "Forwarded"):
        headers = {"Host": "evil.example", name: "localhost"}
        assert known.get("/info", headers=headers).status_code == 400
        headers = {"Host": "localhost", name: "evil.example"}
        assert known.get("/info", headers=headers).status_code == 200


def test_pictures_and_scripts_of_other_sites_are_refused(known: httpx.Client) -> None:
    for site, mode, status in (
        ("none", "navigate", 200), ("same-origin", "cors", 200), ("same-origin", "no-cors", 200),
        ("cross-site", "navigate", 200), ("cross-site", "no-cors", 403),
        ("same-site", "no-cors", 403), ("cross-site", "cors", 403),
    ):  # fmt: skip
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        for path in ("/", "/info"):
            assert known.get(path, headers=headers).status_code == status, (site, mode)


def test_all_doors_know_their_names(known: httpx.Client) -> None:
    for path in ("/", "/page/app.js", "/healthz", "/mcp", "/v1/models", "/info"):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            for method in ("GET", "POST"):
                refused = known.request(method, path, headers=headers, content=b"{}")
                assert refused.status_code in (400, 403)
                assert guarded_headers(refused)


def guarded_headers(response: httpx.Response) -> bool:
    return (
        response.headers["content-security-policy"].startswith("default-src 'none'")
        and response.headers["x-content-type-options"] == "nosniff"
    )


def test_every_response_is_guarded_and_not_kept(known: httpx.Client) -> None:
    for response in (known.get("/info"), known.get("/nothing"), known.post("/ask", json={})):
        assert guarded_headers(response)
        assert response.headers["cache-control"] == "no-store"


def test_bodies_up_to_the_limit_are_read(known: httpx.Client) -> None:
    body = b'{"text": "' + b"word " * 1000
    body += b"x" * (MAX_BODY - len(body) - 2) + b'"}'
    assert len(body) == MAX_BODY
    headers = {"Content-Type": "application/json"}
    assert known.put("/sources/a", content=body, headers=headers).status_code == 200
    over = known.put("/sources/a", content=body + b" ", headers=headers)
    assert error_of(over) == (413, "too_large")

    def parts() -> Iterator[bytes]:
        yield body
        yield b" " * 100_000

    streamed = known.put("/sources/a", content=parts(), headers=headers)
    assert error_of(streamed) == (413, "too_large")


def test_uploads_have_a_limit_of_their_own(known: httpx.Client) -> None:
    within = known.post("/upload", files=[("files", ("a.txt", b"word " * 500_000))])
    assert within.json()["reports"][0]["report"]["added"] == 1
    over = known.post("/upload", files=[("files", ("a.txt", b"word " * 700_000))])
    assert error_of(over) == (413, "too_large")


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(known: httpx.Client) -> None:
    with socket.create_connection((known.base_url.host, known.base_url.port or 0)) as connection:
        connection.settimeout(20)
        connection.sendall(
            b"POST /ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a token\r\n"
            b"Content-Length: 99999999999999999999\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_token_comes_before_the_body(guarded: httpx.Client) -> None:
    assert guarded.post("/ask", content=b"x" * (MAX_BODY + 1)).status_code == 401


def test_a_read_only_server_changes_nothing(toy_engine: Engine) -> None:
    toy_engine.tell("Ann lives in Rome.")
    before = toy_engine.info()
    with serving(toy_engine, ServerSettings(read_only=True)) as client:
        for method, path in (
            ("PUT", "/sources/a"), ("DELETE", "/sources/told/1"), ("POST", "/tell"),
            ("POST", "/undo"), ("POST", "/upload"),
        ):  # fmt: skip
            assert error_of(client.request(method, path, content=b"{")) == (403, "read_only")
            assert error_of(client.request(method, path)) == (403, "read_only")
        assert client.post("/ask", json={"question": "Where does Ann live?"}).status_code == 200
        assert client.get("/sources/told/1").status_code == 200
    assert toy_engine.info() == before


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "notes.example", ""])  # noqa: S104
def test_a_server_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(InputError, match="token"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, token_digest=DIGEST).answers_to("127.0.0.1")


def test_on_all_addresses_any_address_is_its_own() -> None:
    settings = ServerSettings(host="0.0.0.0", token_digest=DIGEST)  # noqa: S104
    assert settings.answers_to("192.168.1.5")
    assert settings.answers_to("[fe80::1]")
    assert settings.answers_to(socket.gethostname())
    assert not settings.answers_to("evil.example")


def test_a_token_file_holds_the_digest_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = make_token(path)
    assert read_token_file(path) == hashlib.sha256(token.encode()).hexdigest()
    assert token not in path.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="already exists"):
        make_token(path)


def test_new_token_prints_the_token_once(tmp_path: Path, memnet: Memnet) -> None:
    path = tmp_path / "token"
    token, _ = memnet("serve", "--new-token", path)
    assert hashlib.sha256(token.strip().encode()).hexdigest() == read_token_file(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "a token is required"),  # noqa: S104
        (["--token-file", "nothing"], "can't read nothing"),
        (["--token-file", "damaged"], "invalid token digest"),
        (["--new-token", "damaged"], "already exists"),
        (["--new-token", "no/folder"], "can't write"),
    ],
)
def test_bad_options_are_errors_of_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memnet: Memnet,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged").write_text("no digest")
    _, printed = memnet("serve", "--store", "store", *arguments, code=1)
    assert printed.startswith("Error: ")
    assert message in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "store").exists()
