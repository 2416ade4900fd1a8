"""The text index in PostgreSQL, compared with FTS5."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("asyncpg")

import asyncpg

from memnet.errors import StoreError
from memnet.storage import Scope
from memnet.storage.postgres.text import TEXT_SCHEMA, PostgresText
from memnet.storage.scope import EVERYWHERE
from memnet.storage.tables.checked import IN_LIST, Row, Values
from memnet.storage.tables.connection import Connection
from tests.postgres_server import Schema
from tests.waiting import PATIENCE

SLOTS = """
    CREATE TABLE source (id bigint PRIMARY KEY, namespace text, kind text, metadata jsonb);
    CREATE TABLE slot (
        id bigint PRIMARY KEY, source bigint NOT NULL, kind text, title text, text text
    );
    CREATE TABLE statement (slot bigint, speaker text);
    INSERT INTO source VALUES (1, 'main', 'document', '{"year": 1990}');
    INSERT INTO source VALUES (2, 'other', 'statement', '{"year": 2000}');
    INSERT INTO source VALUES (3, 'main', 'story', '{"year": 2000}');
"""
NOBODY = np.empty(0, np.int64)
TITLES = ["", "Harbour", "The Café"]
TEXTS = [
    "the boats were running to the harbour",
    "a well-known boat, a boat well known in the café of the harbour",
    "Well, known boats run. Cafes do not.",
    "",
    "—, …",
    "日本語のテキスト 日本語 and Straße",
    "known well-known well",
]
WORDS = [
    "boat", "boats", "running", "run", "café", "cafe", "Cafe\u0301", "the", "a", "well", "known",
    "well-known", "o'clock", "Straße", "κόσμος", "Κόσμος", "日本語", "мир", "ﬁne", "x" * 300, "É",
    "🙂", "…", "\u0301", "4.5", "relational", "relate",
]  # fmt: skip


class Database:
    """A connection as ``Connection`` describes it, as far as the text index needs one."""

    def __init__(self, schema: Schema) -> None:
        self._loop = asyncio.new_event_loop()
        path = {"search_path": schema.name}
        self.asyncpg: Any = self._wait(asyncpg.connect(schema.address, server_settings=path))
        self.text = PostgresText(cast(Connection, self))

    def close(self) -> None:
        self._wait(self.asyncpg.close())
        self._loop.close()

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        statement = statement.replace(IN_LIST, "= ANY (?)")
        first, *rest = statement.split("?")
        statement = first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))
        values = [one.items if isinstance(one, Values) else one for one in parameters]
        try:
            return [tuple(row) for row in self._wait(self.asyncpg.fetch(statement, *values))]
        except asyncpg.PostgresError as error:
            raise StoreError(str(error)) from error

    def one(self, statement: str, *parameters: Any) -> Row | None:
        rows = self.rows(statement, *parameters)
        return rows[0] if rows else None

    def only(self, statement: str, *parameters: Any) -> Row:
        return self.rows(statement, *parameters)[0]

    def execute(self, statement: str, *parameters: Any) -> None:
        self.rows(statement, *parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._wait(self.asyncpg.copy_records_to_table(table, columns=columns, records=rows))

    def script(self, statements: str) -> None:
        self._wait(self.asyncpg.execute(statements))

    @staticmethod
    def metadata(key: str, wanted: Any) -> tuple[str, list[Any]]:
        return "source.metadata @> ?::jsonb", [json.dumps({key: wanted})]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        yield

    @contextmanager
    def transaction(self, ending: str = "COMMIT", begin: str = "BEGIN") -> Iterator[None]:
        self.script(begin)
        try:
            yield
        except BaseException:
            self.script("ROLLBACK")
            raise
        self.script(ending)

    def put(self, slots: Sequence[tuple[int, str, str]], kind: str = "passage") -> None:
        """Add slots, of sources 1 to 3 in turn, and index them."""
        rows = [(slot, slot % 3 + 1, kind, title, text) for slot, title, text in slots]
        self.insert("slot", ("id", "source", "kind", "title", "text"), rows)
        if kind != "reverse":
            self.text.add(slots)

    def delete(self, slots: Sequence[int]) -> None:
        self.text.remove(slots)
        self.execute("DELETE FROM slot WHERE id = ANY(?)", list(slots))

    def totals(self) -> tuple[int, int, int]:
        """Rows of the totals, slots and tokens."""
        rows = self.rows("SELECT slots, tokens FROM text_total")
        return len(rows), sum(row[0] for row in rows), sum(row[1] for row in rows)

    def _wait(self, awaitable: Any) -> Any:
        return self._loop.run_until_complete(awaitable)


class Fts5:
    """The same slots in SQLite's full-text index."""

    def __init__(self, slots: Iterable[tuple[int, str, str]], deleted: Iterable[int] = ()) -> None:
        self._sqlite = sqlite3.connect(":memory:")
        self._sqlite.execute(
            "CREATE VIRTUAL TABLE slot_text USING fts5 "
            "(title, text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._sqlite.executemany(
            "INSERT INTO slot_text (rowid, title, text) VALUES (?, ?, ?)", slots
        )
        self._sqlite.executemany(
            "DELETE FROM slot_text WHERE rowid = ?", [(slot,) for slot in deleted]
        )

    def close(self) -> None:
        self._sqlite.close()

    def search(self, terms: Sequence[str], order: str = "rank, rowid") -> list[tuple[int, float]]:
        quoted = ['"{}"'.format(term.replace('"', '""')) for term in terms]
        return self._sqlite.execute(
            f"SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? ORDER BY {order}",
            [" OR ".join(quoted)],
        ).fetchall()


@pytest.fixture
def database(postgres_schema: Schema) -> Iterator[Database]:
    with closing(Database(postgres_schema)) as database:
        database.script(SLOTS + TEXT_SCHEMA)
        yield database


@pytest.fixture
def second(database: Database, postgres_schema: Schema) -> Iterator[Database]:
    with closing(Database(postgres_schema)) as second:
        yield second


def numbered(texts: Sequence[str]) -> list[tuple[int, str, str]]:
    return [(slot, TITLES[slot % 3], text) for slot, text in enumerate(texts, 1)]


def assert_same(
    found: Sequence[tuple[int, float]], expected: Sequence[tuple[int, float]], what: object = None
) -> None:
    assert [slot for slot, _ in found] == [slot for slot, _ in expected], what
    np.testing.assert_allclose(
        [score for _, score in found], [score for _, score in expected], rtol=1e-9, atol=0
    )


def postings(database: Database, term: str) -> list[tuple[int, float]]:
    found = database.text.postings(term, 1000)
    assert found is not None
    assert found[0].dtype == np.int64
    assert found[1].dtype == np.float64
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def assert_like_fts5(database: Database, fts5: Fts5, terms: Sequence[str]) -> None:
    for term in terms:
        assert_same(postings(database, term), fts5.search([term], "rowid"), term)
    expected = fts5.search(terms)
    assert_same(database.text.search(terms, 1000, EVERYWHERE, NOBODY), expected, terms)
    assert_same(database.text.search(terms, 2, EVERYWHERE, NOBODY), expected[:2], terms)


_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_pieces = st.one_of(st.sampled_from(WORDS), st.text(_characters, max_size=4))
_texts = st.builds(
    lambda pieces, between: between.join(pieces),
    st.lists(_pieces, max_size=12),
    st.sampled_from([" ", " ", "-", ", ", "\n", ""]),
)
_terms = st.one_of(_pieces, st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(" ".join))


@given(
    slots=st.lists(st.tuples(_texts, _texts), min_size=1, max_size=12),
    deleted=st.sets(st.integers(1, 12), max_size=6),
    terms=st.lists(_terms, min_size=1, max_size=5, unique=True),
)
def test_scores_and_ranks_are_those_of_fts5(
    database: Database, slots: list[tuple[str, str]], deleted: set[int], terms: list[str]
) -> None:
    rows = [(number, *pair) for number, pair in enumerate(slots, 1)]
    gone = [number for number in deleted if number <= len(rows)]
    with database.transaction("ROLLBACK"), closing(Fts5(rows, gone)) as fts5:
        database.put(rows[:5])
        database.put(rows[5:])
        database.delete(gone)
        assert_like_fts5(database, fts5, terms)
        assert database.text.agrees()


def test_phrases_with_repeated_words_are_counted_as_in_fts5(database: Database) -> None:
    slots = [(1, "a a a", "a a b a a a a"), (2, "a", "a"), (3, "b a", "a b"), (4, "", "a b a b")]
    database.put([*slots, *((slot, "", "c") for slot in range(5, 40))])
    with closing(Fts5([*slots, *((slot, "", "c") for slot in range(5, 40))])) as fts5:
        assert_like_fts5(database, fts5, ["a a", "a a a", "a b", "b-a", "a'b'a", "b a b", "a", "c"])
    assert [slot for slot, _ in postings(database, "a a")] == [1]


def test_words_may_be_longer_than_postgresql_indexes(database: Database) -> None:
    # FTS5 cuts words off at 32,768 bytes, here within a letter.
    words = ["q" * 199, "q" * 200, "q" * 201, "q" * 10_000, "я" * 20_000, "x" + "я" * 20_000]
    words += ["q" * 10_001, "q" * 9_999 + "z"]
    slots = [(slot, "", f"{word} {word} and more") for slot, word in enumerate(words, 1)]
    database.put(slots)
    with closing(Fts5(slots)) as fts5:
        assert_like_fts5(database, fts5, [*words, f"{words[3]} and"])
        assert [postings(database, word)[0][0] for word in words] == list(range(1, 9))


def test_many_slots_and_a_word_of_nearly_all(database: Database) -> None:
    slots = numbered([TEXTS[number % 7] + f" word{number % 50}" for number in range(1201)])
    database.put(slots)
    terms = ["the", "harbour", "word7", "well known", "nowhere", "boat"]
    with closing(Fts5(slots)) as fts5:
        expected = fts5.search(terms)
        for limit in (1, 10, 5000):
            found = database.text.search(terms, limit, EVERYWHERE, NOBODY)
            assert_same(found, expected[:limit])
        found_ids, _ = database.text.postings("well known", 10_000) or (None, None)
        assert found_ids is not None
        assert found_ids.tolist() == [slot for slot, _ in fts5.search(["well known"], "rowid")]


@pytest.mark.parametrize("term", ["boat", "well known"])
def test_more_postings_than_asked_for_are_none(database: Database, term: str) -> None:
    database.put(numbered(["boats, well known"] * 700 + ["nothing"]))
    assert database.text.postings(term, 699) is None
    found = database.text.postings(term, 700)
    assert found is not None
    assert found[0].tolist() == list(range(1, 701))


@pytest.mark.parametrize("term", ["", "…", "nowhere", "nowhere at all", "well nowhere"])
def test_terms_that_no_slot_has(database: Database, term: str) -> None:
    assert postings(database, term) == []
    database.put(numbered(TEXTS))
    assert postings(database, term) == []
    assert database.text.search([term], 5, EVERYWHERE, NOBODY) == []
    assert database.text.search([], 5, EVERYWHERE, NOBODY) == []


@pytest.mark.parametrize(
    ("scope", "sources"),
    [
        (Scope(namespace="main"), {1, 3}),
        (Scope(namespace="nowhere"), set()),
        (Scope(where={"year": 2000}), {2, 3}),
        (Scope(namespace="main", where={"year": 2000}), {3}),
        (Scope(kinds=frozenset({"document", "statement"})), {1, 2}),
        (Scope(kinds=frozenset({"story"}), learned=True), {2, 3}),
    ],
)
def test_a_scope_and_hidden_slots_leave_out_without_changing_scores(
    database: Database, scope: Scope, sources: set[int]
) -> None:
    slots = numbered(TEXTS * 9)
    database.put(slots)
    database.execute("INSERT INTO statement SELECT id, 'Ann' FROM slot WHERE source = 2")
    terms, hidden = ["boat", "known", "well known"], np.array([2, 3, 9, 50], np.int64)
    with closing(Fts5(slots)) as fts5:
        within = [one for one in fts5.search(terms) if one[0] % 3 + 1 in sources]
        seen = [one for one in within if one[0] not in hidden]
    assert_same(database.text.search(terms, 1000, scope, NOBODY), within)
    assert_same(database.text.search(terms, 1000, scope, hidden), seen)
    assert_same(database.text.search(terms, 3, scope, hidden), seen[:3])


def test_equal_texts_rank_by_rising_ids(database: Database) -> None:
    slots = numbered(["the boat", "other"] * 40)
    database.put(list(reversed(slots)))
    found = database.text.search(["boat", "the"], 25, EVERYWHERE, NOBODY)
    with closing(Fts5(slots)) as fts5:
        assert found == fts5.search(["boat", "the"])[:25]


def test_a_rebuilt_index_is_the_same(database: Database) -> None:
    slots = numbered(TEXTS * 90)
    database.put(slots)
    database.put([(1000, "", "the boat")], kind="reverse")
    before = database.rows("SELECT * FROM slot_text ORDER BY slot")
    database.script("DELETE FROM slot_text WHERE slot % 2 = 0; UPDATE text_total SET tokens = 7")
    database.script("UPDATE slot_text SET terms = '{boat}', counts = '{}' WHERE slot < 50")
    assert not database.text.agrees()
    with database.transaction():
        database.text.rebuild()
    assert database.text.agrees()
    assert database.rows("SELECT * FROM slot_text ORDER BY slot") == before
    with closing(Fts5(slots)) as fts5:
        assert_like_fts5(database, fts5, ["boat", "the", "well known"])


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM slot_text WHERE slot = 3",
        "DELETE FROM slot_text WHERE slot = 4",
        "INSERT INTO slot_text VALUES (99, 1, '{}', '{boat}')",
        "INSERT INTO slot_text VALUES (8, 2, '{}', '{harbour,boat}')",
        "UPDATE slot_text SET length = length + 1 WHERE slot = 2",
        "UPDATE slot_text SET counts = array_append(counts, 2) WHERE slot = 2",
        "UPDATE slot_text SET terms = array_append(terms, 'ferri') WHERE slot = 2",
        "UPDATE slot_text SET terms = array_remove(terms, 'harbour') WHERE slot = 2",
        "UPDATE slot SET text = 'another' WHERE id = 1",
        "UPDATE text_total SET slots = slots + 1",
        "UPDATE text_total SET tokens = tokens - 1",
        "DELETE FROM text_total",
        "DELETE FROM slot WHERE id = 7",
        "DROP TABLE text_total",
    ],
)
def test_each_damage_is_found(database: Database, damage: str) -> None:
    database.put(numbered(TEXTS))
    database.put([(8, "", "harbour boat")], kind="reverse")
    assert database.text.agrees()
    database.script(damage)
    assert not database.text.agrees()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE slot_text SET counts = '{0}'",
        "UPDATE text_total SET tokens = 0",
        "UPDATE slot_text SET length = -1000000",
        "DELETE FROM text_total",
    ],
)
def test_scores_of_a_damaged_index_are_refused(database: Database, damage: str) -> None:
    database.put([(1, "", "boat boat"), *((slot, "", "ferry") for slot in range(2, 9))])
    database.script(damage)
    with pytest.raises(StoreError, match=r"holds a text search that memnet did not write"):
        database.text.postings("boat", 10)


def test_writers_do_not_wait_and_totals_stay_right(
    database: Database, second: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.postgres.text._MAX_TOTALS", 1)
    second.script("SET lock_timeout = '1s'")
    database.put([(1, "", "one two"), (2, "", "three")])
    database.put([(3, "", "four")])
    with database.transaction(), second.transaction():
        database.put([(4, "", "five")])
        second.put([(5, "", "six seven eight")])
        database.delete([1])
        second.delete([2])
        assert second.totals()[1:] == (3, 6)
    assert database.totals()[1:] == (3, 5)
    with database.transaction("ROLLBACK"), second.transaction():
        database.delete([3])
        second.delete([4])
    assert database.totals()[1:] == (2, 4)
    assert database.text.agrees()


def test_totals_are_made_one_row_now_and_then(
    database: Database, second: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.postgres.text._MAX_TOTALS", 10)
    for slot in range(1, 96):
        database.put([(slot, "", "one two")])
    assert database.totals() == (5, 95, 190)
    # A transaction that sees an earlier commit only must not fail.
    with second.transaction(begin="BEGIN ISOLATION LEVEL REPEATABLE READ"):
        assert second.totals()[1:] == (95, 190)
        for slot in range(96, 150):
            database.put([(slot, "", "one two")])
        assert second.totals()[1:] == (95, 190)
        for slot in range(150, 170):
            second.put([(slot, "", "one two")])
    assert database.totals()[1:] == (169, 338)
    assert database.text.agrees()


def test_changes_from_two_threads(
    database: Database, second: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.postgres.text._MAX_TOTALS", 3)
    errors = list[BaseException]()

    def change(own: Database, first: int) -> None:
        try:
            for slot in range(first, first + 240, 2):
                with own.transaction("ROLLBACK" if slot % 7 == 0 else "COMMIT"):
                    own.put([(slot, "", TEXTS[slot % 7]), (slot + 1000, "", "boat")])
                    own.text.remove([slot + 1000, 5])
                    own.execute("DELETE FROM slot WHERE id > 1000 AND id % 2 = ?", first % 2)
        except BaseException as error:
            errors.append(error)

    database.put([(5, "", "the first of all")])
    database.execute("UPDATE slot SET kind = 'reverse' WHERE id = 5")
    threads = [
        threading.Thread(target=change, args=(own, first), daemon=True)
        for own, first in ((database, 10), (second, 11))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)
    assert database.totals()[1] == database.only("SELECT count(*) FROM slot_text")[0]
    assert database.text.agrees()


def test_a_rebuild_waits_for_a_writer_and_is_whole(database: Database, second: Database) -> None:
    database.put(numbered(TEXTS))
    second.script("BEGIN")
    second.put([(20, "", "a late boat")])
    database.script("BEGIN; SET LOCAL lock_timeout = '100ms'")
    with pytest.raises(StoreError, match="lock timeout"):
        database.text.rebuild()
    database.script("ROLLBACK")
    rebuilding = threading.Thread(target=_rebuild, args=(database,), daemon=True)
    rebuilding.start()
    second.delete([2])
    second.script("COMMIT")
    rebuilding.join(PATIENCE)
    assert not rebuilding.is_alive()
    assert second.text.agrees()
    assert [slot for slot, _ in postings(second, "late")] == [20]


def _rebuild(database: Database) -> None:
    with database.transaction():
        database.text.rebuild()
