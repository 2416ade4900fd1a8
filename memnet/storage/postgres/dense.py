"""Vector search by pgvector on the server: a graph (HNSW), or a comparison with every vector.

The server finds candidates by vectors in half precision, which are compared once more in full
precision here, so that scores are those of any other index. Source of the graph: Malkov and
Yashunin 2018, "Efficient and robust approximate nearest neighbor search using Hierarchical
Navigable Small World graphs".
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage.backend import DenseIndex
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.errors import psql
from memnet.storage.postgres.halves import FILLED, half_schema
from memnet.storage.tables.checked import IN_LIST, Row, Values, checked_rows, checked_vectors
from memnet.storage.values import Hits, Within
from memnet.storage.vectors.index import IndexInfo
from memnet.storage.vectors.search import sample_queries

_log = logging.getLogger("memnet")
_OLDEST_PGVECTOR = (0, 8)
"""The first that goes on in its graph until enough rows pass a condition."""
_MIN_GRAPH = 20_000
"""Vectors from which on there is a graph: to compare fewer takes the server as long."""
_LINKS, _BUILD_CANDIDATES = 16, 100
"""Links of a node in each layer of the graph, and nodes among which they are chosen."""
_BYTES_BESIDES_VECTOR = 500
"""Of memory for a node while the graph is built."""
_MAX_BUILD_MEMORY = 4 << 30
_LOCK_WAIT = "60s"
"""How long building the graph waits for transactions that began before."""
_RECALL_HITS = 10
_RECALL = "pgvector_recall"
"""Property: recall@10 of the graph, measured when it was built."""
_LOOK_SECONDS = 60.0
"""Between two looks at whether there are enough vectors for a graph."""
_GRAPH = (
    "SELECT indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid "
    "JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace "
    "WHERE nspname = current_schema() AND relname = 'passage_vector_graph'"
)
_DISTANCE = "half <#> (SELECT CAST(CAST(? AS real[]) AS halfvec))"
"""The subquery is evaluated once, and no part of the comparison with each row."""


class ServerIndex(DenseIndex):
    """The vectors of a store as pgvector compares them."""

    def __init__(
        self,
        kind: Literal["hnsw", "exact"],
        place: str,
        dimension: int,
        config: StoreConfig,
        connection: Callable[[], PostgresConnection],
    ) -> None:
        """Read nothing yet.

        Args:
            kind: whether there is to be a graph.
            place: of the store, as messages name it.
            dimension: D, width of the vectors.
            config: settings.
            connection: gives the calling thread's own.
        """
        self._kind = kind
        self._place = place
        self._dimension = dimension
        self._config = config
        self._connection = connection
        self._guard = threading.Lock()
        self._builder: threading.Thread | None = None
        self._next_look = 0.0
        """When to look again whether a graph is to be built, by the monotonic clock."""

    def prepare(self) -> None:
        """As ``DenseIndex.prepare``: give vectors in half precision to passages without."""
        connection = self._connection()
        if connection.property(FILLED) is None:
            if connection.read_only:
                raise StoreError(
                    f"{self._place} is a read replica of a store without vectors for pgvector; "
                    f"open the store once with index={self._kind} on the server that it copies"
                )
            with self._one_at_a_time(connection, "vectors"):
                if connection.property(FILLED) is None:
                    self._fill(connection)

    def close(self) -> None:
        """As ``DenseIndex.close``."""
        if self._builder is not None:
            self._builder.join()

    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        within: Within | None,
        hidden: NDArray[np.int64],
    ) -> Hits:
        """As ``DenseIndex.search``."""
        connection = self._connection()
        query = np.ascontiguousarray(query, np.float32)
        if connection.changing:
            connection.halves.follow()
        elif self._kind == "hnsw":
            self._build_if_wanted(connection)
        # By half precision and in full the order is nearly the same.
        count = limit + max(20, limit // 2)
        with connection.snapshot():
            by_graph = self._kind == "hnsw" and not self._is_narrow(connection, within)
            rows = self._candidates(connection, query, count, within, hidden, by_graph)
            if by_graph and len(rows) < count:
                # Too few of what the server looked at passed the conditions.
                rows = self._candidates(connection, query, count, within, hidden, False)
        checked_rows(rows, "a vector", int, bytes)
        ids = np.array([row[0] for row in rows], np.int64)
        vectors = checked_vectors([row[1] for row in rows], self._dimension)
        # Row by row: a product of matrices gives equal rows sums that differ in the last bits.
        scores = np.sum(vectors * query, axis=1)
        order = np.lexsort((ids, -scores))[:limit]
        mask = np.arange(limit) < len(order)
        hits = Hits(np.zeros(limit, np.int64), np.zeros(limit, np.float32), mask)
        hits.ids[mask], hits.scores[mask] = ids[order], scores[order]
        return hits

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """As ``DenseIndex.vectors``: none."""
        return np.zeros((len(ids), self._dimension), np.float32), np.zeros(len(ids), np.bool_)

    def info(self) -> IndexInfo:
        """As ``DenseIndex.info``."""
        connection = self._connection()
        with connection.snapshot():
            count = connection.only("SELECT count(*) FROM passage_vector")[0]
            recall = connection.property(_RECALL) if self._has_graph(connection) else None
        if self._kind == "exact":
            return IndexInfo("exact", f"pgvector, every vector compared, {count} vectors", 1.0, 0)
        if recall is None:
            description = f"pgvector, every vector compared: no graph yet, {count} vectors"
            return IndexInfo("hnsw", description, 1.0, 0)
        description = f"pgvector's graph (HNSW), recall@10 {float(recall):.3f} when built"
        return IndexInfo("hnsw", f"{description}, {count} vectors", float(recall), 0)

    def problems(self) -> list[str]:
        """As ``DenseIndex.problems``."""
        if self._connection().halves.differ():
            return ["vector index: the vectors for pgvector are not those of the rows"]
        return []

    def rebuild(self) -> None:
        """As ``DenseIndex.rebuild``; searches go on meanwhile."""
        connection = self._connection()
        last: int | None = 0
        while last is not None:
            with connection.alone():
                last = connection.halves.replace_page(last)
        if self._kind == "hnsw":
            connection.execute("DROP INDEX IF EXISTS passage_vector_graph")
            self._build()

    def save_if_stale(self) -> None:
        """Nothing: the server's rows are all there is."""

    def _fill(self, connection: PostgresConnection) -> None:
        """Make the table, if nobody did, and add the vectors of all passages to it."""
        if not connection.halves.exist():
            _log.info("%s: vectors for pgvector are made", self._place)
            with connection.alone():
                connection.define(half_schema(self._dimension))
        last: int | None = 0
        while last is not None:
            with connection.alone():
                last = connection.halves.add_page(last)
                if last is None:
                    connection.set_property(FILLED, "filled")
        connection.execute("ANALYZE passage_vector")

    def _is_narrow(self, connection: PostgresConnection, within: Within | None) -> bool:
        """Whether there are so few slots to choose from that comparing them is faster."""
        if within is None:
            return False
        most = self._config.index.max_gather
        (count,) = connection.only(
            "SELECT count(*) FROM (SELECT 1 FROM slot WHERE slot.kind = 'passage' "
            f"{within.condition} LIMIT {most + 1}) AS counted",
            *within.parameters,
        )
        return bool(count <= most)

    def _candidates(
        self,
        connection: PostgresConnection,
        query: NDArray[np.float32],
        count: int,
        within: Within | None,
        hidden: NDArray[np.int64],
        by_graph: bool,
    ) -> list[Row]:
        """Ids and full vectors, as stored, of the nearest by half precision."""
        conditions, parameters = "", list[Any]()
        if within is not None:
            conditions, parameters = within.condition, [*within.parameters]
        if len(hidden):
            # Looked up in a hash table, however many there are, and the graph's order is kept.
            conditions += " AND passage_vector.slot NOT IN (SELECT unnest(CAST(? AS bigint[])))"
            parameters.append(hidden.tolist())
        joined = "" if within is None else "JOIN slot ON slot.id = passage_vector.slot"
        # A sum has no index: so every vector is compared, and of equal ones the first ids are kept.
        order = _DISTANCE if by_graph else f"({_DISTANCE}) + 0, passage_vector.slot"
        return connection.rows(
            "SELECT found.slot, vector.data FROM ("
            f"SELECT passage_vector.slot FROM passage_vector {joined} WHERE true {conditions} "
            f"ORDER BY {order} LIMIT {count}) AS found "
            "JOIN slot ON slot.id = found.slot JOIN vector ON vector.id = slot.vector",
            *parameters,
            query.tolist(),
        )

    def _build_if_wanted(self, connection: PostgresConnection) -> None:
        """Begin to build the graph, in a thread of its own, where there is none and should be."""
        with self._guard:
            now = time.monotonic()
            if now < self._next_look or connection.read_only:
                return
            self._next_look = now + _LOOK_SECONDS
            if self._builder is not None and self._builder.is_alive():
                return
            if self._lacks_graph(connection):
                self._builder = threading.Thread(target=self._build_or_warn)
                self._builder.start()

    def _lacks_graph(self, connection: PostgresConnection) -> bool:
        """Whether there is no graph of enough vectors."""
        if self._has_graph(connection):
            return False
        (count,) = connection.only(
            f"SELECT count(*) FROM (SELECT 1 FROM passage_vector LIMIT {_MIN_GRAPH}) AS counted"
        )
        return bool(count >= _MIN_GRAPH)

    def _has_graph(self, connection: PostgresConnection) -> bool:
        row = connection.one(_GRAPH)
        return row is not None and bool(row[0])

    def _build_or_warn(self) -> None:
        """Build the graph; without one every vector is compared."""
        try:
            self._build()
        except StoreError as error:
            self._next_look = math.inf
            _log.warning("%s; until it is built, every vector is compared", error)

    def _build(self) -> None:
        """Build the graph if it is lacking; readers and writers go on meanwhile.

        Raises:
            StoreError: it can't be built.
        """
        connection = self._connection()
        with self._one_at_a_time(connection, "graph"):
            if not self._lacks_graph(connection):
                return
            (count,) = connection.only("SELECT count(*) FROM passage_vector")
            memory = min(count * (2 * self._dimension + _BYTES_BESIDES_VECTOR), _MAX_BUILD_MEMORY)
            _log.info("%s: the graph of %d vectors is built", self._place, count)
            try:
                for statement in (
                    "DROP INDEX IF EXISTS passage_vector_graph",  # one that was not finished
                    f"SET lock_timeout = '{_LOCK_WAIT}'",
                    "SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes("
                    "current_setting('maintenance_work_mem')) / 1024, "
                    f"{memory // 1024}) || 'kB', false)",
                    "CREATE INDEX CONCURRENTLY passage_vector_graph ON passage_vector USING hnsw "
                    f"(half halfvec_ip_ops) WITH (m = {_LINKS}, "
                    f"ef_construction = {_BUILD_CANDIDATES})",
                ):
                    connection.execute(statement)
            finally:
                for setting in ("lock_timeout", "maintenance_work_mem"):
                    connection.execute(f"RESET {setting}")
            recall = self._measured_recall(connection)
            with connection.transaction(advance=False):
                connection.set_property(_RECALL, str(recall))

    def _measured_recall(self, connection: PostgresConnection) -> float:
        """Recall@10 of the graph for some queries like questions."""
        count = self._config.index.recall_queries // 4
        (last,) = connection.only("SELECT max(slot) FROM passage_vector")
        rng = np.random.default_rng(0)
        # Some of these ids are no longer there.
        chosen = np.unique(rng.integers(1, last + 1, 40 * count)).tolist()
        rows = connection.rows(
            "SELECT CAST(half AS real[]) FROM passage_vector "
            f"WHERE slot {IN_LIST} ORDER BY slot LIMIT {10 * count}",
            Values(chosen),
        )
        if not rows:
            return 1.0
        sample = np.array([row[0] for row in rows], np.float32)
        nothing = np.zeros(0, np.int64)
        recalls = []
        for query in sample_queries(sample, count, rng):
            with connection.snapshot():
                found, wanted = (
                    _scores(query, rows, self._dimension)
                    for by_graph in (True, False)
                    for rows in [
                        self._candidates(connection, query, _RECALL_HITS, None, nothing, by_graph)
                    ]
                )
            # Ties may be in another order.
            recalls.append(float(np.mean(found >= wanted[-1] - 1e-6)))
        return float(np.mean(recalls))

    @contextmanager
    def _one_at_a_time(self, connection: PostgresConnection, what: str) -> Iterator[None]:
        """Wait until no other session makes something, and keep the others from it."""
        key = connection.lock_key(what)
        connection.take_lock(key, float("inf"))
        try:
            yield
        finally:
            connection.free_lock(key)


def check_pgvector(connection: PostgresConnection, place: str, kind: str) -> None:
    """Check that the database has pgvector, which only a superuser or its owner may add.

    Args:
        connection: to the database.
        place: of the store, as messages name it.
        kind: of index that needs it.

    Raises:
        StoreError: it has none, or one that is too old.
    """
    row = connection.one("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if row is not None and _version(row[0]) >= _OLDEST_PGVECTOR:
        return
    oldest = ".".join(map(str, _OLDEST_PGVECTOR))
    has, verb = ("lacks pgvector", "CREATE EXTENSION vector")
    if row is not None:
        has, verb = (f"has pgvector {row[0]}", "ALTER EXTENSION vector UPDATE")
    raise StoreError(
        f"{place} {has}, and index={kind} needs {oldest} or newer; leave index= out, or run "
        f"as a superuser: {psql(connection.database, verb)}"
    )


def _scores(query: NDArray[np.float32], rows: list[Row], dimension: int) -> NDArray[np.float32]:
    """Inner products [K] float32 of candidates with their query, highest first."""
    vectors = checked_vectors([row[1] for row in rows], dimension)
    return np.sort(vectors @ query)[::-1]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
