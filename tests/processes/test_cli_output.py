"""What commands print to people, and how they end when something is in the way."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memnet import Engine
from memnet.cli import options
from memnet.cli.options import store_path
from tests.conftest import Memnet
from tests.waiting import completed, without_coverage


@pytest.fixture
def store(saltmere: Engine) -> str:
    return saltmere.info().path


def _lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_info_is_in_words(store: str, memnet: Memnet) -> None:
    shown, _ = memnet("info", "--store", store)
    found = json.loads(memnet("info", "--store", store, "--json")[0])
    counted = (
        f"{found['sources']} sources: {found['documents']} documents, {found['facts']} facts\n"
    )
    assert counted in shown
    assert store in shown
    assert "quick" not in shown
    assert "none; the shipped ones answer" in shown


def test_scores_are_shown_as_a_table(store: str, tmp_path: Path, memnet: Memnet) -> None:
    row = {"question": "Who built the Orre Light?", "gold": ["orre-light"]}
    asked = _lines(tmp_path / "asked.jsonl", row)
    shown, err = memnet("eval", asked, "--store", store)
    assert err == ""
    rows = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert (rows["n"], rows["recall@5"], rows["em"]) == ("1", "1.000", "-")
    assert rows["latency_ms"].startswith("p50 ")


def test_many_problems_are_counted(tmp_path: Path, memnet: Memnet) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"id": "a", "text": "A lamp."}\n' + "broken\n" * 30)
    shown, err = memnet("ingest", path, "--store", tmp_path / "store")
    lines = err.splitlines()
    assert 1 < len(lines) < 30
    assert all(line.startswith("skipped: ") and "line " in line for line in lines)
    assert "Skipped: 30 errors; 'memnet -v ingest' names each." in shown


@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_sees_how_far_an_ingest_is_on_one_line(
    tmp_path: Path, memnet: Memnet, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    (tmp_path / "notes").mkdir()
    for number in range(3):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"Lamp {number} burns seal oil.")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", str(width))
    memnet("ingest", tmp_path / "notes", "--store", tmp_path / "store")
    assert "Ingesting" in shown.getvalue()
    assert re.search(r"3 text files.* 100%", shown.getvalue())
    drawn = re.split(r"[\r\n]", click.unstyle(shown.getvalue()))
    assert max(map(len, drawn)) <= width


def test_what_was_read_and_skipped_is_counted_by_kind(tmp_path: Path, memnet: Memnet) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Lamp {number} burns seal oil.")
    (folder / "facts.tsv").write_text("Orre\tlies in\tSaltmere\n")
    (folder / "bad.tsv").write_text("Orre\tlies in\n")
    for name in ("a.heic", "b.gif", *(f"x.{letter}q" for letter in "abcdefg")):
        (folder / name).write_bytes(b"\x89")
    (folder / "empty.txt").touch()
    store = tmp_path / "store"
    shown, err = memnet("ingest", folder, "--store", store)
    read, counts, skipped = shown.splitlines()
    assert read == "Read 3 text files, 1 fact table."
    assert counts.startswith("4 added, 0 updated, 0 unchanged, 0 removed, 11 skipped in ")
    assert skipped == (
        "Skipped: 7 of unknown kind (.aq, .bq, .cq, .dq, .eq, ...), 2 images, 1 error, 1 empty; "
        "'memnet -v ingest' names each."
    )
    assert err.count("\n") == 1
    assert "bad.tsv, line 1: has 2 columns" in err
    shown, _ = memnet("ingest", folder, "--store", store, "--json")
    report = json.loads(shown)
    assert report["kinds"] == {"text files": 3, "fact tables": 1}
    assert report["unchanged"] == 4


def test_messages_are_read_as_conversations(tmp_path: Path, memnet: Memnet) -> None:
    lines = [
        {"id": number, "session": day, "speaker": "Ann", "time": f"2024-03-0{day}", "text": text}
        for number, (day, text) in enumerate([(1, "The boat sailed."), (2, "The boat is lost.")])
    ]
    path = _lines(tmp_path / "talk.jsonl", *lines)
    shown, _ = memnet("ingest", path.parent, "--conversation", "--json", "--store", tmp_path / "s")
    assert json.loads(shown)["added"] == 2
    shown, _ = memnet("search", "lost boat", "--json", "--store", tmp_path / "s")
    best = json.loads(shown)["evidence"][0]
    assert (best["text"], best["place"]) == ("Ann: The boat is lost.", "2024-03-02 Ann")
    assert best["source"] == f"{path}#2"
    # From standard input the sessions have names that a later run updates.
    command = [sys.executable, "-m", "memnet", "ingest", "-", "--conversation", "--store", "t"]
    for _ in range(2):
        done = completed(command, given=path.read_text(), cwd=tmp_path)
    assert "2 unchanged" in done.stdout
    shown, _ = memnet("sources", "--json", "--store", tmp_path / "t")
    assert {one["id"] for one in json.loads(shown)["sources"]} == {
        "conversation#1", "conversation#2",
    }  # fmt: skip


def test_a_file_named_by_itself_is_read_as_the_format_that_is_named(
    tmp_path: Path, memnet: Memnet
) -> None:
    store = tmp_path / "store"
    for name, word in (("page.txt", "lamp"), ("page.odd", "boat")):
        (tmp_path / name).write_text(f"<html><body><p>The <b>{word}</b> is new.</p></body></html>")
        memnet("ingest", tmp_path / name, "--as", "html", "--store", store)
    shown, _ = memnet("search", "what is new", "--json", "--store", store)
    assert {item["text"] for item in json.loads(shown)["evidence"]} == {
        "The lamp is new.", "The boat is new.",
    }  # fmt: skip


_COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which may come ignored
from memnet.cli.main import main
main()
"""


def test_watched_folders_are_followed_until_an_interrupt(
    tmp_path: Path, memnet: Memnet, request: pytest.FixtureRequest
) -> None:
    notes, store = tmp_path / "notes", tmp_path / "store"
    notes.mkdir()
    (notes / "a.txt").write_text("The lamp burns seal oil.")
    watching = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "ingest", "notes", "--watch", "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=without_coverage(),
    )
    request.addfinalizer(watching.kill)
    assert watching.stdout
    assert watching.stderr
    assert watching.stdout.readline() == "Read 1 text file.\n"
    assert watching.stdout.readline().startswith("1 added, ")
    assert watching.stderr.readline() == "Watching notes; Ctrl+C to stop.\n"
    (notes / "mill.txt").write_text("The new mill was built by Una Thale.")
    assert watching.stdout.readline() == "added notes/mill.txt; 2 slots in the memory.\n"
    shown, _ = memnet("ask", "Who built the new mill?", "--json", "--store", store)
    assert json.loads(shown)["short"] == "Una Thale"
    (notes / "mill.txt").rename(notes / "old.txt")
    line = watching.stdout.readline()
    assert line == "1 added, 1 removed: notes/mill.txt, notes/old.txt; 2 slots in the memory.\n"
    memnet("tell", "Ann moved to Rome.", "--store", store)  # nothing holds the store meanwhile
    watching.send_signal(signal.SIGINT)
    shown, err = watching.communicate(timeout=30)
    assert (watching.returncode, shown, err) == (0, "", "")


def test_only_folders_are_watched(tmp_path: Path, memnet: Memnet) -> None:
    for path in (tmp_path / "none", "-"):
        shown, err = memnet("ingest", path, "--watch", "--store", tmp_path / "store", code=1)
        assert (shown, err.count("\n")) == ("", 1)
        assert "not a folder; only folders can be watched" in err


def test_pictures_that_cannot_be_written_are_one_line(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "a.svg").symlink_to("/dev/full")
    question = "Who built the Orre Light?"
    _, err = memnet("ask", question, "--plot", tmp_path / "a.svg", "--store", store, code=1)
    assert "a.svg can't be written (No space left on device)" in err
    assert err.count("\n") == 1


def test_the_store_is_the_users_own_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda name: tmp_path / name)
    monkeypatch.delenv("MEMNET_STORE", raising=False)
    assert store_path(None) == tmp_path / "memnet" / "store"
    monkeypatch.setenv("MEMNET_STORE", "elsewhere")
    assert store_path(None) == Path("elsewhere")
    assert store_path(Path("given")) == Path("given")


def test_an_interrupt_says_that_what_is_stored_stays(
    store: str, memnet: Memnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(options, "open_engine", interrupted)
    shown, err = memnet("info", "--store", store, code=130)
    assert shown == ""
    assert err.lstrip().startswith("Interrupted")


def test_a_reader_of_the_output_that_leaves_early_is_no_crash() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        command = [sys.executable, "-m", "memnet", "--help"]
        done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (1, "")
