"""Vectors compared by pgvector: recall, latency, building and bytes by size.

python -m benchmarks.postgres_dense --data DIR --store STORE --server ADDRESS --scratch DIR

DIR of the data is that of ``benchmarks.multihop``, STORE a folder into which its corpus was
ingested with full vectors. The server takes schemas of its own, in a database that has pgvector.

Stores are filled with vectors made of real ones, as ``benchmarks.scale`` makes them, each of a slot
of 600 characters with a name of its own and five mentions of names that about ten slots
mention. Their rows are inserted directly, without words. Queries are the real questions. A hop is a
dense search for 100, the slots about three names, those that mention them, and ten slots fetched,
in one snapshot. Recall is that of an exact search in full precision.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from benchmarks.scale import Vectors, make_vectors, nearest, percentiles, questions, real_vectors
from benchmarks.scale import recall as mean_recall
from memnet.storage import MemoryStore, Scope
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.vectors import packed

_OUT = Path(__file__).parent / "results" / "postgres_dense.json"
_SIZES = (10_000, 100_000, 1_000_000)
_WIDTH = 384
_BATCH = 20_000
_TEXT = "The heron stands at the pier of the harbour and waits for the tide to turn. " * 8
_MENTIONS = 5
_SLOTS_OF_NAME = 10
_HOP_CANDIDATES = 100
_EXACT_QUERIES = 20


def opened(server: str, schema: str, index: str) -> MemoryStore:
    """A store on the server, with an index."""
    address = f"{server}{'&' if '?' in server else '?'}schema={schema}&index={index}"
    return MemoryStore(address, fingerprint="made", dimension=_WIDTH, create=True)


def fill(store: MemoryStore, rows: Vectors) -> None:
    """Insert slots with these vectors; their ids are those of the rows, from 1."""
    names = len(rows) // 2
    chance = np.random.default_rng(3)
    with store.changing():
        connection: Connection = store.connection
        symbols = ((n, f"name {n}") for n in range(1, len(rows) + names + 1))
        connection.insert("symbol", ("id", "name"), symbols)
        connection.set_last_id("slot", len(rows))
        connection.set_last_id("source", len(rows))
    for first in range(0, len(rows), _BATCH):
        ids = range(first + 1, min(first + _BATCH, len(rows)) + 1)
        blobs = packed(rows[first : ids[-1]])
        key = [n.to_bytes(16, "big") for n in ids]
        mentions = len(rows) + 1 + chance.integers(0, names, (len(ids), _MENTIONS))
        with store.changing():
            connection.insert("vector", ("id", "digest", "data"), zip(ids, key, blobs, strict=True))
            connection.insert(
                "source",
                ("id", "namespace", "name", "kind", "origin", "title", "metadata", "digest"),
                (
                    (n, str(n % 1000), f"p{n}", "document", "", "", "{}", digest)
                    for n, digest in zip(ids, key, strict=True)
                ),
            )
            connection.insert(
                "slot",
                ("id", "source", "kind", "title", "text", "start", "end", "relation", "value",
                 "vector", "digest"),
                (
                    (n, n, "passage", f"name {n}", _TEXT, 0, len(_TEXT), "", "", n, digest)
                    for n, digest in zip(ids, key, strict=True)
                ),
            )  # fmt: skip
            connection.insert("slot_key", ("symbol", "slot"), zip(ids, ids, strict=True))
            connection.insert(
                "mention",
                ("symbol", "slot"),
                {(int(name), n) for n, some in zip(ids, mentions, strict=True) for name in some},
            )


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    began = time.perf_counter()
    result = run()
    return result, time.perf_counter() - began


def hop(store: MemoryStore, query: Vectors, names: list[str]) -> None:
    """What one hop of an answer reads."""
    with store.reading():
        hits = store.search_dense(query, _HOP_CANDIDATES)
        store.search_symbolic(names, _HOP_CANDIDATES)
        store.search_mentions(names, _HOP_CANDIDATES)
        store.fetch(hits.ids[hits.mask][:10].tolist())


def latency(call: Callable[[Vectors], Any], queries: Vectors) -> dict[str, float]:
    """p50 and p95 of a call in milliseconds, once it has been made for all queries."""
    for query in queries:
        call(query)
    return percentiles([timed(partial(call, query))[1] for query in queries])


def measure(server: str, rows: Vectors, queries: Vectors) -> dict[str, Any]:
    """Fill a store, have its graph built, and measure; what is there is used again."""
    schema = f"made{len(rows)}"
    result: dict[str, Any] = {"vectors": len(rows)}
    exact = opened(server, schema, "exact")
    if not exact.count_slots():
        result["insert_seconds"] = timed(partial(fill, exact, rows))[1]
    truth = nearest(queries, rows, 100)[1] + 1
    found = [exact.search_dense(query, 100).ids for query in queries[:_EXACT_QUERIES]]
    result["exact"] = {
        "recall@100": mean_recall(found, truth[:_EXACT_QUERIES], 100),
        "ms": latency(lambda query: exact.search_dense(query, 10), queries[:_EXACT_QUERIES]),
    }
    graph = opened(server, schema, "hnsw")
    graph.search_dense(queries[0], 10)
    # Waits for the graph, which the search began to build.
    result["build_seconds"] = timed(graph.close)[1]
    graph = opened(server, schema, "hnsw")
    info = graph.index_info()
    result |= {"description": info.description, "recall_at_build": info.recall}
    sizes = "pg_table_size('vector'), coalesce(pg_relation_size(to_regclass('vector_graph')), 0)"
    result["bytes_of_vectors"], result["bytes_of_graph"] = graph.connection.only(f"SELECT {sizes}")
    for limit in (10, 100):
        search = partial(_found, graph, limit)
        result[f"hnsw@{limit}"] = {
            "ms": latency(search, queries),
            "recall": mean_recall([search(query) for query in queries], truth, limit),
        }
    # Of a thousandth of all slots, which are compared, and of all but a thousandth.
    narrow = Scope(namespace="7")
    result["narrow_ms"] = latency(lambda query: graph.search_dense(query, 10, narrow), queries)
    chance = np.random.default_rng(4)
    names = [f"name {n}" for n in chance.integers(1, 3 * len(rows) // 2, 3)]
    result["hop_ms"] = latency(lambda query: hop(graph, query, names), queries)
    graph.close()
    exact.close()
    print(json.dumps(result), flush=True)
    return result


def _found(store: MemoryStore, limit: int, query: Vectors) -> Any:
    return store.search_dense(query, limit).ids


def main() -> None:
    """Measure, and write the results beside those of other sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES)
    arguments = parser.parse_args()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = json.loads(_OUT.read_text()) if _OUT.exists() else {}
    result["environment"] = environment(["psycopg"])
    queries = questions(arguments.data)
    real = real_vectors(arguments.store)
    result.setdefault("sizes", {})
    for size in arguments.sizes:
        rows = make_vectors(real, max(arguments.sizes), arguments.scratch / "made.npy")[:size]
        result["sizes"][str(size)] = measure(arguments.server, rows, queries)
        _OUT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
