"""Search by words agrees with the text search of the database, whatever is remembered."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage import MemoryStore, NewSource, Scope
from memnet.storage.lexical import Bm25Index
from memnet.storage.place import DATABASE
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.sqlite.search import Fts5Index
from memnet.storage.tables import slots
from memnet.text.english import query_terms
from tests.toy import DIMENSION, ToyEncoder, passage, source, told

encode = ToyEncoder().encode
_RANDOM = np.random.default_rng(0)
_WORDS = ["light", "lights", "Kestle", "herring", "sailed", "sailing", "old", "foo_bar", "été", "x"]


class _UndoneError(Exception):
    """Ends a change that is to leave nothing."""


def open_store(path: Path, **settings: int) -> MemoryStore:
    config = StoreConfig(**settings)  # type: ignore[arg-type]
    return MemoryStore(path, fingerprint="toy/64", dimension=DIMENSION, create=True, config=config)


def fill(store: MemoryStore, name: str, texts: int) -> None:
    """Texts of random words, some of them much more common than others."""
    common = np.arange(len(_WORDS), 0, -1.0)
    passages = [
        passage(
            " ".join(_RANDOM.choice(_WORDS, _RANDOM.integers(1, 12), p=common / common.sum())),
            f"T{number} {_RANDOM.choice(_WORDS)}",
            start=1000 * number,
        )
        for number in range(texts)
    ]
    store.put([source(name, *passages)], encode)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    opened = open_store(tmp_path / "store")
    fill(opened, "a", 40)
    yield opened
    opened.close()


def agrees(store: MemoryStore, question: str, limit: int) -> None:
    """The same slots in the same order with the same numbers as the database itself gives."""
    exact = of_the_database(store, query_terms(question), limit)
    hits = store.search_lexical(query_terms(question), limit)
    assert hits.ids[hits.mask].tolist() == [slot for slot, _ in exact]
    np.testing.assert_array_equal(
        hits.scores[hits.mask], np.array([score for _, score in exact], np.float32)
    )


def of_the_database(store: MemoryStore, terms: list[str], limit: int) -> list[tuple[int, float]]:
    """What the database itself finds: a search of a part of the store caches nothing."""
    hits = store.search_lexical(terms, limit, Scope(namespace=""))
    return list(zip(hits.ids[hits.mask].tolist(), hits.scores[hits.mask].tolist(), strict=True))


def holds(store: MemoryStore, word: str) -> list[int]:
    """The slots with a word, statements that ended among them."""
    hits = store.search_lexical([word], 1000, Scope(namespace="", past=True))
    found: list[int] = hits.ids[hits.mask].tolist()
    return found


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_scores_are_those_of_the_database(store: MemoryStore, limit: int) -> None:
    for _ in range(20):
        agrees(store, " ".join(_RANDOM.choice(_WORDS, 4)), limit)
    agrees(store, "nothing of this kind", limit)


@pytest.mark.parametrize(
    ("text", "word", "other"),
    [
        ("码头的灯塔建于一九零五年", "灯塔", "塔灯"),
        ("港の防波堤は北にある。", "防波堤", "防堤"),
        ("灯台のとなりにカフェがある", "となり", "りな"),
        ("등대는 항구에 있다", "항구", "구항"),
        ("ประภาคารอยู่ทางเหนือของท่าเรือ", "ท่าเรือ", "ภูเขา"),
        ("ປະພາຄານຢູ່ທາງເໜືອ", "ທາງ", "ງທາ"),
        ("မီးပြတိုက်သည်မြောက်ဘက်တွင်ရှိသည်", "မြောက်", "မောက်"),
        ("ប៉មភ្លើងនៅភាគខាងជើង", "ភាគខាង", "ខាងភាគ"),
        ("版本v2灯塔", "v2", "v3"),
        ("一只猫在码头", "猫", "狗"),
        ("दीपस्तंभ बंदरगाह में है", "बंदरगाह", "बदरगाह"),
        ("✔\ufe0fDone: cafe\u0301", "done café", "don"),
    ],
)
def test_words_are_found_inside_runs_of_any_script(
    store: MemoryStore, text: str, word: str, other: str
) -> None:
    store.put([source("b", passage(text, "灯"))], encode)
    (slot,) = holds(store, query_terms(word)[0])
    assert store.fetch([slot])[0].text == text
    agrees(store, f"{word} lights", 9)
    assert not all(holds(store, term) for term in query_terms(other))
    assert store.verify() == []
    store.delete(["b"])
    assert not holds(store, query_terms(word)[0])
    assert store.verify() == []


def test_equal_scores_are_in_the_order_of_ids(store: MemoryStore) -> None:
    store.put([source(name, passage("same words")) for name in "cdefgh"], encode)
    agrees(store, "same", 3)
    assert (
        store.search_lexical(query_terms("same"), 3).ids.tolist()
        == sorted(holds(store, "same"))[:3]
    )


def test_what_is_remembered_is_of_the_last_commit(tmp_path: Path, store: MemoryStore) -> None:
    other = open_store(tmp_path / "store")
    for change in (
        lambda: fill(other, "b", 10),
        lambda: other.delete(["a"]),
        lambda: other.append(
            NewSource("t", b"", [told("old lights", "x", 1.0)], "", "statement"), encode
        ),
        lambda: other.statements.end(holds(other, "lights"), 2.0),
    ):
        agrees(store, "old lights", 9)
        change()
        agrees(store, "old lights", 9)
        found = store.search_terms(["lights"], 1000)["lights"]
        assert found.tolist() == sorted(holds(store, "lights"))
    other.close()


def test_a_search_within_a_change_sees_it_and_keeps_nothing_of_it(store: MemoryStore) -> None:
    before = store.search_terms(["herring"], 1000)["herring"].tolist()
    with suppress(_UndoneError), store.changing():
        store.put([source("b", passage("herring and herring"))], encode)
        (new,) = {*store.search_terms(["herring"], 1000)["herring"].tolist()} - {*before}
        assert new in store.search_lexical(query_terms("herring"), 100).ids.tolist()
        raise _UndoneError
    assert store.search_terms(["herring"], 1000)["herring"].tolist() == before
    # The id that was given back is taken by another text, of another length.
    store.put([source("c", passage("herring " + "boat " * 30))], encode)
    agrees(store, "herring boat", 100)


def test_an_older_read_goes_on_beside_a_newer_one(store: MemoryStore) -> None:
    with store.reading():
        agrees(store, "old light", 5)
        writer = threading.Thread(target=lambda: fill(store, "b", 10))
        writer.start()
        writer.join()
        newer = threading.Thread(target=lambda: agrees(store, "old light", 5))
        newer.start()
        newer.join()
        agrees(store, "old light", 5)
    agrees(store, "old light", 5)


def test_a_word_is_left_out_by_how_many_texts_hold_it(store: MemoryStore) -> None:
    store.put([source("often", passage("often " * 50)), source("z", passage("often"))], encode)
    for most in (0, 1, 2, 1, 3):
        assert ("often" in store.search_terms(["often"], most)) == (most >= 2)
    assert store.search_terms(["...", "unheard"], 1)["unheard"].tolist() == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [*(("max_postings", n) for n in (0, 2, 10)), *(("cached_postings", n) for n in (0, 100, 300))],
)
def test_words_left_to_the_database_and_little_that_is_cached_are_right(
    tmp_path: Path, setting: str, value: int
) -> None:
    with closing(open_store(tmp_path / "few", **{setting: value})) as store:
        fill(store, "a", 30)
        for word in _WORDS:
            agrees(store, f"{word} lights", 5)
        for _ in range(30):
            agrees(store, " ".join(_RANDOM.choice(_WORDS, 3)), 5)


@pytest.mark.parametrize(
    ("room", "looked_up"),
    # An entry costs 64 and its postings.
    [(1000, ["old", "light", "herring"]), (100, ["old", "light", "old", "herring"])],
)
def test_a_cached_term_is_not_looked_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, looked_up: list[str]
) -> None:
    store = open_store(tmp_path / "store")
    words = ("old light", "old herring", "light", "herring", "old")
    store.put(
        [source("a", *(passage(word, start=100 * n) for n, word in enumerate(words)))], encode
    )
    index, noted = Bm25Index(StoreConfig(cached_postings=room)), list[str]()
    postings = Fts5Index.postings

    def note(self: Fts5Index, term: str, max_postings: int) -> Any:
        noted.append(term)
        return postings(self, term, max_postings)

    monkeypatch.setattr(Fts5Index, "postings", note)
    with closing(SqliteConnection(store.path / DATABASE)) as connection:
        for terms in (["old", "light"], ["old", "light"], ["old", "herring"]):
            index.search(connection, terms, 5, np.zeros(0, np.int64))
    assert noted == looked_up
    store.close()


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM slot_text_docsize", "UPDATE slot_text_data SET block = 3 WHERE id = 1"],
)
def test_damaged_sizes_are_an_error(tmp_path: Path, statement: str) -> None:
    store = open_store(tmp_path / "store")
    fill(store, "a", 5)
    store.close()
    database = sqlite3.connect(tmp_path / "store" / "memory.sqlite3")
    database.execute(statement)
    database.commit()
    database.close()
    with (
        closing(open_store(tmp_path / "store")) as store,
        pytest.raises(StoreError, match=r"did not write|could not be read"),
    ):
        store.search_lexical(query_terms("light lights kestle"), 5)


def test_keys_come_from_the_index_and_else_from_the_rows(store: MemoryStore) -> None:
    store.append(NewSource("t", b"", [told("old lights", "x", 1.0)], "", "statement"), encode)
    store.search_dense(encode(["light"])[0], 3)
    store.statements.end([41], 2.0)
    store.put([source("b", passage("a fresh one", start=7))], encode)
    ids = [42, 41, 999, 1, 40, 1]
    for warm in range(2):
        keys = store.keys(ids)
        with closing(SqliteConnection(store.path / DATABASE)) as connection:
            exact = slots.keys(connection, ids, DIMENSION)
        assert keys.ids.tolist() == exact.ids.tolist() == [42, 41, 1, 40, 1]
        np.testing.assert_array_equal(keys.vectors, exact.vectors)
        assert keys.is_fact.tolist() == exact.is_fact.tolist()
        assert keys.relations == exact.relations
        if not warm:
            store.search_dense(encode(["light"])[0], 3)
    with suppress(_UndoneError), store.changing():
        store.delete(["b"])
        assert store.keys([42]).ids.tolist() == []
        raise _UndoneError
    assert store.keys([42]).ids.tolist() == [42]
