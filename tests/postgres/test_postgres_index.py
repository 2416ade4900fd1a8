"""Vector search by pgvector, compared with the index of a folder that holds the same."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("psycopg")

from memnet.errors import StoreError
from memnet.storage import MemoryStore, NewSlot, NewSource, Scope
from memnet.storage.postgres import backend
from memnet.storage.values import PassageVectors
from tests.postgres_server import Schema, Server
from tests.toy import fact, passage, source, told
from tests.waiting import until

D = 48
Vectors = NDArray[np.float32]
Open = Callable[[str], MemoryStore]
QUESTION = re.compile(r"number (\d+)")


def made(count: int, clusters: int = 0, seed: int = 0) -> Vectors:
    """Vectors of length one: of any direction, or around some centres."""
    rng = np.random.default_rng(seed)
    some = rng.normal(size=(count, D))
    if clusters:
        some = 0.35 * some + rng.normal(size=(clusters, D))[rng.integers(0, clusters, count)]
    vectors: Vectors = (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float32)
    return vectors


class Numbered:
    """Encodes texts by the number in them, and others by themselves."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def __call__(self, texts: Sequence[str]) -> Vectors:
        numbers = [QUESTION.search(text) for text in texts]
        rows = [
            self.vectors[int(found[1])] if found else made(1, seed=len(text))[0]
            for found, text in zip(numbers, texts, strict=True)
        ]
        return np.array(rows, np.float32).reshape(-1, D)


def numbered(first: int, last: int) -> list[NewSlot]:
    return [passage(f"number {n}", start=100 * n) for n in range(first, last)]


@pytest.fixture
def open_store(
    postgres_schema: Schema, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Open]:
    """Opens a store: "folder", or on a server; a thousand vectors are enough for a graph."""
    monkeypatch.setattr(backend, "_MIN_GRAPH", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    address = f"{postgres_schema.address}&schema={postgres_schema.name}"
    with ExitStack() as stack:

        def open_one(kind: str) -> MemoryStore:
            place = tmp_path / "folder" if kind == "folder" else f"{address}&index={kind}"
            store = MemoryStore(
                place, fingerprint="numbered", dimension=D, create=True, lock_seconds=20
            )
            stack.callback(store.close)
            return store

        yield open_one


def ids(store: MemoryStore, query: Vectors, limit: int, scope: Scope | None = None) -> list[int]:
    hits = store.search_dense(query, limit, scope or Scope())
    found: list[int] = hits.ids[hits.mask].tolist()
    return found


def same(one: MemoryStore, other: MemoryStore, limit: int = 20, scope: Scope | None = None) -> None:
    """Check that both find the same slots with the same scores."""
    for query in made(8, seed=99):
        expected = other.search_dense(query, limit, scope or Scope())
        found = one.search_dense(query, limit, scope or Scope())
        assert np.array_equal(found.mask, expected.mask)
        assert np.allclose(found.scores, expected.scores, rtol=0, atol=1e-6)
        # FAISS gives any of those that are as near as the last.
        last = found.scores[found.mask][-1] if found.mask.any() else 0.0
        sure = found.mask & (found.scores > last + 1e-6)
        assert {*found.ids[sure].tolist()} <= {*expected.ids.tolist()}


def put_all(stores: Sequence[MemoryStore], new: Sequence[NewSource], encode: Numbered) -> None:
    for store in stores:
        store.put(new, encode)


@pytest.mark.parametrize("clusters", [0, 40])
def test_finds_what_faiss_finds(open_store: Open, clusters: int) -> None:
    vectors = made(2000, clusters)
    folder, exact, graph = open_store("folder"), open_store("exact"), open_store("hnsw")
    put_all([folder, exact], [source("all", *numbered(0, 2000))], Numbered(vectors))
    graph.rebuild()
    info = graph.index_info()
    assert info.kind == "hnsw"
    assert "graph (HNSW)" in info.description
    assert 0.9 < info.recall <= 1
    assert exact.index_info()[:3] == ("exact", "pgvector, every vector compared, 2000 vectors", 1.0)
    rng = np.random.default_rng(1)
    for limit in (10, 100):
        recalls = []
        for row in rng.integers(0, 2000, 20):
            query = vectors[row] + 0.1 * made(1, seed=int(row))[0]
            expected = folder.search_dense(query, limit)
            found = exact.search_dense(query, limit)
            assert np.allclose(found.scores, expected.scores, rtol=0, atol=1e-6)
            assert len({*found.ids.tolist()}) == limit
            recalls.append(len({*ids(graph, query, limit)} & {*expected.ids.tolist()}) / limit)
        assert np.mean(recalls) >= 0.98
    assert graph.verify() == exact.verify() == []


def test_scopes_and_hidden_slots_leave_enough(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Numbered(made(2500))
    folder, exact, graph = open_store("folder"), open_store("exact"), open_store("hnsw")
    new = [
        source("many", *numbered(0, 2400), namespace="wide", metadata={"year": 1990}),
        source("few", *numbered(2400, 2500), namespace="narrow"),
    ]
    put_all([folder, exact], new, encode)
    told_slots = [told(f"number {n} was", "Ann", 100.0) for n in range(200)]
    for store in (folder, exact):
        with store.changing():
            store.append(NewSource("statement", b"", told_slots, kind="statement"), encode)
            told_ids = store.statements.ids(None).tolist()
            store.statements.end(told_ids[:150], 200.0)
    graph.rebuild()
    for scope in (
        Scope(namespace="narrow"),
        Scope(namespace="wide"),
        Scope(where={"year": {"from": 1980}}),
        Scope(namespace="nowhere"),
        Scope(past=True),
        Scope(as_of=150.0),
    ):
        same(exact, folder, 120, scope)
        for query in made(4, seed=5):
            expected, found = ids(folder, query, 120, scope), ids(graph, query, 120, scope)
            assert len(found) == len(expected)
            assert len({*found} & {*expected}) >= 0.97 * len(expected)
    # More than half of all: what the graph gives is not enough.
    monkeypatch.setattr("memnet.storage.postgres.session._SETTINGS", {})
    assert len({*ids(open_store("hnsw"), made(1)[0], 2000, Scope(namespace="wide"))}) == 2000
    query = encode(["number 3"])[0]
    assert told_ids[3] not in ids(exact, query, 50)
    assert told_ids[3] in ids(exact, query, 50, Scope(past=True))
    for namespace in (None, "", "wide"):
        expected = folder.nearest_statements(query, 20, namespace)
        assert exact.nearest_statements(query, 20, namespace) == expected


def test_equal_vectors_come_by_rising_ids(open_store: Open) -> None:
    exact = open_store("exact")
    vectors = np.repeat(made(3), 100, axis=0)
    exact.put([source(f"s{n}", *numbered(n, n + 1)) for n in range(300)], Numbered(vectors))
    found = ids(exact, vectors[0], 50)
    assert found == sorted(found)
    assert found[0] == min(exact.passage_ids())


def test_a_graph_is_built_while_others_write(open_store: Open) -> None:
    encode = Numbered(made(2000))
    exact, graph = open_store("exact"), open_store("hnsw")
    exact.put([source("all", *numbered(0, 1500))], encode)
    done = threading.Event()

    def write() -> None:
        turn = 0
        while not done.is_set():
            exact.put([source("moving", *numbered(1500 + turn, 1510 + turn))], encode)
            turn = (turn + 1) % 400

    writer = threading.Thread(target=write)
    writer.start()
    # The first search finds that there are enough vectors, and has the graph built.
    ids(graph, made(1)[0], 5)
    until(lambda: "recall@10" in graph.index_info().description, "no graph was built")
    done.set()
    writer.join()
    assert exact.verify() == []
    assert len({*ids(graph, encode(["number 7"])[0], 30)}) == 30


def test_full_vectors_take_the_place_of_quick_ones(open_store: Open) -> None:
    quick, full = made(50), made(50, seed=1)
    folder, exact = open_store("folder"), open_store("exact")

    def encode_quickly(texts: Sequence[str]) -> PassageVectors:
        return PassageVectors(Numbered(quick)(texts), quick=True)

    for store in (folder, exact):
        new = [source("all", *numbered(0, 50))]
        store.put(new, Numbered(full), encode_passages=encode_quickly)
    same(exact, folder, 60)
    texts = exact.quick.texts(30)
    for store in (folder, exact):
        store.quick.replace(texts, PassageVectors(Numbered(full)(texts)))
    same(exact, folder, 60)
    # One that is told is encoded in full, also for the passage that has the same key.
    rest = exact.quick.texts(1)[0]
    slot = NewSlot("passage", "", rest, 0, len(rest), rest, valid_from=1.0, relation="says")
    put_all([folder, exact], [NewSource("told", b"1", [slot], kind="statement")], Numbered(full))
    assert rest not in exact.quick.texts(50)
    assert exact.verify() == []
    same(exact, folder, 60)
    exact.delete(["all", "told"])
    assert ids(exact, quick[7], 5) == []


def test_facts_and_relations_are_not_found(open_store: Open) -> None:
    exact, encode = open_store("exact"), Numbered(made(200))
    facts = [fact(f"Ann {n}", "number 5", "Bo") for n in range(300)]
    exact.put([source("facts", *facts), source("texts", *numbered(6, 100))], encode)
    assert len(ids(exact, encode(["number 5"])[0], 200)) == 94


def test_a_transaction_finds_its_own_rows_and_a_snapshot_its_commit(open_store: Open) -> None:
    encode = Numbered(made(100))
    exact, other = open_store("exact"), open_store("exact")
    exact.put([source("a", *numbered(0, 20))], encode)
    query = encode(["number 50"])[0]
    with suppress(ZeroDivisionError), exact.changing():
        new = exact.append(source("b", *numbered(50, 51)), encode)
        assert ids(exact, query, 1) == new
        assert len(ids(other, query, 30)) == 20
        _ = 1 / 0
    assert len(ids(exact, query, 30)) == 20
    with exact.reading():
        before = ids(exact, query, 30)
        other.put([source("b", *numbered(50, 51))], encode)
        other.delete(["a"])
        assert ids(exact, query, 30) == before
    assert len(ids(exact, query, 30)) == 1


def test_a_database_without_pgvector(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    postgres.execute("CREATE ROLE owner LOGIN", "CREATE DATABASE plain OWNER owner")
    place = postgres.address("plain").replace("postgres@", "owner@")

    def opened() -> None:
        MemoryStore(place, fingerprint="numbered", dimension=D, create=True).close()

    try:
        with pytest.raises(StoreError, match=r"run as a superuser: psql -d plain -c \"CREATE EXT"):
            opened()
        made_of_it = "SELECT 1 FROM pg_namespace WHERE nspname = 'memnet'"
        assert postgres.command("psql", "-Atc", made_of_it, postgres.address("plain")) == ""
        postgres.execute("CREATE EXTENSION vector", database="plain")
        old = "UPDATE pg_extension SET extversion = '{}' WHERE extname = 'vector'"
        postgres.execute(old.format("0.7.4"), database="plain")
        with pytest.raises(StoreError, match=r"has pgvector 0\.7\.4, and .*ALTER EXTENSION"):
            opened()
        postgres.execute(old.format("0.8.5"), database="plain")
        opened()
    finally:
        postgres.execute("DROP DATABASE plain", "DROP ROLE owner")
