import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from numpy.typing import NDArray

from memnet.config import IndexConfig, StoreConfig
from memnet.errors import EncoderMismatchError, StoreBusyError, StoreError
from memnet.storage import EVERYWHERE, MemoryStore, NewSlot, NewSource, Scope
from memnet.storage.place import StorePlace
from memnet.storage.sqlite import connection as connection_module
from memnet.text.english import query_terms
from tests.exact_store import ExactStore
from tests.toy import DIMENSION, ToyEncoder, fact, passage, source, told
from tests.waiting import in_thread

encode = ToyEncoder().encode


def open_store(
    path: StorePlace,
    index: IndexConfig | None = None,
    *,
    create: bool = True,
    fingerprint: str = "toy/64",
    **options: Any,
) -> MemoryStore:
    """A store of toy vectors, whose vector index is of the kind that the settings say."""
    config = StoreConfig(index=index or IndexConfig(), **options)
    return MemoryStore(
        path, fingerprint=fingerprint, dimension=DIMENSION, create=create, lock_seconds=0.2,
        config=config,
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    opened = open_store(tmp_path / "store")
    yield opened
    opened.close()


_WORDS = "orre light kestle herring boat boats ferry sailing sailed old".split()
_NAMES = ["orre", "kestle", "amber fox"]
_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8).map(" ".join)
_symbols = st.lists(st.sampled_from(_NAMES), max_size=2, unique=True)
_passages = st.builds(passage, _texts, st.sampled_from(["", "Orre", "Kestle"]), _symbols, _symbols)
_facts = st.builds(
    fact, st.sampled_from(_NAMES), st.sampled_from(["built by", "in"]), st.sampled_from(_NAMES)
)


_metadata = st.sampled_from([{}, {"year": 1990}, {"year": [1841, 2000.5], "by": "Ann"}])
_scopes = st.builds(
    Scope,
    st.sampled_from([None, "", "other"]),
    st.sampled_from([None, None, {"by": ["Ann", "Bo"]}, {"year": {"from": 1900, "to": 2001}}]),
)
_SOURCES = [*"abcde", *(f"told/{number}" for number in range(1, 6))]
_HALF_LIFE = 50.0


class AgainstTheTwin(RuleBasedStateMachine):
    """Whatever is done to a store, it agrees with brute force over lists."""

    @initialize()
    def start(self) -> None:
        self.place = self.new_place()
        self.store = open_store(self.place)
        self.twin = ExactStore(DIMENSION)
        self.told: list[str] = []
        self.now = 1.0

    def new_place(self) -> StorePlace:
        """Where there is no store."""
        import tempfile

        return Path(tempfile.mkdtemp()) / "store"

    def delete_place(self) -> None:
        """Delete it, when its store is closed."""
        shutil.rmtree(self.store.path.parent)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.verify() == []
            self.store.close()
            self.delete_place()

    @rule(
        names=st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
        slots=st.lists(st.one_of(_passages, _facts), max_size=4),
        namespace=st.sampled_from(["", "other"]),
        metadata=_metadata,
    )
    def put(
        self, names: list[str], slots: list[NewSlot], namespace: str, metadata: dict[str, object]
    ) -> None:
        sources = [source(name, *slots, namespace=namespace, metadata=metadata) for name in names]
        assert self.store.put(sources, encode) == self.twin.put(sources, encode)

    @rule(
        text=_texts,
        about=st.sampled_from(_NAMES),
        seconds=st.integers(0, 5),
        namespace=st.sampled_from(["", "other"]),
    )
    def tell(self, text: str, about: str, seconds: int, namespace: str) -> None:
        self.now += seconds
        name = self.store.statements.new_source()
        assert name not in self.told
        self.told.append(name)
        slots = [told(text, about, self.now), told(f"{text} again", about, self.now)]
        for sent in ([slots[0]], slots):
            new = NewSource(name, b"digest", sent, namespace, "statement")
            own, exact = (store.append(new, encode) for store in (self.store, self.twin))
            assert len(own) == len(exact) == 1

    @rule(
        place=st.integers(0, 9),
        action=st.sampled_from(["end", "erase", "use"]),
        weight=st.sampled_from([0.2, 0.5, 1.0]),
        seconds=st.integers(0, 100),
    )
    def change(self, place: int, action: str, weight: float, seconds: int) -> None:
        self.now += seconds
        stores: list[MemoryStore | ExactStore] = [self.store, self.twin]
        for store in stores:
            told = sorted(one for name in _NAMES for one in store.statements.ids_about([name]))
            chosen = told[place : place + 1]
            if action == "use":
                store.statements.add_usage(dict.fromkeys(chosen, weight), self.now, _HALF_LIFE)
            elif action == "end":
                store.statements.end(chosen, self.now)
            else:
                store.statements.erase(chosen)
        assert self.store.statements.latest_time() == self.twin.statements.latest_time()

    @rule(capacity=st.integers(1, 6))
    def evict(self, capacity: int) -> None:
        stores: list[MemoryStore | ExactStore] = [self.store, self.twin]
        own, exact = (
            store.fetch(store.statements.evictable(capacity, self.now, _HALF_LIFE, newest[-1:]))
            for store in stores
            for newest in [
                sorted(one for name in _NAMES for one in store.statements.ids_about([name]))
            ]
        )
        assert list(map(_content, own)) == list(map(_content, exact))
        self.store.statements.erase([slot.id for slot in own])
        self.twin.statements.erase([slot.id for slot in exact])

    @rule(name=st.sampled_from(_NAMES), namespace=st.sampled_from([None, "", "other"]))
    def look_back(self, name: str, namespace: str | None) -> None:
        told = self.store.statements.told(self.store.statements.ids_about([name], namespace))
        own = self.store.fetch([one.id for one in told])
        exact = self.twin.about(name, namespace)
        assert list(map(_content, own)) == list(map(_content, exact))
        ended = [slot.id for slot in own if slot.valid_until is not None]
        assert not set(ended) & set(self.store.search_symbolic([name], 100).get(name, []))
        vectors = np.array([one.relation_vector for one in told]).reshape(len(told), DIMENSION)
        np.testing.assert_array_equal(vectors, encode([slot.relation for slot in own]))

    @rule(names=st.sets(st.sampled_from(_SOURCES)), namespace=st.sampled_from([None, "", "other"]))
    def delete(self, names: set[str], namespace: str | None) -> None:
        assert self.store.delete(names, namespace) == self.twin.delete(names, namespace)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.place, create=False)

    @rule()
    def lose_the_index(self) -> None:
        self.store.close()
        (self.store.path / "vectors.faiss").unlink(missing_ok=True)
        self.store = open_store(self.place, create=False)
        with self.store.writing():
            pass

    @rule(text=_texts, limit=st.integers(1, 6), scope=_scopes)
    def search(self, text: str, limit: int, scope: Scope) -> None:
        vector = encode([text])[0]
        pairs = [
            (
                store.search_dense(vector, limit, scope),
                store.search_lexical(query_terms(text), limit, scope),
            )
            for store in (self.store, self.twin)
        ]
        for own, exact in zip(*pairs, strict=True):
            assert own.mask.tolist() == exact.mask.tolist()
            np.testing.assert_allclose(own.scores, exact.scores, atol=1e-5)
        for way in range(2):
            own_slots = self.store.fetch(pairs[0][way].ids[pairs[0][way].mask].tolist())
            assert len(own_slots) == int(pairs[0][way].mask.sum())

    @rule(
        names=st.lists(st.sampled_from([*_NAMES, "unknown"]), min_size=1, unique=True),
        scope=_scopes,
    )
    def follow_facts(self, names: list[str], scope: Scope) -> None:
        exact = self.twin.links(names, scope)
        linked = self.store.facts.subjects(names)
        assert linked.keys() == {link[0] for link in self.twin.links(names, EVERYWHERE)}
        names_of: dict[int, str] = dict(self.store.connection.rows("SELECT id, name FROM symbol"))
        assert all(names_of[symbol] == name for name, symbol in linked.items())
        groups = self.store.facts.outgoing(linked.values(), scope)
        pairs = [(subject, relation) for subject, relation, _ in groups.tolist()]
        followed = self.store.facts.follow(pairs, scope)
        assert np.bincount(followed[:, 0], minlength=len(pairs)).tolist() == groups[:, 2].tolist()
        subjects = {symbol: name for name, symbol in linked.items()}
        own = [
            (subjects[pairs[pair][0]], names_of[value], _content(*self.store.fetch([slot])))
            for pair, value, slot in followed.tolist()
        ]
        assert sorted(own, key=str) == sorted(
            ((a, c, _content(*self.twin.fetch([d]))) for a, _, c, d in exact), key=str
        )
        everything = self.store.facts.all()
        assert len(everything) == len({link[:3] for link in self.twin.links(_NAMES, EVERYWHERE)})
        assert everything.tolist() == sorted(everything.tolist())

    @rule(names=st.sets(st.sampled_from([*_NAMES, "unknown"])), limit=st.integers(1, 5))
    def follow(self, names: set[str], limit: int) -> None:
        own = self.store.search_symbolic(names, 100)
        exact = self.twin.search_symbolic(names, 100)
        assert own.keys() == exact.keys()
        for name, ids in own.items():
            described = sorted(map(_content, self.store.fetch(ids)))
            assert described == sorted(map(_content, self.twin.fetch(exact[name])))
            assert ids == sorted(ids)
            few, exactly = (s.search_symbolic([name], limit)[name] for s in (self.store, self.twin))
            assert set(few) <= set(ids)
            assert list(map(_content, self.store.fetch(few))) == list(
                map(_content, self.twin.fetch(exactly))
            )
            assert sorted(_with_symbols(self.store, ids), key=str) == sorted(
                _with_symbols(self.twin, exact[name]), key=str
            )

    @rule(
        names=st.sets(st.sampled_from([*_NAMES, "unknown"])),
        terms=st.sets(st.sampled_from(_WORDS)),
        most=st.integers(1, 4),
        scope=_scopes,
    )
    def share(self, names: set[str], terms: set[str], most: int, scope: Scope) -> None:
        pairs = [
            (store.search_mentions(names, most, scope), store.search_terms(terms, most))
            for store in (self.store, self.twin)
        ]
        for own, exact in zip(*pairs, strict=True):
            assert own.keys() == exact.keys()
            for name, slots in own.items():
                described = [_content(slot) for slot in self.store.fetch(slots)]
                assert len(described) == len(slots)
                assert sorted(described, key=str) == sorted(
                    map(_content, self.twin.fetch(exact[name])), key=str
                )


def _with_symbols(store: MemoryStore | ExactStore, ids: list[int]) -> list[tuple[object, ...]]:
    symbols = store.symbols(ids)
    return [(_content(slot), symbols.get(slot.id)) for slot in store.fetch(ids)]


_CONTENT = """
    kind source namespace title text relation value valid_from valid_until told metadata
""".split()


def _content(slot: object) -> tuple[object, ...]:
    return tuple(getattr(slot, name) for name in _CONTENT)


TestAgainstTheTwin = AgainstTheTwin.TestCase


def test_a_link_forms_whichever_document_came_first(tmp_path: Path) -> None:
    light = source("light", passage("Built by Ann Orre.", "Light", ["light"], ["ann orre"]))
    ann = source("ann", passage("Born in Kestle.", "Ann Orre", ["ann orre"]))
    for number, order in enumerate(([light, ann], [ann, light])):
        store = open_store(tmp_path / str(number))
        for one in order:
            store.put([one], encode)
        slots = {slot.source: slot.id for slot in store.fetch([1, 2])}
        assert store.symbols([slots["light"]]) == {slots["light"]: (["light"], ["ann orre"])}
        assert store.search_mentions(["ann orre"], 1) == {"ann orre": [slots["light"]]}
        assert store.search_symbolic(["ann orre"], 5) == {"ann orre": [slots["ann"]]}
        store.close()


def test_a_changed_source_keeps_the_slots_that_stay(store: MemoryStore) -> None:
    store.put([source("a", passage("one"), passage("two", start=5))], encode)
    seen: list[str] = []

    def counting(texts: Sequence[str]) -> NDArray[np.float32]:
        seen.extend(texts)
        return encode(texts)

    counts = store.put([source("a", passage("two", start=5), passage("three", start=9))], counting)
    assert counts == (0, 1, 0)
    assert [(slot.id, slot.text) for slot in store.fetch([1, 2, 3])] == [(2, "two"), (3, "three")]
    assert seen == ["\nthree"]


def test_deleting_leaves_nothing_behind(store: MemoryStore) -> None:
    new = source("a", passage("secret word", "Title", ["title"], ["name"]))
    store.put([new], encode)
    store.delete(["a"])
    assert store.counts()[:4] == (0, 0, 0, 0)
    assert not store.search_lexical(query_terms("secret"), 3).mask.any()
    assert not store.search_dense(encode(["secret"])[0], 3).mask.any()
    with closing(sqlite3.connect(store.path / "memory.sqlite3")) as database:
        for table in ("source", "slot", "vector", "symbol", "slot_key", "mention"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    store.put([new], encode)  # no id is used twice
    assert [slot.id for slot in store.fetch([1, 2, 3])] == [2]


def test_a_failed_put_changes_nothing(store: MemoryStore) -> None:
    store.put([source("a", passage("one"))], encode)

    def failing(texts: Sequence[str]) -> NDArray[np.float32]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put([source("a", passage("two")), source("b", passage("three"))], failing)
    assert [slot.text for slot in store.fetch([1, 2, 3])] == ["one"]
    assert store.verify() == []


@pytest.mark.parametrize(
    "damage", ["delete", "truncate", "garbage", "description", "vectors", "foreign", "swapped"]
)
def test_the_index_file_is_never_trusted(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "store"
    store = open_store(path)
    store.put([source("a", passage("old boats")), source("b", passage("a light"))], encode)
    store.close()
    index = path / "vectors.faiss"
    if damage == "delete":
        index.unlink()
    elif damage == "truncate":
        os.truncate(index, index.stat().st_size // 2)
    elif damage == "garbage":
        index.write_bytes(os.urandom(500))
    elif damage in ("description", "vectors"):
        data = bytearray(index.read_bytes())
        data[-40 if damage == "description" else 100] ^= 64
        index.write_bytes(data)
    else:
        fingerprint = "other" if damage == "foreign" else "toy/64"
        other = open_store(tmp_path / "other", fingerprint=fingerprint)
        other.put([source("x", passage("elsewhere")), source("y", passage("away"))], encode)
        other.close()
        shutil.copy(tmp_path / "other" / index.name, index)  # the ids of the two agree
    reopened = open_store(path, create=False)
    assert reopened.verify() != []
    hits = reopened.search_dense(encode(["old boats"])[0], 1)
    assert [slot.source for slot in reopened.fetch(hits.ids.tolist())] == ["a"]
    reopened.rebuild()
    assert reopened.verify() == []
    reopened.close()


def test_a_text_search_that_lost_its_words_is_found_and_repaired(store: MemoryStore) -> None:
    store.put([source("a", passage("old boats"))], encode)
    with sqlite3.connect(store.path / "memory.sqlite3") as database:
        database.execute("INSERT INTO slot_text (slot_text) VALUES ('delete-all')")
    assert any("text search" in problem for problem in store.verify())
    store.rebuild()
    assert store.verify() == []
    assert store.search_lexical(query_terms("boats"), 1).mask.tolist() == [True]


@pytest.mark.parametrize(
    "text",
    ['"', "a OR b", "NEAR(", "title:light", "-light", "light*", "'; DROP TABLE slot; --", "\0",
     "()", "^", "東京"],
)  # fmt: skip
def test_any_text_is_a_safe_query(store: MemoryStore, text: str) -> None:
    store.put([source("a", passage("a light", "Title"))], encode)
    found = store.search_lexical(query_terms(text), 3)
    assert found.mask.tolist() == [("light" in text), False, False]


def test_another_encoder_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path / "store").close()
    with pytest.raises(
        EncoderMismatchError, match=r"made with encoder toy/64, not with other/1; open"
    ):
        open_store(tmp_path / "store", fingerprint="other/1")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no memnet store at .*none; make one with"):
        open_store(tmp_path / "none", create=False)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(StoreError, match="is a file, but a store is a folder"):
        open_store(file)
    with pytest.raises(StoreError, match="holds other files and no memnet store"):
        open_store(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "memory.sqlite3").write_bytes(b"this is not a database" * 100)
    with pytest.raises(StoreError, match="is not a readable memnet database"):
        open_store(broken)


def test_relations_have_names_that_do_not_depend_on_the_store(tmp_path: Path) -> None:
    found = []
    for place, facts in enumerate([["built"], ["lies in", "built"]]):
        store = open_store(tmp_path / str(place))
        store.put([source("a", *(fact("Ann", relation, "Orre") for relation in facts))], encode)
        relations = store.facts.all()[:, 1].tolist()
        names, vectors = store.facts.relation_keys(relations)
        assert {tuple(row) for row in vectors.tolist()} == {
            tuple(r) for r in encode(facts).tolist()
        }
        found.append(set(names))
        store.close()
    assert len(found[1]) == 2
    assert found[0] < found[1]


def test_changes_are_one_commit_or_none(store: MemoryStore) -> None:
    new = NewSource("told/1", b"", [told("moved", "ann", 5.0)], kind="statement")

    def change() -> None:
        with store.changing():
            (added,) = store.append(new, encode)
            store.put([source("a", passage("one"))], encode)
            store.statements.end([added], 6.0)
            assert store.fetch([added])[0].valid_until == 6.0
            if failing:
                raise KeyboardInterrupt

    failing = True
    with pytest.raises(KeyboardInterrupt):
        change()
    assert store.counts().slots == 0
    assert store.verify() == []
    failing = False
    change()
    assert store.counts()[:2] == (2, 1)
    assert store.search_dense(encode(["one"])[0], 9).mask.sum() == 1
    assert store.verify() == []


def test_usage_leaves_the_index_alone(store: MemoryStore) -> None:
    new = NewSource("told/1", b"", [told("moved", "ann", 5.0)], kind="statement")
    (added,) = store.append(new, encode)
    before = store.counts().generation
    store.statements.add_usage({added: 0.5, 99: 1.0}, 6.0, 10.0)
    assert store.counts().generation == before
    assert store.verify() == []


def test_a_read_only_store_is_read_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path / "store")
    store.put([source("a", passage("a light"))], encode)
    store.close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    reader = open_store(tmp_path / "store", create=False)
    assert reader.search_dense(encode(["light"])[0], 1).mask.tolist() == [True]
    assert reader.verify() == []
    with pytest.raises(StoreError, match="is read-only; make its folder writable first"):
        reader.put([source("b", passage("two"))], encode)
    reader.close()


def test_a_changed_source_may_need_a_vector_that_only_it_used(store: MemoryStore) -> None:
    store.put([source("a", fact("orre", "in", "hallin")), source("b", passage("one"))], encode)
    store.put([source("a", fact("orre", "in", "kestle")), source("b", passage("two"))], encode)
    store.put([source("a", passage("three")), source("b", fact("orre", "in", "fenna"))], encode)
    assert {slot.value for slot in store.fetch(store.search_symbolic(["orre"], 9)["orre"])} == {
        "fenna"
    }
    assert store.verify() == []


def test_sources_of_one_put_keep_their_slots_apart(store: MemoryStore) -> None:
    store.put([source("a", passage("one"), passage("two", start=5))], encode)
    store.put(
        [
            source("a", passage("two", start=5), passage("three", start=9)),
            source("a", passage("two"), namespace="other"),
            source("b", passage("one", "", ["orre"], ["kestle", "a\0b"]), fact("orre", "in", "x")),
            source("c"),
        ],
        encode,
    )
    expected = [
        ("a", "", "two"), ("a", "", "three"), ("b", "", "one"), ("b", "", "orre\tin\tx"),
        ("a", "other", "two"),
    ]  # fmt: skip
    stored = store.fetch(range(1, 10))
    assert [(slot.source, slot.namespace, slot.text) for slot in stored] == expected
    b = stored[2].id
    assert store.symbols([b]) == {b: (["orre"], ["a\0b", "kestle"])}
    assert [source.id for source in store.sources.all()] == ["a", "b", "c", "a"]
    assert store.verify() == []


def test_vectors_are_stored_in_half_precision(store: MemoryStore) -> None:
    def exact(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.random.default_rng(0).standard_normal((len(texts), DIMENSION))
        unit: NDArray[np.float32] = rows.astype(np.float32)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        return unit

    store.put([source("a", passage("text"))], exact)
    with closing(sqlite3.connect(store.path / "memory.sqlite3")) as database:
        assert database.execute("SELECT length(data) FROM vector").fetchall() == [(2 * DIMENSION,)]
    (vector,), (given,) = store.keys([1]).vectors, exact(["text"])
    assert vector.dtype == np.float32
    np.testing.assert_array_equal(vector, given.astype(np.float16))
    np.testing.assert_allclose(vector, given, atol=3e-4)
    assert store.verify() == []


def test_the_store_folder_is_private(store: MemoryStore) -> None:
    assert store.path.stat().st_mode & 0o077 == 0


def test_a_second_writer_is_told(tmp_path: Path) -> None:
    first, second = (open_store(tmp_path / "store") for _ in range(2))
    with first.writing():
        with pytest.raises(StoreBusyError, match="another process is writing to the store"):
            second.put([source("a", passage("one"))], encode)
        with pytest.raises(StoreBusyError, match="another thread is writing"):
            in_thread(lambda: first.put([source("a", passage("one"))], encode))
    assert second.put([source("a", passage("one"))], encode) == (1, 0, 0)
    hits = first.search_dense(encode(["one"])[0], 1)
    assert hits.mask.tolist() == [True]


def test_the_schema_is_compared_once_and_again_when_it_changes(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[object] = []
    monkeypatch.setattr(connection_module, "foreign", compared.append)
    in_thread(store.counts)
    before = len(compared)
    in_thread(store.counts)
    assert len(compared) == before
    with closing(sqlite3.connect(store.path / "memory.sqlite3")) as database:
        database.execute("CREATE TABLE foreign_table (a)")
    in_thread(store.counts)
    assert len(compared) == before + 1


def test_a_file_that_goes_while_the_size_is_taken_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    store.put([source("a", passage("A lamp."))], encode)
    whole = store.size_in_bytes()
    assert whole == sum(file.stat().st_size for file in tmp_path.iterdir())
    going = "vectors.faiss.1.part"
    listed, is_file = Path.iterdir, Path.is_file

    def with_one_that_goes(path: Path) -> Iterator[Path]:
        yield path / going
        yield from listed(path)

    monkeypatch.setattr(Path, "iterdir", with_one_that_goes)
    monkeypatch.setattr(Path, "is_file", lambda path: path.name == going or is_file(path))
    assert store.size_in_bytes() == whole
    store.close()


def test_a_file_that_goes_while_rights_are_set_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    store.put([source("a", passage("A lamp."))], encode)
    (store.path / "memory.sqlite3").chmod(0o640)
    chmod = Path.chmod

    def gone_by_now(path: Path, mode: int) -> None:
        if path.name == "writer.lock":
            raise FileNotFoundError(path)
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", gone_by_now)
    store.rebuild()
    assert (store.path / "vectors.faiss").stat().st_mode & 0o777 == 0o640
    store.close()
