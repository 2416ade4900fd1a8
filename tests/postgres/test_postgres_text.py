"""The text index in PostgreSQL, compared with FTS5."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg")

from memnet.errors import StoreError
from memnet.storage import Scope
from memnet.storage.lexical import TOKENIZER, is_beginning, spaced
from memnet.storage.place import Address
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.values import EVERYWHERE, VectorData
from tests.postgres_server import Schema

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
Slot = tuple[int, str, str]


class UndoError(Exception):
    """Ends a transaction without a commit."""


class Database:
    """Slots of three sources, whose other columns say nothing."""

    def __init__(self, schema: Schema) -> None:
        address = Address.parse(f"{schema.address}&schema={schema.name}")
        self.connection = PostgresConnection(address)
        self.text = self.connection.text
        self.connection.migrate()
        with self.connection.transaction():
            self.connection.set_property("dimension", "2")
            self.connection.insert("vector", ("id", "digest", "data"), [(1, b"", VectorData(4))])
            self.connection.insert(
                "source",
                ("id", "namespace", "name", "kind", "origin", "title", "metadata", "digest"),
                [
                    (1, "main", "1", "document", "", "", '{"year": 1990}', b""),
                    (2, "other", "2", "statement", "", "", '{"year": 2000}', b""),
                    (3, "main", "3", "story", "", "", '{"year": 2000}', b""),
                ],
            )

    def put(self, slots: Sequence[Slot], kind: str = "passage") -> None:
        """Add slots, of sources 1 to 3 in turn, and index them."""
        with self.connection.transaction():
            self.connection.insert(
                "slot",
                ("id", "source", "kind", "title", "text", "start", "end", "relation", "value",
                 "vector", "digest"),
                [(slot, slot % 3 + 1, kind, title, text, 0, 0, "", "", 1, str(slot).encode())
                 for slot, title, text in slots],
            )  # fmt: skip
            if kind != "reverse":
                self.text.add(slots)

    def delete(self, slots: Sequence[int]) -> None:
        with self.connection.transaction():
            self.text.remove(slots)
            self.connection.execute("DELETE FROM slot WHERE id = ANY(?)", list(slots))


class Fts5:
    """The same slots in SQLite's full-text index."""

    def __init__(self, slots: Iterable[Slot], deleted: Iterable[int] = ()) -> None:
        self._sqlite = sqlite3.connect(":memory:")
        self._sqlite.execute(
            f"CREATE VIRTUAL TABLE slot_text USING fts5 (title, text, tokenize={TOKENIZER})"
        )
        self._sqlite.executemany(
            "INSERT INTO slot_text (rowid, title, text) VALUES (?, ?, ?)",
            [(slot, spaced(title), spaced(text)) for slot, title, text in slots],
        )
        self._sqlite.executemany(
            "DELETE FROM slot_text WHERE rowid = ?", [(slot,) for slot in deleted]
        )

    def close(self) -> None:
        self._sqlite.close()

    def search(self, terms: Sequence[str], order: str = "rank, rowid") -> list[tuple[int, float]]:
        quoted = [
            '"{}"{}'.format(term.replace('"', '""'), "*" if is_beginning(term) else "")
            for term in terms
        ]
        return self._sqlite.execute(
            f"SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? ORDER BY {order}",
            [" OR ".join(quoted)],
        ).fetchall()


@pytest.fixture
def database(postgres_schema: Schema) -> Iterator[Database]:
    database = Database(postgres_schema)
    with closing(database.connection):
        yield database


def numbered(texts: Sequence[str]) -> list[Slot]:
    return [(slot, TITLES[slot % 3], text) for slot, text in enumerate(texts, 1)]


def assert_same(found: Sequence[tuple[int, float]], expected: Sequence[tuple[int, float]]) -> None:
    """The same scores; of slots whose scores differ in the last bits the order may differ."""
    assert {slot for slot, _ in found} == {slot for slot, _ in expected}
    scores = dict(expected)
    np.testing.assert_allclose([score for _, score in found], [scores[slot] for slot, _ in found],
                               rtol=1e-9, atol=0)  # fmt: skip
    given = [score for _, score in found]
    assert given == sorted(given, reverse=True)


def postings(database: Database, term: str) -> list[tuple[int, float]]:
    found = database.text.postings(term, 1000)
    assert found is not None
    assert found[0].dtype == np.int64
    assert found[0].tolist() == sorted(found[0].tolist())
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def assert_like_fts5(database: Database, fts5: Fts5, terms: Sequence[str]) -> None:
    for term in terms:
        np.testing.assert_allclose(
            postings(database, term), np.reshape(fts5.search([term], "rowid"), (-1, 2)), rtol=1e-9
        ) if fts5.search([term]) else postings(database, term) == []
    assert_same(database.text.search(terms, 1000, EVERYWHERE, NOBODY), fts5.search(terms))


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
    with suppress(UndoError), database.connection.transaction(), closing(Fts5(rows, gone)) as fts5:
        database.put(rows[:5])
        database.put(rows[5:])
        database.delete(gone)
        assert_like_fts5(database, fts5, terms)
        assert database.text.agrees()
        raise UndoError


def test_phrases_are_counted_as_in_fts5(database: Database) -> None:
    slots = [(1, "a a a", "a a b a a a a"), (2, "a", "a"), (3, "b a", "a b"), (4, "", "a b a b"),
             *((slot, "", "c") for slot in range(5, 40))]  # fmt: skip
    database.put(slots)
    with closing(Fts5(slots)) as fts5:
        assert_like_fts5(database, fts5, ["a a", "a a a", "a b", "b-a", "a'b'a", "b a b", "a", "c"])
    assert [slot for slot, _ in postings(database, "a a")] == [1]


def test_long_words_and_long_texts_are_found(database: Database) -> None:
    words = ["q" * 200, "q" * 10_000, "я" * 20_000, "x" + "я" * 20_000]  # FTS5 cuts within a letter
    slots = [(slot, "", f"{word} {word} and more") for slot, word in enumerate(words, 1)]
    database.put([*slots, (9, "boat", "word " * 20_000 + "last")])
    for slot, word in enumerate(words[1:], 2):
        assert slot in dict(postings(database, word))
    assert [slot for slot, _ in postings(database, "last")] == [9]
    assert database.text.agrees()


def test_more_postings_than_asked_for_are_none(database: Database) -> None:
    database.put(numbered(["boats, well known"] * 30 + ["nothing"]))
    for term in ("boat", "well known"):
        assert database.text.postings(term, 29) is None
        found = database.text.postings(term, 30)
        assert found is not None
        assert found[0].tolist() == list(range(1, 31))


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
    ],
)
def test_a_scope_and_hidden_slots_leave_out_without_changing_scores(
    database: Database, scope: Scope, sources: set[int]
) -> None:
    slots = numbered(TEXTS * 9)
    database.put(slots)
    terms, hidden = ["boat", "known", "well known"], np.array([2, 3, 9, 50], np.int64)
    with closing(Fts5(slots)) as fts5:
        within = [one for one in fts5.search(terms) if one[0] % 3 + 1 in sources]
        seen = [one for one in within if one[0] not in hidden]
    assert_same(database.text.search(terms, 1000, scope, NOBODY), within)
    assert_same(database.text.search(terms, 1000, scope, hidden), seen)


def test_equal_texts_rank_by_rising_ids(database: Database) -> None:
    database.put([(slot, "", ["the boat", "other"][slot % 2]) for slot in range(80, 0, -1)])
    found = database.text.search(["boat", "the"], 25, EVERYWHERE, NOBODY)
    assert [slot for slot, _ in found] == list(range(2, 52, 2))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM slot_text WHERE slot = 3",
        "DELETE FROM slot_text WHERE slot = 4",
        "INSERT INTO slot_text VALUES (99, 1, 'boat:1')",
        "INSERT INTO slot_text VALUES (8, 2, 'harbour:1 boat:2')",
        "UPDATE slot_text SET length = length + 1 WHERE slot = 2",
        "UPDATE slot_text SET words = words || 'ferri:90' WHERE slot = 2",
        "UPDATE slot_text SET words = strip(words) WHERE slot = 2",
        "UPDATE slot SET text = 'another' WHERE id = 1",
        "UPDATE revision SET slots = slots + 1",
        "UPDATE revision SET tokens = tokens - 1",
        "DELETE FROM revision",
        "DELETE FROM slot WHERE id = 7",
    ],
)
def test_each_damage_is_found_and_repaired(database: Database, damage: str) -> None:
    slots = numbered(TEXTS)
    database.put(slots)
    database.put([(8, "", "harbour boat")], kind="reverse")
    assert database.text.agrees()
    database.connection.execute(damage)
    assert not database.text.agrees()
    if "slot WHERE id" not in damage and "another" not in damage:
        with database.connection.transaction():
            database.text.rebuild()
        assert database.text.agrees()
        with closing(Fts5(slots)) as fts5:
            assert_like_fts5(database, fts5, ["boat", "the", "well known"])


@pytest.mark.parametrize(
    "damage", ["UPDATE slot_text SET length = -1000000", "UPDATE revision SET tokens = 0"]
)
def test_scores_of_a_damaged_index_are_refused(database: Database, damage: str) -> None:
    database.put([(1, "", "boat boat"), *((slot, "", "ferry") for slot in range(2, 9))])
    database.connection.execute(damage)
    with pytest.raises(StoreError, match=r"holds a text search that memnet did not write"):
        database.text.postings("boat", 10)


def test_totals_are_those_of_what_is_committed(database: Database, postgres_schema: Schema) -> None:
    address = Address.parse(f"{postgres_schema.address}&schema={postgres_schema.name}")
    totals: Callable[[], object] = lambda: database.connection.only(  # noqa: E731
        "SELECT slots, tokens FROM revision"
    )
    with closing(PostgresConnection(address)) as second:
        database.put([(1, "", "one two"), (2, "", "three")])
        with database.connection.transaction():
            database.put([(4, "", "five")])
            with second.transaction():
                second.text.remove([2])
                second.execute("DELETE FROM slot WHERE id = 2")
            database.delete([1])
        with suppress(UndoError), database.connection.transaction():
            database.put([(5, "", "six seven eight")])
            raise UndoError
        assert totals() == (1, 1)
        assert second.text.agrees()
