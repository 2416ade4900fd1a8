"""The routes of a server, as a client sees them."""

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from memnet import Document, Engine, Fact
from memnet.server import ServerSettings, app
from tests.serving import serving

LIGHT = Document(
    id="notes/orre light.md", title="Orre Light", text="Una Thale built the Orre Light in 1862.",
    metadata={"year": 1862},
)  # fmt: skip
QUESTION = "Who built the Orre Light?"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(toy_engine: Engine) -> Iterator[httpx.Client]:
    toy_engine.ingest(LIGHT, Document(id="b", text="Bo keeps bees."))
    with serving(toy_engine) as client:
        yield client


def source_url(source_id: str) -> str:
    return f"/sources/{quote(source_id, safe='')}"


def events(text: str) -> list[tuple[str, Any]]:
    """Server-sent events with their data."""
    blocks = [block for block in text.split("\n\n") if block.startswith("event: ")]
    pairs = [block.split("\n", 1) for block in blocks]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in pairs
    ]


def archive() -> bytes:
    """A zip file of two texts."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("one.txt", "The first text of the archive.")
        file.writestr("two.txt", "The second text of the archive.")
    return data.getvalue()


def untimed(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "elapsed_ms": 0}


def error_of(response: httpx.Response) -> tuple[int, str]:
    error = response.json()["error"]
    assert error.keys() == {"message", "type"}
    assert error["message"]
    assert "\n" not in error["message"]
    return response.status_code, error["type"]


def test_ask_gives_what_the_command_line_prints(client: httpx.Client, toy_engine: Engine) -> None:
    body = {"question": QUESTION, "top_k": 1, "hops": 1, "where": {"year": {"from": 1800}}}
    expected = toy_engine.ask(QUESTION, top_k=1, hops=1, where={"year": {"from": 1800}})
    response = client.post("/ask", json=body)
    assert response.status_code == 200
    assert untimed(response.json()) == untimed(json.loads(expected.model_dump_json()))
    assert response.json()["evidence"][0]["source"] == LIGHT.id


def test_a_stream_has_all_hops_and_then_the_answer(client: httpx.Client) -> None:
    response = client.post("/ask/stream", json={"question": QUESTION})
    assert response.headers["content-type"].startswith("text/event-stream")
    found = events(response.text)
    answer = client.post("/ask", json={"question": QUESTION}).json()
    assert [name for name, _ in found] == ["hop"] * len(answer["hops"]) + ["answer"]
    assert [data for name, data in found if name == "hop"] == answer["hops"]
    assert untimed(found[-1][1]) == untimed(answer)


def test_an_error_in_a_stream_is_an_event(client: httpx.Client) -> None:
    found = events(client.post("/ask/stream", json={"question": " "}).text)
    assert [(name, data["error"]["type"]) for name, data in found] == [("error", "invalid_request")]


def test_search_finds_the_evidence_of_the_library(client: httpx.Client, toy_engine: Engine) -> None:
    found = client.post("/search", json={"query": "bees", "top_k": 1}).json()
    expected = [json.loads(one.model_dump_json()) for one in toy_engine.search("bees", 1)]
    assert found["evidence"] == expected
    assert expected[0]["source"] == "b"
    assert found["elapsed_ms"] > 0


def test_search_looks_at_the_time_that_it_is_asked_for(client: httpx.Client) -> None:
    for text, at in (("Ann lives in Rome.", "2020-01-01"), ("Ann moved to Oslo.", "2024-01-01")):
        assert client.post("/tell", json={"text": text, "at": at}).status_code == 200

    def found(**body: str) -> set[str]:
        body["query"] = "Where does Ann live?"
        return {one["text"] for one in client.post("/search", json=body).json()["evidence"]}

    assert {"Ann lives in Rome.", "Ann moved to Oslo."} & found(as_of="2022-01-01") == {
        "Ann lives in Rome."
    }
    assert "Ann moved to Oslo." in found()


def test_sources_come_page_by_page(client: httpx.Client, toy_engine: Engine) -> None:
    toy_engine.ingest(
        *(
            Document(id=f"more/{n}", text=f"Text {n}.", metadata={"date": f"2024-05-0{n}T10:00"})
            for n in range(1, 5)
        ),
        Document(id="more/9", title="100% Tide_Tables!", text="9.", metadata={"last": "2025"}),
    )
    toy_engine.ingest(Document(id="apart", text="Kept apart."), namespace="x")
    toy_engine.ingest(Fact(subject="Una", relation="built", object="Orre Light"))
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = client.get("/sources", params={"limit": 2, "after": after}).json()
        assert page["total"] == 9
        assert len(page["sources"]) <= 2
        found += [source["id"] for source in page["sources"]]
        after = page["next"]
    assert found == [source.id for source in toy_engine.sources()]
    chosen: list[tuple[dict[str, str | int], list[str]]] = [
        ({"namespace": "x"}, ["apart"]),
        ({"query": "MORE/", "limit": 3}, ["more/1", "more/2", "more/3"]),
        ({"query": "more%"}, []),
        ({"query": "0% tide_tables!"}, ["more/9"]),
        ({"query": "tide.tables"}, []),
        ({"since": "2024-05-02", "until": "2024-05-03"}, ["more/2", "more/3"]),
        ({"since": "2024-05-04"}, ["more/4", "more/9"]),
        ({"until": "2024-05-01", "query": "more"}, ["more/1"]),
        ({"kind": "facts"}, [one.id for one in toy_engine.sources() if one.kind == "facts"]),
    ]
    for parameters, expected in chosen:
        page = client.get("/sources", params=parameters).json()
        assert [source["id"] for source in page["sources"]] == expected
    for wrong in ({"since": "soon"}, {"query": "x" * 1001}):
        assert error_of(client.get("/sources", params=wrong)) == (422, "invalid_request")


def test_the_text_of_a_source_comes_with_its_headings(
    client: httpx.Client, toy_engine: Engine, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    body = " ".join(["The tide turns at noon."] * 40)
    note.write_text(f"# Tides\n\n{body}\n\n## Spring\n\n{body}\n\n## Neap\n\n{body}\n")
    toy_engine.ingest(note)
    whole = client.get(source_url(str(note))).json()
    assert [text for _, text in whole["headings"]] == ["Spring", "Neap"]
    assert all(whole["text"][at:].startswith(text) for at, text in whole["headings"])
    spring, neap = (at for at, _ in whole["headings"])
    part = client.get(source_url(str(note)), params={"start": spring, "end": neap}).json()
    assert part["headings"] == [[spring, "Spring"]]


def test_the_text_of_a_source_comes_with_places_and_rows(
    client: httpx.Client, toy_engine: Engine, tmp_path: Path
) -> None:
    sheet, chat = tmp_path / "boats.csv", tmp_path / "chat.txt"
    sheet.write_text("Boat,Berth,Paid\nTern,B4,yes\nSkua,,no\n")
    chat.write_text(
        "12/03/2024, 09:15 - Mara: Who feeds the cat?\n13/03/2024, 09:17 - Jon: Fee: 2; tip: 1\n"
    )
    toy_engine.ingest([sheet, chat])
    boats = client.get(source_url(str(sheet))).json()
    rows = [{cell["header"]: cell for cell in row} for row in boats["rows"]]
    assert [{name: cell["text"] for name, cell in row.items()} for row in rows] == [
        {"Boat": "Tern", "Berth": "B4", "Paid": "yes"},
        {"Boat": "Skua", "Paid": "no"},
    ]
    for cell in (cell for row in rows for cell in row.values()):
        assert boats["text"][cell["start"] : cell["end"]] == cell["text"]
    skua = rows[1]["Boat"]["start"] - len("Boat: ")
    part = client.get(source_url(str(sheet)), params={"start": skua - 3}).json()
    assert part["rows"] == boats["rows"][1:]
    said = client.get(source_url(str(chat))).json()
    assert said["places"] == [[0, "2024-03-12 Mara"], [said["text"].index("Jon"), "2024-03-13 Jon"]]
    assert said["rows"] == []
    assert client.get(source_url(str(chat)), params={"end": 4}).json()["places"] == [
        [0, "2024-03-12 Mara"]
    ]


def test_a_follow_up_is_answered_as_what_it_means(client: httpx.Client) -> None:
    before = {"question": "Who met Una Thale?", "short": None}
    for asked, meant in (
        ("And Ann Vale?", "Who met Ann Vale?"),
        ("Where was she born?", "Where was Una Thale born?"),
        ("Where is Kestle?", "Where is Kestle?"),
    ):
        answer = client.post("/ask", json={"question": asked, "after": before}).json()
        assert answer["question"] == meant
        assert client.post("/ask", json={"question": asked}).json()["question"] == asked
    long = {"question": "Ann " * 5000, "short": None}
    refused = client.post("/ask", json={"question": "And Ann?", "after": long})
    assert error_of(refused) == (400, "invalid_request")


def test_a_source_is_put_read_and_forgotten(client: httpx.Client, toy_engine: Engine) -> None:
    source_id = "a/../ü %2F?#.md"
    text = "Zöe 🐝 keeps\nten hives."
    given = {"text": text, "title": "Hives", "metadata": {"n": 1}}
    put = client.put(source_url(source_id), json=given)
    assert put.json()["added"] == 1
    document = toy_engine.get(source_id)
    assert document is not None
    assert (document.text, document.title, document.metadata) == (text, "Hives", {"n": 1})
    whole = client.get(source_url(source_id)).json()
    assert (whole["text"], whole["length"]) == (text, len(text))
    part = client.get(source_url(source_id), params={"start": 4, "end": 11}).json()
    assert (part["text"], part["start"], part["end"]) == (text[4:11], 4, 11)
    beyond = client.get(source_url(source_id), params={"start": 99, "end": 100}).json()
    assert (beyond["text"], beyond["start"], beyond["end"]) == ("", len(text), len(text))
    again = client.put(source_url(source_id), json={"text": "Changed."})
    assert again.json()["updated"] == 1
    assert client.delete(source_url(source_id)).json() == {"forgotten": 1}
    assert source_id not in toy_engine
    assert error_of(client.delete(source_url(source_id))) == (404, "not_found")
    assert error_of(client.get(source_url(source_id))) == (404, "not_found")


def test_a_source_of_another_namespace_is_found_and_not_deleted(
    client: httpx.Client, toy_engine: Engine
) -> None:
    client.put(source_url("c"), json={"text": "Kept apart.", "namespace": "x"})
    assert client.get(source_url("c")).json()["source"]["namespace"] == "x"
    assert client.get(source_url("c"), params={"namespace": ""}).status_code == 404
    assert client.delete(source_url("c")).status_code == 404
    assert client.delete(source_url("c"), params={"namespace": "x"}).json() == {"forgotten": 1}


def test_statements_are_told_shown_and_taken_back(client: httpx.Client) -> None:
    told = client.post("/tell", json={"text": "Ann lives in Rome.", "at": "2024-01-01"}).json()
    assert [one["action"] for one in told["decisions"]] == ["add"]
    client.post("/tell", json={"text": "Bo lives in Oslo."})
    for params, text in (
        ({"subject": "Ann"}, "Ann lives in Rome."), ({"query": "OSLO lives"}, "Bo lives in Oslo."),
        ({"limit": "1"}, "Bo lives in Oslo."),
    ):  # fmt: skip
        history = client.get("/history", params=params).json()["statements"]
        assert [one["text"] for one in history] == [text]
    undone = client.post("/undo", json={}).json()
    assert [one["text"] for one in undone["removed"]] == ["Bo lives in Oslo."]
    assert client.post("/undo", json={}).status_code == 200
    assert error_of(client.post("/undo", json={})) == (400, "invalid_request")


def test_facts_are_shown_as_a_graph(client: httpx.Client, toy_engine: Engine) -> None:
    toy_engine.ingest(
        Fact(subject="Una Thale", relation="born_in", object="Kestle"),
        Fact(subject="Kestle", relation="lies_on", object="Orre"),
        Fact(subject="Orre", relation="has", object="Pellgate"),
    )
    near = client.get("/facts", params={"entity": "kestle"}).json()
    assert {node["label"] for node in near["nodes"]} == {"Una Thale", "Kestle", "Orre"}
    edges = {(one["source"], one["relation"], one["target"]) for one in near["edges"]}
    assert edges == {("una thale", "born in", "kestle"), ("kestle", "lies on", "orre")}
    far = client.get("/facts", params={"entity": "Una Thale", "hops": 3}).json()
    assert [node["id"] for node in far["nodes"]] == ["una thale", "kestle", "orre", "pellgate"]
    few = client.get("/facts", params={"entity": "Una Thale", "hops": 3, "limit": 2}).json()
    assert len(few["nodes"]) == 2
    assert len(few["edges"]) == 1
    toy_engine.ingest(Fact(subject="Orre", relation="seen_from", object="Una Thale"))
    around = client.get("/facts", params={"entity": "kestle"}).json()
    assert [one["relation"] for one in around["edges"]].count("seen from") == 1
    unknown = client.get("/facts", params={"entity": "Nobody"}).json()
    assert unknown == {"nodes": [], "edges": []}


def test_uploads_are_read_as_ingest_reads_them(client: httpx.Client, toy_engine: Engine) -> None:
    files = [
        ("files", ("light.md", b"# Orre Light\n\nBuilt by Una Thale.")),
        ("files", ("all.zip", archive())),
        ("files", ("broken.pdf", b"no PDF")),
        ("files", ("../../up.txt", b"It stays in its folder.")),
        ("files", ("..", b"no name")),
        ("files", ("log/1972/up.txt", b"It has folders of its own.")),
        ("files", ("a/con/up.txt", b"No folder of any system.")),
        ("files", ("x/" * 30 + "up.txt", b"Too deep.")),
    ]
    reports = client.post("/upload", files=files).json()["reports"]
    assert [report["name"] for report in reports] == [name for _, (name, _) in files]
    assert [bool(report["error"]) for report in reports] == [
        False, False, True, False, True, False, True, True,
    ]  # fmt: skip
    assert [report["report"] and report["report"]["added"] for report in reports] == [
        1, 2, None, 1, None, 1, None, None,
    ]  # fmt: skip
    folder = toy_engine.store.path / "uploads" / "default"
    assert sorted(file.name for file in folder.iterdir()) == [
        "all.zip", "light.md", "log", "up.txt",
    ]  # fmt: skip
    stored = {source.id for source in toy_engine.sources() if source.origin}
    assert stored == {
        str(folder / name)
        for name in ("light.md", "up.txt", "log/1972/up.txt", "all.zip/one.txt", "all.zip/two.txt")
    }
    client.delete(source_url(str(folder / "log/1972/up.txt")))
    assert not (folder / "log").exists()
    assert (folder / "up.txt").exists()


def test_an_upload_goes_with_the_last_of_its_sources(
    client: httpx.Client, toy_engine: Engine
) -> None:
    client.post("/upload", files=[("files", ("all.zip", archive()))])
    kept = toy_engine.store.path / "uploads" / "default" / "all.zip"
    client.delete(source_url(f"{kept}/one.txt"))
    assert kept.exists()
    toy_engine.forget(f"{kept}/two.txt")
    assert not kept.exists()


def test_an_upload_that_fails_leaves_the_one_before_it(
    client: httpx.Client, toy_engine: Engine, saltmere_pdf: Path
) -> None:
    good = saltmere_pdf.read_bytes()
    client.post("/upload", files=[("files", ("report.pdf", good))])
    failed = client.post("/upload", files=[("files", ("report.pdf", b"no PDF"))]).json()
    assert failed["reports"][0]["error"]
    kept = toy_engine.store.path / "uploads" / "default" / "report.pdf"
    assert kept.read_bytes() == good
    assert [file.name for file in kept.parent.iterdir()] == ["report.pdf"]
    assert str(kept) in toy_engine


def test_no_file_outside_the_uploads_is_removed(
    client: httpx.Client, toy_engine: Engine, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("A note of the user's own.")
    toy_engine.ingest(note)
    assert client.delete(source_url(str(note))).status_code == 200
    assert note.exists()


def test_names_that_no_system_keeps_are_refused(client: httpx.Client) -> None:
    for name in ("con.txt", "a<b", "x.", "x ", ".", "/", "", "n" * 201, "NUL"):
        response = client.post("/upload", files=[("files", (name, b"Some text."))])
        if response.status_code == 200:
            assert response.json()["reports"][0]["error"], name
        else:
            assert error_of(response) == (422, "invalid_request"), name


def test_bad_questions_are_refused(client: httpx.Client) -> None:
    asked = {"question": QUESTION}
    for body in (
        {"question": ""}, {"question": "x" * 3000}, {"question": "\ud800"}, asked | {"top_k": 0},
        asked | {"where": {"": 1}}, asked | {"as_of": "soon"},
    ):  # fmt: skip
        response = client.post("/ask", content=json.dumps(body), headers=JSON)
        assert error_of(response) == (400, "invalid_request"), body
    typed: tuple[object, ...] = (asked | {"hops": "many"}, asked | {"more": "typed wrong"}, {}, [])
    for wrong in typed:
        response = client.post("/ask", content=json.dumps(wrong), headers=JSON)
        assert error_of(response) == (422, "invalid_request"), wrong


def test_bodies_that_are_no_json_are_refused(client: httpx.Client) -> None:
    for body in (b"", b"{", b"\xff", b"[" * 100_000, b'{"question": 1e999}'):
        status, kind = error_of(client.post("/ask", content=body, headers=JSON))
        assert (status in (400, 422), kind) == (True, "invalid_request"), body
    response = client.post("/ask", content=json.dumps({"question": QUESTION}))
    assert error_of(response) == (422, "invalid_request")
    assert "application/json" in response.json()["error"]["message"]


def test_unknown_paths_and_methods_are_errors_too(client: httpx.Client) -> None:
    assert error_of(client.get("/nothing")) == (404, "not_found")
    assert error_of(client.get("/ask"))[0] == 405


def test_a_store_that_another_process_writes_to_is_a_conflict(toy_engine: Engine) -> None:
    def write() -> None:
        with toy_engine.store.writing():
            locked.set()
            done.wait()

    locked, done = threading.Event(), threading.Event()
    writer = threading.Thread(target=write)
    with serving(toy_engine) as client:
        writer.start()
        locked.wait()
        response = client.put(source_url("a"), json={"text": "Some text."})
        done.set()
        writer.join()
    assert error_of(response) == (409, "conflict")


def test_a_bug_tells_nothing_of_itself(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(toy_engine, "ask", fail)
    with serving(toy_engine) as client:
        response = client.post("/ask", json={"question": QUESTION})
        streamed = events(client.post("/ask/stream", json={"question": QUESTION}).text)
    assert error_of(response) == (500, "internal")
    assert "secret" not in response.text
    assert streamed[0][1] == response.json()
    assert "a secret" in caplog.text


def test_info_health_and_metrics(client: httpx.Client, toy_engine: Engine) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/info").json() == json.loads(toy_engine.info().model_dump_json())
    for path in ("/sources/b", "/sources/b", "/sources/b", "/sources/nothing", "/scanned/path"):
        client.get(path)
    route = 'route="/sources/{source_id:id}"'
    assert set(client.get("/metrics").text.splitlines()) >= {
        f'memnet_requests_total{{method="GET",{route},status="200"}} 3',
        f'memnet_requests_total{{method="GET",{route},status="404"}} 1',
        'memnet_requests_total{method="GET",route="unknown",status="404"} 1',
        f'memnet_request_seconds_bucket{{{route},le="+Inf"}} 4',
        f"memnet_request_seconds_count{{{route}}} 4",
        "memnet_slots 2", "memnet_sources 2", "memnet_requests_in_flight 1",
    }  # fmt: skip


def test_many_ask_at_once(client: httpx.Client, toy_engine: Engine) -> None:
    questions = [f"Who built the Orre Light in {year}?" for year in range(1850, 1882)]
    expected = [json.loads(toy_engine.ask(question).model_dump_json()) for question in questions]
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(client.post, "/ask", json={"question": one}) for one in questions]
        answers = [one.result().json() for one in asked]
    assert list(map(untimed, answers)) == list(map(untimed, expected))


def test_the_page_is_served_as_its_files_are(
    toy_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page").mkdir()
    contents = {"index.html": b"<!doctype html>", "app.js": b"export {};", "style.css": b"p {}"}
    for name, data in contents.items():
        (tmp_path / "page" / name).write_bytes(data)
    monkeypatch.setattr(app, "files", lambda _: tmp_path)
    with serving(toy_engine, ServerSettings(token_digest="0" * 64)) as client:
        for path, name, kind in (
            ("/", "index.html", "text/html"),
            ("/page/app.js", "app.js", "text/javascript"),
            ("/page/style.css", "style.css", "text/css"),
        ):
            response = client.get(path)
            assert response.content == contents[name]
            assert response.headers["content-type"].startswith(kind)
            assert "default-src 'none'" in response.headers["content-security-policy"]
            again = client.get(path, headers={"If-None-Match": response.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        assert client.get("/page/..%2Fsecret").status_code == 404
