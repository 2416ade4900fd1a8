"""Copies of stores, from folders and PostgreSQL to both, whole and after interruptions."""

import io
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memnet import Config, Document, Engine, Fact, MemoryStore, Message
from memnet.cli.main import run
from memnet.config import MessageConfig
from memnet.errors import InputError, StoreBusyError, StoreError
from memnet.protocols import Judgement, Label, Told
from memnet.storage import CopyReport, PassageVectors, copy_store
from memnet.storage.models import ModelFolders
from memnet.storage.overview import overview
from memnet.storage.place import StorePlace, files_folder
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.tables import digests
from memnet.storage.tables.digests import TABLES
from tests.postgres_server import Server, new_schema
from tests.quick import NAMES, QuickEncoder, birds
from tests.toy import passage, source
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
_QUESTIONS = ("Where does Ann live?", "Who built the Orre Light?", "Where does the heron nest?")
_MODEL = "models/text/model.json"


class OfTheFirst:
    """Says that each statement takes the place of the first one, in a part if it says "partly"."""

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        labels = np.zeros((len(earlier), len(Label)), np.float32)
        labels[:, Label.NONE] = 1
        labels[:1, Label.NONE], labels[:1, Label.SUPERSEDE] = 0, 1
        return Judgement(labels, np.full(len(earlier), "partly" in new.text))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def address(postgres: Server) -> Iterator[Callable[[], str]]:
    """Addresses of stores that do not exist yet, each of another."""
    postgres.execute("CREATE EXTENSION IF NOT EXISTS vector")
    made: list[Any] = []

    def new() -> str:
        context = new_schema(postgres)
        schema = context.__enter__()
        made.append(context)
        return f"{schema.address}&schema={schema.name}"

    yield new
    for context in made:
        context.__exit__(None, None, None)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table takes several pages."""
    monkeypatch.setattr(digests, "_WIDE_PAGE", 3)
    monkeypatch.setattr(digests, "_NARROW_PAGE", 7)


@contextmanager
def _opened(place: StorePlace, *, create: bool = False) -> Iterator[Engine]:
    encoder = QuickEncoder()
    store = MemoryStore(
        place, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=create
    )
    config = Config(messages=MessageConfig(capacity=4))
    with Engine(
        store, encoder, config, answerer="untrained", reader="sentences", judge=OfTheFirst()
    ) as engine:
        yield engine


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store with rows in every table, and with an upload and a model."""
    folder = tmp_path / "store"
    with _opened(folder, create=True) as engine:
        engine.ingest(
            Document(id="light", text="The Orre Light stands in Saltmere. Tobias Wrennick built "
                     "it.", metadata={"year": 1847, "keepers": ["Ann", "Bo"]}),
            [Fact(subject="Orre Light", relation="built by", object="Tobias Wrennick")],
        )  # fmt: skip
        engine.ingest(Document(id="gone", text="Nobody knows the Grey Mill."))
        _upload(engine, "notes.txt", b"Carla Moor painted Tarn Hall.")
        for number in range(6):
            said = Message(
                id=f"m{number}", session="s", speaker="Bo", time=f"2026-01-0{number + 1}",
                text=f"I live in Porto now, for the time number {number}.",
            )  # fmt: skip
            engine.remember([said])
        for day, text in enumerate(
            ("Ann lives in Paris.", "Ann partly lives in Rome.", "Ann lives in Oslo."), start=1
        ):
            engine.tell(text, at=f"2026-02-0{day}")
        engine.tell("Eve owns a boat.", at="2026-02-05", namespace="other", standing=True)
        engine.tell("Ann lives in Riga.", at="2026-02-06")
        engine.undo()
        engine.forget("gone")
        _put_quickly(engine, birds(8))
        engine.store.models.add_file(_MODEL, b"{}")
        counts = {name: found.rows for name, found in engine.store.digests().items()}
    assert all(counts.values()), counts
    return folder


def _put_quickly(engine: Engine, documents: Sequence[Document]) -> None:
    encoder = QuickEncoder()
    engine.store.put(
        [source(one.id, passage(one.text, one.title)) for one in documents],
        encoder.encode,
        files={"/home/ann/birds.jsonl": b"digest"},
        encode_passages=lambda texts: PassageVectors(encoder.encode_quick(texts), quick=True),
    )


def _upload(engine: Engine, name: str, content: bytes) -> Path:
    with engine.store.uploads.replacing(name, io.BytesIO(content), "") as path:
        engine.ingest(path)
    return path


def _answers(engine: Engine) -> list[Any]:
    """What is answered, found, told and listed, but for times and paths of uploads."""
    prefix = engine.store.uploads.prefix
    found: list[Any] = [engine.history()]
    found += [[(one.source, one.kind) for one in engine.evictions()]]
    for question in _QUESTIONS:
        answer = engine.ask(question)
        found.append((answer.answer, [(one.id, one.text, one.source) for one in answer.evidence]))
    found += [engine.store.search_lexical(["heron", "light", "lives"], 9).ids.tolist()]
    found += [[one.model_dump_json().replace(prefix, "") for one in engine.sources()]]
    return found


def _go_on(engine: Engine) -> list[Any]:
    """Changes whose results depend on all that came before."""
    done: list[Any] = [engine.undo(), engine.undo()]
    done += [engine.tell("Ann lives in Bergen.", at="2026-03-01")]
    done += [engine.undo(namespace="other")]
    engine.ingest(Document(id="mill", text="Dan Reed rebuilt the Grey Mill in Saltmere."))
    engine.encode_full()
    engine.forget("kestrel")
    done += [engine.remember([Message(id="m9", session="s", speaker="Bo", text="Good night.")])]
    drop = {"elapsed_ms", "seconds"}
    return [one.model_dump(exclude=drop) for one in done] + _answers(engine)


def _check_equal(first: StorePlace, second: StorePlace) -> None:
    """That two stores hold the same, answer alike, and go on alike."""
    with _opened(first) as one, _opened(second) as two:
        assert one.store.digests() == two.store.digests()
        assert two.verify().problems == ()
        assert _answers(one) == _answers(two)
        assert _go_on(one) == _go_on(two)
        assert two.verify().problems == two.verify().notes == ()


def test_a_round_trip_keeps_all(
    filled: Path, tmp_path: Path, address: Callable[[], str], small_pages: None
) -> None:
    there, back, beside = address(), tmp_path / "back", address()
    reports = [
        copy_store(filled, there), copy_store(there, back),
        copy_store(there, beside), copy_store(back, tmp_path / "again"),
    ]  # fmt: skip
    with _opened(filled) as engine:
        expected = engine.store.digests()
    assert [report.digests for report in reports] == [expected] * 4
    assert not any(report.resumed for report in reports)
    for place in (there, back):
        folder = files_folder(place)
        assert ModelFolders(folder).files() == {_MODEL: b"{}"}
        assert (folder / "uploads/default/notes.txt").read_bytes().startswith(b"Carla")
    # Each is changed by the comparison, and alike.
    _check_equal(back, there)
    _check_equal(filled, beside)


def test_every_table_and_column_is_copied(filled: Path) -> None:
    with closing(sqlite3.connect(filled / "memory.sqlite3")) as database:
        rows = database.execute(
            "SELECT schema.name, info.name FROM sqlite_master AS schema "
            "JOIN pragma_table_info(schema.name) AS info WHERE schema.type = 'table'"
        ).fetchall()
    stored = {
        (table, column)
        for table, column in rows
        if not table.startswith(("slot_text", "sqlite_")) and table not in ("revision", "gone")
    }
    assert stored == {(table.name, column) for table in TABLES for column in table.columns}


def test_an_upload_goes_with_its_source(filled: Path, address: Callable[[], str]) -> None:
    there = address()
    copy_store(filled, there)
    kept, copied = (files_folder(one) / "uploads/default/notes.txt" for one in (filled, there))
    with _opened(there) as engine:
        engine.forget(str(copied))
    assert kept.exists()
    assert not copied.exists()


def test_ids_continue_after_those_that_are_gone(filled: Path, address: Callable[[], str]) -> None:
    with _opened(filled) as engine:
        last = [engine.tell("Zoe sings.").decisions[0].slot for _ in (1, 2)][-1]
        engine.undo()
        engine.undo()
    there = address()
    copy_store(filled, there)
    for place in (filled, there):
        with _opened(place) as engine:
            assert engine.tell("Zoe dances.").decisions[0].slot == (last or 0) + 1


def test_a_copy_is_of_one_commit(filled: Path, address: Callable[[], str]) -> None:
    before = _digests(filled)
    there = address()
    with _opened(filled) as engine:
        left = [Document(id=f"new {number}", text=f"Number {number}.") for number in range(3)]

        def write(_done: int, _all: int) -> None:
            if left:
                engine.ingest(left.pop())
                engine.forget(NAMES[len(left)])

        report = copy_store(filled, there, on_progress=write)
    assert left == []
    assert report.digests == before != _digests(filled)
    assert _digests(there) == before


def _digests(place: StorePlace) -> dict[str, Any]:
    with _opened(place) as engine:
        return engine.store.digests()


class InterruptedCopyError(Exception):
    pass


def _interrupt(source: StorePlace, target: StorePlace, call: int) -> None:
    """Copy until the n-th report of progress."""
    calls = iter(range(1, call + 1))

    def stop(_done: int, _all: int) -> None:
        if next(calls) == call:
            raise InterruptedCopyError

    with pytest.raises(InterruptedCopyError):
        copy_store(source, target, on_progress=stop)


@pytest.fixture
def inserted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of tables that are compared were inserted by each call."""
    counts: list[int] = []
    names = {table.name for table in TABLES}
    for kind in (SqliteConnection, PostgresConnection):
        original: Any = kind.insert

        def insert(
            self: Any, table: str, columns: Any, rows: Any, original: Any = original, **more: Any
        ) -> None:
            rows = list(rows)
            if table in names:
                counts.append(len(rows))
            original(self, table, columns, rows, **more)

        monkeypatch.setattr(kind, "insert", insert)
    return counts


@pytest.mark.parametrize("to_server", [True, False])
@pytest.mark.parametrize("call", [1, 9, 30])
def test_an_interrupted_copy_goes_on(
    filled: Path, tmp_path: Path, address: Callable[[], str], small_pages: None,
    inserted: list[int], to_server: bool, call: int,
) -> None:  # fmt: skip
    start, end = (filled, address()) if to_server else (address(), tmp_path / "end")
    if not to_server:
        copy_store(filled, start)
        inserted.clear()
    _interrupt(start, end, call)
    assert len(inserted) == call
    with pytest.raises(StoreError, match="is an unfinished copy; run the same"), _opened(end):
        pass
    with pytest.raises(StoreError, match="is an unfinished copy; run the same"):
        overview(end)
    with pytest.raises(StoreError, match="is an unfinished copy; run the same"):
        copy_store(end, tmp_path / "of the copy")
    notes: list[str] = []
    report = copy_store(start, end, on_note=notes.append)
    assert report.resumed
    assert notes == []
    assert sum(inserted) == sum(found.rows for found in report.digests.values())
    _check_equal(start, end)


@pytest.mark.parametrize("to_server", [True, False])
def test_what_changed_since_is_copied_anew(
    filled: Path, tmp_path: Path, address: Callable[[], str], small_pages: None,
    inserted: list[int], to_server: bool,
) -> None:  # fmt: skip
    end: StorePlace = address() if to_server else tmp_path / "end"
    _interrupt(filled, end, 60)
    with _opened(filled) as engine:
        engine.forget("heron")
        engine.ingest(Document(id="mill", text="Dan Reed rebuilt the Grey Mill."))
    inserted.clear()
    notes: list[str] = []
    report = copy_store(filled, end, on_note=notes.append)
    assert notes == [
        f"{filled} has changed since the copy began: its tables from 'source' on are copied anew"
    ]
    assert sum(inserted) == sum(
        found.rows for name, found in report.digests.items() if name != "property"
    )
    _check_equal(filled, end)


def test_what_was_only_added_since_is_copied_with_the_rest(
    filled: Path, address: Callable[[], str], small_pages: None
) -> None:
    end = address()
    _interrupt(filled, end, 5)
    with _opened(filled) as engine:
        engine.ingest(Document(id="mill", text="Dan Reed rebuilt the Grey Mill."))
    notes: list[str] = []
    report = copy_store(filled, end, on_note=notes.append)
    assert notes == []
    assert report.digests == _digests(filled) == _digests(end)


_KILLED = """
import os, signal, sys, threading
from memnet.storage.tables import digests
digests._WIDE_PAGE, digests._NARROW_PAGE = 3, 7
from memnet.storage import copy_store
started = []
def begin(done, rows):
    if not started:
        seconds = float(sys.argv[3])
        started.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)))
        started[0].start()
    if done > rows // 2:  # all is copied: this machine is too fast for the time
        os.kill(os.getpid(), signal.SIGKILL)
copy_store(sys.argv[1], sys.argv[2], on_progress=begin)
"""


def _kill(start: StorePlace, end: StorePlace, seconds: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(start), str(end), str(seconds)],
        cwd=ROOT, timeout=PATIENCE, check=False, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("to_server", [True, False])
def test_a_killed_copy_goes_on(
    filled: Path, tmp_path: Path, address: Callable[[], str], to_server: bool
) -> None:
    start, end = (filled, address()) if to_server else (address(), tmp_path / "end")
    if not to_server:
        copy_store(filled, start)
    chance = random.Random(to_server)
    for _ in range(3):
        _kill(start, end, 0.04 * chance.random())
        with pytest.raises(StoreError, match="is an unfinished copy"):
            overview(end)
    assert copy_store(start, end).resumed
    _check_equal(start, end)


def test_wrong_places(filled: Path, tmp_path: Path, address: Callable[[], str]) -> None:
    there = address()
    with pytest.raises(StoreError, match=r"there is no memnet store at .*none; nothing is copied"):
        copy_store(tmp_path / "none", there)
    with pytest.raises(StoreError, match="there is no memnet store"):
        copy_store(address(), tmp_path / "new")
    with pytest.raises(InputError, match="can't be copied to itself"):
        copy_store(filled, tmp_path / "new" / ".." / "store")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file.txt").touch()
    with pytest.raises(StoreError, match="holds other files and no memnet store"):
        copy_store(filled, tmp_path / "other")
    assert not (tmp_path / "new").exists()
    copy_store(filled, there)
    before = _digests(there)
    with pytest.raises(StoreError, match="holds a store already; choose a new folder"):
        copy_store(filled, there)
    with pytest.raises(StoreError, match="holds a store already; choose a new folder"):
        copy_store(there, filled)
    assert _digests(there) == _digests(filled) == before


def test_an_empty_store_is_filled_if_it_has_the_same_encoder(
    filled: Path, tmp_path: Path, address: Callable[[], str]
) -> None:
    for place in (tmp_path / "empty", address()):
        with closing(MemoryStore(place, fingerprint="other/8", dimension=8, create=True)):
            pass
        with pytest.raises(StoreError, match=r"is an empty store of encoder other/8, and .* has"):
            copy_store(filled, place)
    for place in (tmp_path / "same", address()):
        with _opened(place, create=True):
            pass
        assert copy_store(filled, place).digests == _digests(place)


def test_an_unfinished_copy_of_another_store_stays(
    filled: Path, tmp_path: Path, address: Callable[[], str]
) -> None:
    there = address()
    with _opened(tmp_path / "other", create=True) as engine:
        engine.ingest(Document(id="mill", text="Dan Reed rebuilt the Grey Mill."))
    _interrupt(filled, there, 4)
    with pytest.raises(StoreError, match=r"is an unfinished copy of .*/store, not of .*/other"):
        copy_store(tmp_path / "other", there)
    # The same store in another place is no other.
    filled.rename(tmp_path / "moved")
    assert copy_store(tmp_path / "moved", there).resumed


def test_a_second_copy_to_the_same_place_waits_for_none(
    filled: Path, tmp_path: Path, address: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.copies._LOCK_SECONDS", 0.05)
    for end in (tmp_path / "end", address()):
        refused: list[CopyReport] = []

        def again(
            _done: int, _all: int, end: StorePlace = end, refused: list[CopyReport] = refused
        ) -> None:
            refused.append(copy_store(filled, end))

        with pytest.raises(StoreBusyError, match="is writing to"):
            copy_store(filled, end, on_progress=again)
        assert refused == []


def test_texts_that_postgres_does_not_hold_name_their_source(
    filled: Path, tmp_path: Path, address: Callable[[], str]
) -> None:
    there = address()
    with _opened(filled) as engine:
        engine.store.put([source("odd", passage("a\0b"))], QuickEncoder().encode)
    with pytest.raises(StoreError, match=r"the source 'odd' of .*store has the character U\+0000"):
        copy_store(filled, there)
    assert overview(there) is None
    copy_store(filled, tmp_path / "end")
    with _opened(filled) as engine:
        engine.forget("odd")
    assert copy_store(filled, there).digests == _digests(filled)


def test_an_earlier_schema_and_damaged_rows_are_not_copied(filled: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(filled / "memory.sqlite3")) as database:
        database.execute("UPDATE slot SET start = 'x' WHERE id = 1")
        database.commit()
    with pytest.raises(StoreError, match="holds a row of slot that memnet did not write"):
        copy_store(filled, tmp_path / "end")
    with closing(sqlite3.connect(filled / "memory.sqlite3")) as database:
        database.execute("PRAGMA user_version = 8")
    with pytest.raises(StoreError, match=r"has schema 8, and only schema 10 is copied"):
        copy_store(filled, tmp_path / "other")


def test_rows_that_something_else_writes_are_noticed(
    filled: Path, address: Callable[[], str], postgres: Server
) -> None:
    there = address()
    schema = there.rpartition("=")[2]

    def spoil(done: int, rows: int) -> None:
        if done == rows // 2:
            postgres.execute(f"UPDATE {schema}.symbol SET name = 'x' WHERE id = 1")

    with pytest.raises(StoreError, match="does not hold what was copied to it: symbol differs"):
        copy_store(filled, there, on_progress=spoil)
    with pytest.raises(StoreError, match="is an unfinished copy"):
        overview(there)


def test_verify_finds_and_deletes_what_nothing_uses(
    filled: Path, address: Callable[[], str], postgres: Server
) -> None:
    there = address()
    copy_store(filled, there)
    schema = there.rpartition("=")[2]
    before = _digests(there)
    unused = (
        "INSERT INTO {}symbol (id, name) VALUES (900001, 'left'), (900002, 'behind')",
        "INSERT INTO {}vector (id, digest, data) SELECT 900001, data, data FROM {}vector "
        " WHERE id = 1",
    )
    postgres.execute(*(one.format(*[f"{schema}."] * 2) for one in unused))
    with closing(sqlite3.connect(filled / "memory.sqlite3")) as database:
        for one in unused:
            database.execute(one.format("", ""))
        database.commit()
    for place in (filled, there):
        with _opened(place) as engine:
            report = engine.verify()
            assert report.problems == ()
            assert [note.partition(" are ")[0] for note in report.notes] == [
                "database: 2 symbols", "database: 1 vectors",
            ]  # fmt: skip
            assert not report.repaired
            assert engine.verify(repair=True).repaired
            assert engine.verify().notes == ()
            assert engine.store.digests() == before


def test_verify_repairs_words_on_a_server(
    filled: Path, address: Callable[[], str], postgres: Server
) -> None:
    there = address()
    copy_store(filled, there)
    schema = there.rpartition("=")[2]
    with _opened(there) as engine:
        before = _answers(engine)
        for damage in (f"DELETE FROM {schema}.slot_text WHERE slot = 1",
                       f"UPDATE {schema}.text_total SET tokens = 7"):  # fmt: skip
            postgres.execute(damage)
            assert engine.verify().problems == ("text search: does not agree with the slots",)
            assert engine.verify(repair=True).repaired
            assert engine.verify().problems == ()
        assert _answers(engine) == before


def test_the_command_prints_digests_that_verify_prints_too(
    filled: Path, tmp_path: Path, address: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    there = address()
    assert run(["copy", str(filled), there]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(TABLES) + 2
    assert printed[-1].startswith(f"Copy of {filled} at postgresql://")
    assert printed[-2].startswith("all ")
    assert run(["copy", there, str(tmp_path / "back")]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == printed[:-1]
    assert run(["copy", there, str(tmp_path / "back")]) == 1
    assert capsys.readouterr().err.startswith(f"Error: {tmp_path / 'back'} holds a store already")
