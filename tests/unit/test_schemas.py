"""Stores that each released schema left, as its own code made them, open in this version.

``fixtures/schema-N.sql`` is a dump of a store in which documents and facts were put, one document
was deleted and one replaced, and, from schema 2 on, two statements were told and one of them ended.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import Config, Engine
from memnet.errors import InputError, StoreError
from memnet.statements.memory import parse_old
from memnet.storage import MemoryStore, Scope
from memnet.storage.sqlite import connection as connection_module
from memnet.storage.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from memnet.text.english import query_terms
from tests import killed

_FIXTURES = Path(__file__).parents[1] / "fixtures"


def _make(folder: Path, schema: int) -> Path:
    folder.mkdir()
    with closing(sqlite3.connect(folder / "memory.sqlite3")) as database:
        database.executescript((_FIXTURES / f"schema-{schema}.sql").read_text())
    return folder


@pytest.fixture(params=[1, 2, 3])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, MemoryStore]]:
    path = _make(tmp_path / "store", request.param)
    with closing(killed.open_store(path, create=False)) as store:
        yield request.param, store


def test_it_holds_what_it_held(old: tuple[int, MemoryStore]) -> None:
    schema, store = old
    assert store.schema_version == SCHEMA_VERSION
    assert store.verify() == []
    slots = store.fetch(range(100))
    assert [(slot.id, slot.source, slot.text) for slot in slots] == [
        (1, "light.md", "The Orre Light stands on Orre Head."),
        (4, "facts.tsv", "Tobias Wrennick\tborn in\tKestle"),
        (5, "facts.tsv", "Tobias Wrennick\tborn in\tKestle"),
        (6, "facts.tsv", "Kestle\tlies on\tInnis Marrack"),
        (7, "facts.tsv", "Kestle\tlies on\tInnis Marrack"),
        (8, "other.md", "A ferry calls at Kestle."),
        (9, "light.md", "Tobias Wrennick finished it in 1841."),
        (10, "told/1", "Ann lives in Paris."),
        (11, "told/2", "Ann lives in Rome."),
    ][: 7 if schema == 1 else 9]
    assert (slots[-1].valid_from, slots[-1].valid_until) == (
        (None, None) if schema == 1 else (2000.0, None)
    )
    assert store.sources.states(["light.md", "old.md"]) == {"light.md": (b"5", "/notes/light.md")}
    assert store.symbols([9]) == {9: (["orre light"], ["tobias wrennick"])}
    assert (
        store.keys([9]).vectors.tolist() == killed.encode(["Orre Light\n" + slots[6].text]).tolist()
    )


def test_all_of_it_is_found(old: tuple[int, MemoryStore]) -> None:
    schema, store = old
    valid = {1, 8, 9} if schema == 1 else {1, 8, 9, 11}
    hits = store.search_dense(killed.encode(["Ann lives in Rome."])[0], 9)
    assert set(hits.ids[hits.mask].tolist()) == valid
    words = store.search_lexical(query_terms("lives finished lies old forgotten"), 9)
    assert set(words.ids[words.mask].tolist()) == ({6, 9} if schema == 1 else {6, 9, 11})
    assert store.search_symbolic(["kestle"], 9) == {"kestle": [5, 6]}
    assert store.search_symbolic(["kestle"], 9, Scope("other")) == {}
    assert store.search_mentions(["tobias wrennick"], 9) == {"tobias wrennick": [9]}
    linked = store.facts.subjects(["tobias wrennick"])
    ((_, relation, count),) = store.facts.outgoing(linked.values()).tolist()
    followed = store.facts.follow([(linked["tobias wrennick"], relation)])
    assert count == 1
    assert list(store.symbol_names(followed[:, 1].tolist()).values()) == ["kestle"]


def test_it_is_written_as_ever(old: tuple[int, MemoryStore]) -> None:
    schema, store = old
    counts = store.counts()
    assert counts.documents == 2
    assert counts.superseded == (schema > 1)
    assert store.delete(["light.md"]) == 2
    store.put([killed.document("document 1", 1)], killed.encode)
    store.append(killed.statement("ben rows", "ben"), killed.encode)
    assert min(slot.id for slot in store.fetch(range(100)) if slot.source == "ben rows") > 10
    store.statements.end([slot.id for slot in store.statements.about("ben")], 5.0)
    assert store.statements.about("ben")[0].valid_until == 5.0
    assert store.verify() == []


class _Encoder:
    fingerprint = "killed/16"
    dimension = killed.DIMENSION

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return killed.encode(texts)


def test_old_statements_are_taken_apart_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _make(tmp_path / "store", 3)
    for _ in range(2):
        store = killed.open_store(path, create=False)
        with Engine(store, _Encoder(), Config(), "untrained", "sentences") as engine:
            assert [
                (one.subject, one.relation, one.values, one.told, one.change)
                for one in engine.history("Ann")
            ] == [
                ("Ann", "lives in", ("Paris",), 1000.0, None),
                ("Ann", "lives in", ("Rome",), 2000.0, None),
            ]
            passages = store.last_passages(9, Scope(as_of=1500.0, kinds=frozenset(("statement",))))
            assert [slot.text for slot in passages] == ["Ann lives in Paris."]
            words = store.search_lexical(query_terms("Paris"), 9, Scope(past=True))
            assert words.mask.sum() == 1
            assert store.verify() == []
            with pytest.raises(InputError, match="nothing was told"):
                engine.undo()
    with closing(killed.open_store(path, create=False)) as store:
        monkeypatch.setattr(store.statements, "told", lambda _: pytest.fail("parsed again"))
        parse_old(store)


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _make(tmp_path / "store", schema)
    broken = {**MIGRATIONS, 4: f"{MIGRATIONS[4]} SELECT nothing FROM nowhere;"}
    with monkeypatch.context() as patch:
        patch.setattr(connection_module, "MIGRATIONS", broken)
        with pytest.raises(StoreError, match=r"could not be written .*nothing of this step"):
            killed.open_store(path, create=False)
    with closing(sqlite3.connect(path / "memory.sqlite3")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (3,)
        assert not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'gone'").fetchall()
    with closing(killed.open_store(path, create=False)) as store:
        assert store.verify() == []


def test_a_handle_that_was_open_before_a_migration_goes_on(tmp_path: Path) -> None:
    """Two versions of memnet on one store: the older one was there first."""
    path = _make(tmp_path / "store", 3)
    before = sqlite3.connect(path / "memory.sqlite3", isolation_level=None)
    assert before.execute("SELECT count(*) FROM slot").fetchone() == (9,)
    with closing(killed.open_store(path, create=False)) as store:
        assert store.search_dense(killed.encode(["ferry"])[0], 9).mask.sum() == 4
        before.executescript(
            """BEGIN IMMEDIATE; DELETE FROM slot_key WHERE slot = 8;
            DELETE FROM mention WHERE slot = 8; DELETE FROM slot WHERE id = 8;
            UPDATE property SET value = value + 1 WHERE name = 'generation'; COMMIT"""
        )
        assert store.search_dense(killed.encode(["ferry"])[0], 9).mask.sum() == 3
        assert store.verify() == []
    before.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = _make(tmp_path / "store", 3)
    with closing(sqlite3.connect(path / "memory.sqlite3")) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = (path / "memory.sqlite3").read_bytes()
    message = f"has schema {SCHEMA_VERSION + 1}, .*up to {SCHEMA_VERSION}; upgrade memnet to open"
    with pytest.raises(StoreError, match=message):
        killed.open_store(path, create=False)
    assert (path / "memory.sqlite3").read_bytes() == before
