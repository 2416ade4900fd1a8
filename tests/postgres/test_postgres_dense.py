"""Vector search by pgvector, compared with the FAISS cache of the same store."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("asyncpg")

from memnet.errors import StoreError
from memnet.storage import MemoryStore, NewSlot, NewSource, Scope
from memnet.storage.postgres import dense
from memnet.storage.values import PassageVectors
from tests.postgres_server import Schema, Server, programs, server_folder
from tests.toy import fact, passage, source, told
from tests.waiting import until

D = 48
Vectors = NDArray[np.float32]
Open = Callable[..., MemoryStore]
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
    postgres: Server, postgres_schema: Schema, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Open]:
    """Opens the store of a schema with an index; a thousand vectors are enough for a graph."""
    postgres.execute("CREATE EXTENSION IF NOT EXISTS vector")
    monkeypatch.setattr(dense, "_MIN_GRAPH", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ExitStack() as stack:

        def open_one(index: str, schema: str = postgres_schema.name) -> MemoryStore:
            store = MemoryStore(
                f"{postgres_schema.address}&schema={schema}&index={index}",
                fingerprint="numbered",
                dimension=D,
                create=True,
                lock_seconds=20,
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
        # FAISS gives ties in any order.
        order = np.lexsort((expected.ids, -np.round(expected.scores, 6), ~expected.mask))
        assert np.array_equal(found.ids, expected.ids[order])
        assert np.allclose(found.scores, expected.scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("clusters", [0, 40])
def test_finds_what_faiss_finds(open_store: Open, clusters: int) -> None:
    vectors = made(4000, clusters)
    cache = open_store("faiss")
    cache.put([source("all", *numbered(0, 4000))], Numbered(vectors))
    exact, graph = open_store("exact"), open_store("hnsw")
    graph.rebuild()
    info = graph.index_info()
    assert info.kind == "hnsw"
    assert "graph (HNSW)" in info.description
    assert 0.9 < info.recall <= 1
    assert exact.index_info()[:3] == ("exact", "pgvector, every vector compared, 4000 vectors", 1.0)
    rng = np.random.default_rng(1)
    for limit in (10, 100):
        recalls = []
        for row in rng.integers(0, 4000, 25):
            query = vectors[row] + 0.1 * made(1, seed=int(row))[0]
            expected = cache.search_dense(query, limit)
            found = exact.search_dense(query, limit)
            assert np.allclose(found.scores, expected.scores, rtol=0, atol=1e-6)
            # Sums differ in the last bits, so those of nearly equal scores may change places.
            assert np.allclose(vectors[found.ids - 1] @ query, found.scores, rtol=0, atol=1e-6)
            assert len({*found.ids.tolist()}) == limit
            recalls.append(len({*ids(graph, query, limit)} & {*expected.ids.tolist()}) / limit)
        assert np.mean(recalls) >= 0.98
    assert graph.verify() == exact.verify() == []


def test_scopes_and_hidden_slots_leave_enough(open_store: Open) -> None:
    encode = Numbered(made(3000))
    cache, exact, graph = open_store("faiss"), open_store("exact"), open_store("hnsw")
    cache.put(
        [
            source("many", *numbered(0, 2900), namespace="wide", metadata={"year": 1990}),
            source("few", *numbered(2900, 3000), namespace="narrow"),
        ],
        encode,
    )
    with cache.changing():
        cache.append(
            NewSource(
                "statement",
                b"",
                [told(f"number {n} was", "Ann", 100.0) for n in range(200)],
                kind="statement",
            ),
            encode,
        )
        told_ids = cache.statements.ids(None).tolist()
        cache.statements.end(told_ids[:150], 200.0)
    graph.rebuild()
    scopes = [
        Scope(namespace="narrow"),
        Scope(namespace="wide"),
        Scope(where={"year": {"from": 1980}}),
        Scope(namespace="nowhere"),
        Scope(past=True),
        Scope(as_of=150.0),
    ]
    for scope in scopes:
        same(exact, cache, 120, scope)
        for query in made(4, seed=5):
            expected = ids(cache, query, 120, scope)
            found = ids(graph, query, 120, scope)
            assert len(found) == len(expected)
            assert len({*found} & {*expected}) >= 0.97 * len(expected)
    query = encode(["number 3"])[0]
    assert told_ids[3] not in ids(exact, query, 50)
    assert told_ids[3] in ids(exact, query, 50, Scope(past=True))
    for namespace in (None, "", "wide"):
        expected = cache.nearest_statements(query, 20, namespace)
        assert exact.nearest_statements(query, 20, namespace) == expected


def test_a_scope_wider_than_what_is_compared_goes_through_the_graph(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Numbered(made(3000, 10))
    graph, cache = open_store("hnsw"), open_store("faiss")
    graph.put(
        [source(f"s{n}", *numbered(n, n + 1), namespace=str(n % 2)) for n in range(3000)], encode
    )
    graph.rebuild()
    asked: list[bool] = []
    index = graph._process.index
    assert isinstance(index, dense.ServerIndex)
    candidates = index._candidates

    def noting(*given: object) -> object:
        asked.append(bool(given[-1]))
        return candidates(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "_candidates", noting)
    monkeypatch.setattr(
        index,
        "_config",
        index._config.model_copy(
            update={"index": index._config.index.model_copy(update={"max_gather": 100})}
        ),
    )
    for query in made(5, seed=3):
        found = ids(graph, query, 30, Scope(namespace="1"))
        assert len({*found} & {*ids(cache, query, 30, Scope(namespace="1"))}) >= 29
    assert asked == [True] * 5
    # More than half of all: what the graph gives is not enough.
    found = ids(graph, made(1, seed=4)[0], 1400, Scope(namespace="1"))
    assert len(found) == 1400
    assert len({*found}) == 1400


def test_equal_vectors_come_by_rising_ids(open_store: Open) -> None:
    exact = open_store("exact")
    vectors = np.repeat(made(3), 100, axis=0)
    exact.put([source(f"s{n}", *numbered(n, n + 1)) for n in range(300)], Numbered(vectors))
    found = ids(exact, vectors[0], 50)
    assert found == sorted(found)
    assert found[0] == min(exact.passage_ids())


def test_writers_with_any_index_keep_the_vectors(open_store: Open) -> None:
    encode = Numbered(made(1000))
    before = open_store("faiss")  # which opened the store before anybody asked for pgvector
    before.put([source("old", *numbered(0, 10))], encode)
    stores = {"faiss": before, "exact": open_store("exact"), "hnsw": open_store("hnsw")}

    def write(store: MemoryStore, first: int) -> None:
        for turn in range(6):
            store.put([source(f"own {first}", *numbered(first + turn, first + turn + 20))], encode)
            store.put([source(f"gone {first}", *numbered(first + 50, first + 60))], encode)
            store.delete([f"gone {first}"])

    threads = [
        threading.Thread(target=write, args=(store, 100 * n))
        for n, store in enumerate([*stores.values()] * 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores["exact"].counts().slots == 10 + 6 * 20
    assert stores["exact"].verify() == []
    same(stores["exact"], stores["faiss"])
    same(stores["hnsw"], stores["faiss"])


def test_a_filled_store_is_opened_with_an_index_while_it_is_written(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.postgres.halves.PAGE", 50)
    encode = Numbered(made(3000))
    cache = open_store("faiss")
    cache.put([source("all", *numbered(0, 1500))], encode)
    done = threading.Event()

    def write() -> None:
        turn = 0
        while not done.is_set():
            cache.put([source("moving", *numbered(2000 + turn, 2010 + turn))], encode)
            turn += 1

    writer = threading.Thread(target=write)
    writer.start()
    graph, exact = open_store("hnsw"), open_store("exact")
    done.set()
    writer.join()
    assert exact.verify() == []
    same(exact, cache)
    # The first search finds that there are enough vectors, and has the graph built.
    ids(graph, made(1)[0], 5)
    until(lambda: "recall@10" in graph.index_info().description, "no graph was built")
    assert len({*ids(graph, encode(["number 7"])[0], 30)}) == 30


def test_full_vectors_take_the_place_of_quick_ones(open_store: Open) -> None:
    quick, full = made(50), made(50, seed=1)
    cache, exact = open_store("faiss"), open_store("exact")

    def encode_quickly(texts: Sequence[str]) -> PassageVectors:
        return PassageVectors(Numbered(quick)(texts), quick=True)

    cache.put([source("all", *numbered(0, 50))], Numbered(full), encode_passages=encode_quickly)
    first = ids(exact, quick[7], 1)
    assert first == ids(cache, quick[7], 1)
    texts = cache.quick.texts(30)
    cache.quick.replace(texts, Numbered(full)(texts))
    same(exact, cache, 60)
    # One that is told is encoded in full, also for the passage that has the same key.
    rest = cache.quick.texts(1)[0]
    slot = NewSlot("passage", "", rest, 0, len(rest), rest, valid_from=1.0, relation="says")
    cache.put([NewSource("told", b"1", [slot], kind="statement")], Numbered(full))
    assert rest not in cache.quick.texts(50)
    assert exact.verify() == []
    same(exact, cache, 60)
    cache.delete(["all", "told"])
    assert ids(exact, quick[7], 5) == []


def test_facts_and_relations_are_not_found(open_store: Open) -> None:
    exact, cache = open_store("exact"), open_store("faiss")
    encode = Numbered(made(200))
    exact.put(
        [
            source("facts", *[fact(f"Ann {n}", "number 5", "Bo") for n in range(300)]),
            source("texts", *numbered(6, 100)),
        ],
        encode,
    )
    same(exact, cache, 50)
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


def test_verify_repairs(open_store: Open, postgres: Server, postgres_schema: Schema) -> None:
    exact, cache = open_store("exact"), open_store("faiss")
    exact.put([source("a", *numbered(0, 30))], Numbered(made(30)))
    table = f"{postgres_schema.name}.passage_vector"
    for damage in (
        f"DELETE FROM {table} WHERE slot = (SELECT max(slot) FROM {table})",
        f"UPDATE {table} SET half = (SELECT half FROM {table} ORDER BY slot LIMIT 1)",
        f"INSERT INTO {table} SELECT 100000, half FROM {table} LIMIT 1",
    ):
        postgres.execute(damage)
        assert exact.verify() == [
            "vector index: the vectors for pgvector are not those of the rows"
        ]
        exact.rebuild()
        assert exact.verify() == []
    same(exact, cache)


def test_without_pgvector_only_faiss(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    postgres.execute("DROP DATABASE IF EXISTS plain", "CREATE DATABASE plain")
    address = postgres.address("plain")

    def opened(index: str) -> MemoryStore:
        return MemoryStore(
            f"{address}&index={index}", fingerprint="numbered", dimension=D, create=True
        )

    with pytest.raises(StoreError, match=r"lacks pgvector"):
        opened("exact")
    made_of_it = "SELECT 1 FROM pg_namespace WHERE nspname = 'memnet'"
    assert postgres.command("psql", "-Atc", made_of_it, postgres.address("plain")).strip() == ""
    encode = Numbered(made(10))
    store = opened("faiss")
    store.put([source("a", *numbered(0, 10))], encode)
    assert len(ids(store, encode(["number 1"])[0], 5)) == 5
    for index in ("hnsw", "exact"):
        with pytest.raises(StoreError, match=r"lacks pgvector.*: psql -d plain -c \"CREATE EXT"):
            opened(index)
    postgres.execute(
        "CREATE EXTENSION vector", "UPDATE pg_extension SET extversion = '0.7.4'", database="plain"
    )
    with pytest.raises(StoreError, match=r"has pgvector 0\.7\.4, and .*ALTER EXTENSION"):
        opened("hnsw")
    store.close()
    postgres.execute("DROP DATABASE plain")


def test_a_replica_searches_what_it_has(
    open_store: Open, postgres: Server, postgres_schema: Schema
) -> None:
    encode = Numbered(made(40))
    cache = open_store("faiss")
    cache.put([source("a", *numbered(0, 40))], encode)
    with server_folder() as folder:
        replica = Server(folder, programs())
        replica.command(
            "pg_basebackup", "-D", replica.data, "-h", postgres.folder, "-U", "postgres", "-R",
            "-c", "fast", "--no-sync",
        )  # fmt: skip
        replica.start()
        try:

            def opened() -> MemoryStore:
                return MemoryStore(
                    f"{replica.address()}&schema={postgres_schema.name}&index=exact",
                    fingerprint="numbered",
                    dimension=D,
                )

            with pytest.raises(StoreError, match=r"read replica.*open the store once with index="):
                opened()
            exact = open_store("exact")

            def has_vectors() -> bool:
                try:
                    opened().close()
                except StoreError:
                    return False
                return True

            until(has_vectors, "the replica does not follow")
            store = opened()
            same(store, exact)
            store.close()
        finally:
            replica.stop()
