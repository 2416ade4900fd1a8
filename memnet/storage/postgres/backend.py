"""A store on a PostgreSQL server, where many write sources at once, and its vector search.

Vectors are compared by pgvector: by a graph (HNSW), or with every vector. The server finds
candidates by a query in half precision, which are compared once more with all of it, so that scores
are those of any other index. Source of the graph: Malkov and Yashunin 2018, "Efficient and robust
approximate nearest neighbor search using Hierarchical Navigable Small World graphs".
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import psycopg
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError, StoreError
from memnet.storage.backend import Backend, DenseIndex, Result
from memnet.storage.place import Address, IndexKind
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.session import ConflictError, LostConnectionError, write_error
from memnet.storage.tables.checked import (
    IN_LIST,
    MissingRowError,
    Row,
    Values,
    checked_rows,
    checked_vectors,
)
from memnet.storage.tables.connection import Connection, Connections
from memnet.storage.values import Hits, IndexInfo, ToDevice, Within
from memnet.storage.vectors.search import sample_queries

_log = logging.getLogger("memnet")
_ATTEMPTS = 8  # at a change that other writers are in the way of
_MIN_GRAPH = 20_000  # vectors from which on there is a graph: to compare fewer takes as long
_LINKS, _BUILD_CANDIDATES = 16, 100  # of a node in each layer, and nodes they are chosen among
_BYTES_BESIDES_VECTOR = 500  # of memory for a node while the graph is built
_MAX_BUILD_MEMORY = 4 << 30
_LOCK_WAIT = "60s"  # how long building waits for transactions that began before
_LOOK_SECONDS = 60.0  # between two looks at whether there are enough vectors for a graph
_QUERIES = 50  # by which the recall of a graph is measured
_RECALL = "pgvector_recall"  # property: recall@10 of the graph, measured when it was built
_GRAPH = (
    "SELECT 1 FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid "
    "JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace "
    "WHERE nspname = current_schema() AND relname = 'vector_graph' AND indisvalid"
)


class PostgresBackend(Backend):
    """A schema of a database on a server; models and uploads lie on this machine."""

    many_writers = True

    def __init__(self, address: Address, create: bool) -> None:
        """Connect; ``create`` says whether a store may be made."""
        self._address = address
        self.place = address.shown
        self.folder = address.cache_folder()
        self.connections = Connections(lambda: PostgresConnection(address), self.place)
        try:
            connection = self._connection()
            if not create and not connection.schema_version:
                raise StoreError(
                    f"there is no memnet store at {self.place}; make one with 'memnet ingest'"
                )
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self.connections.close()
            raise StoreError(
                f"the folder {self.folder} for the store's files can't be made: {error}"
            ) from error
        except BaseException:
            self.connections.close()
            raise

    def reopened(self) -> "PostgresBackend":
        return PostgresBackend(self._address, create=False)

    def vector_index(
        self,
        fingerprint: str,  # noqa: ARG002
        dimension: int,
        config: StoreConfig,  # noqa: ARG002
        to_device: ToDevice | None,  # noqa: ARG002
    ) -> DenseIndex:
        return ServerIndex(self._address.index, self.place, dimension, self._connection)

    @contextmanager
    def writing(self, timeout: float, sources_only: bool) -> Iterator[bool]:
        """As ``Backend.writing``: by an advisory lock, which the server frees with the session.

        Within a transaction it is held until its end, whoever releases it: what was written must
        not be seen as old by the next holder.
        """
        connection = self._connection()
        if connection.session.read_only:
            raise StoreError(
                f"{self.place} is a standby, which can't be written; name the primary server"
            )
        if sources_only:
            yield False
            return
        key = connection.lock_key("writer")
        if not connection.lock_depth:
            try:
                taken = connection.take_lock(key, timeout)
            except psycopg.Error as error:
                raise write_error(error, self.place, committing=False) from error
            if not taken:
                raise StoreBusyError(
                    f"another process or thread is writing to {self.place}; reading goes on, try "
                    "this write again when it is done"
                )
        connection.lock_depth += 1
        try:
            yield False
        finally:
            if not connection.session.inherited:
                connection.lock_depth -= 1
                if not connection.lock_depth and not connection.changing:
                    connection.free_lock(key)

    def size_in_bytes(self, connection: Connection) -> int:
        row = connection.only(
            "SELECT CAST(coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bigint) "
            "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace "
            "WHERE nspname = current_schema() AND relkind = 'r'"
        )
        return int(row[0])

    def retrying(self, change: Callable[[], Result]) -> Result:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return change()
            except (ConflictError, LostConnectionError, MissingRowError):
                time.sleep(0.02 * 2**attempt)
        return change()

    def _connection(self) -> PostgresConnection:
        connection = self.connections.connection()
        assert isinstance(connection, PostgresConnection)  # noqa: S101
        return connection


class ServerIndex(DenseIndex):
    """The vectors of a store as pgvector compares them."""

    def __init__(
        self,
        kind: IndexKind,
        place: str,
        dimension: int,
        connection: Callable[[], PostgresConnection],
    ) -> None:
        self._kind: IndexKind = kind
        self._place = place
        self._dimension = dimension
        self._connection = connection
        self._guard = threading.Lock()
        self._builder: threading.Thread | None = None
        self._has_graph = False  # as of the last look
        self._next_look = 0.0  # by the monotonic clock

    def close(self) -> None:
        if self._builder is not None:
            self._builder.join()

    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        within: Within | None,
        hidden: NDArray[np.int64],
    ) -> Hits:
        connection = self._connection()
        query = np.ascontiguousarray(query, np.float32)
        # By a query in half precision the order is nearly the same.
        count = limit + max(20, limit // 2)
        by_graph = self._kind == "hnsw" and self._look_for_graph(connection)
        with connection.snapshot():
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
        return Hits.padded(ids[order], scores[order], limit)

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        return np.zeros((len(ids), self._dimension), np.float32), np.zeros(len(ids), np.bool_)

    def info(self) -> IndexInfo:
        connection = self._connection()
        (count,) = connection.only("SELECT count(*) FROM vector")
        recall = connection.property(_RECALL) if connection.one(_GRAPH) else None
        if self._kind == "hnsw" and recall is not None:
            description = f"pgvector's graph (HNSW), recall@10 {float(recall):.3f} when built"
            return IndexInfo("hnsw", f"{description}, {count} vectors", float(recall), 0)
        graph = "" if self._kind == "exact" else f", a graph from {_MIN_GRAPH} on"
        description = f"pgvector, every vector compared, {count} vectors{graph}"
        return IndexInfo(self._kind, description, 1.0, 0)

    def problems(self) -> list[str]:
        return []  # the server compares the rows themselves

    def rebuild(self) -> None:
        self._connection().execute("DROP INDEX IF EXISTS vector_graph")
        if self._kind == "hnsw":
            self._build()

    def _candidates(
        self,
        connection: PostgresConnection,
        query: NDArray[np.float32],
        count: int,
        within: Within | None,
        hidden: NDArray[np.int64],
        by_graph: bool,
    ) -> list[Row]:
        conditions, parameters = "", []
        if within is not None:
            conditions, parameters = within.condition, [*within.parameters]
        if len(hidden):
            # Looked up in a hash table, however many there are, and the graph's order is kept.
            conditions += " AND slot.id NOT IN (SELECT unnest(CAST(? AS bigint[])))"
            parameters.append(hidden.tolist())
        # The subquery is evaluated once, and no part of the comparison with each row.
        distance = f"CAST(data AS halfvec({self._dimension})) <#> (SELECT CAST(? AS halfvec))"
        # A sum has no index: so every vector is compared, and of equal ones the first ids are kept.
        order = distance if by_graph else f"({distance}) + 0, slot.id"
        return connection.rows(
            "SELECT slot.id, vector.data FROM vector JOIN slot ON slot.vector = vector.id "
            f"WHERE slot.kind = 'passage' {conditions} ORDER BY {order} LIMIT ?",
            *parameters,
            f"[{','.join(map(str, query.tolist()))}]",
            count,
        )

    def _look_for_graph(self, connection: PostgresConnection) -> bool:
        """Whether there is a graph; where there is none and should be, a thread builds it."""
        with self._guard:
            now = time.monotonic()
            if now >= self._next_look:
                self._next_look = now + _LOOK_SECONDS
                self._has_graph = connection.one(_GRAPH) is not None
                is_building = self._builder is not None and self._builder.is_alive()
                if (
                    not connection.session.read_only
                    and not is_building
                    and self._lacks_graph(connection)
                ):
                    self._builder = threading.Thread(target=self._build_or_warn)
                    self._builder.start()
            return self._has_graph

    def _lacks_graph(self, connection: PostgresConnection) -> bool:
        enough = connection.one("SELECT 1 FROM vector OFFSET ? LIMIT 1", _MIN_GRAPH - 1)
        return enough is not None and connection.one(_GRAPH) is None

    def _build_or_warn(self) -> None:
        try:
            self._build()
            self._next_look = 0.0
        except StoreError as error:
            self._next_look = math.inf
            _log.warning("%s; until it is built, every vector is compared", error)

    def _build(self) -> None:
        """Build the graph if it is lacking; readers and writers go on meanwhile."""
        connection = self._connection()
        key = connection.lock_key("graph")
        connection.take_lock(key, math.inf)
        try:
            if not self._lacks_graph(connection):
                return
            (count,) = connection.only("SELECT count(*) FROM vector")
            memory = min(count * (2 * self._dimension + _BYTES_BESIDES_VECTOR), _MAX_BUILD_MEMORY)
            _log.info("%s: the graph of %d vectors is built", self._place, count)
            for statement in (
                "DROP INDEX IF EXISTS vector_graph",  # one that was not finished
                f"SET lock_timeout = '{_LOCK_WAIT}'",
                "SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes("
                "current_setting('maintenance_work_mem')) / 1024, "
                f"{memory // 1024}) || 'kB', false)",
                "CREATE INDEX CONCURRENTLY vector_graph ON vector USING hnsw "
                f"((CAST(data AS halfvec({self._dimension}))) halfvec_ip_ops) "
                f"WITH (m = {_LINKS}, ef_construction = {_BUILD_CANDIDATES})",
            ):
                connection.execute(statement)
            recall = self._measured_recall(connection)
            with connection.transaction(advance=False):
                connection.set_property(_RECALL, str(recall))
        finally:
            for setting in ("lock_timeout", "maintenance_work_mem"):
                connection.execute(f"RESET {setting}")
            connection.free_lock(key)

    def _measured_recall(self, connection: PostgresConnection) -> float:
        """Recall@10 of the graph for some queries like questions."""
        (last,) = connection.only("SELECT max(id) FROM vector")
        rng = np.random.default_rng(0)
        chosen = np.unique(rng.integers(1, last + 1, 40 * _QUERIES)).tolist()
        rows = connection.rows(
            f"SELECT data FROM vector WHERE id {IN_LIST} ORDER BY id LIMIT ?",
            Values(chosen),
            10 * _QUERIES,
        )
        sample = checked_vectors([row[0] for row in rows], self._dimension)
        nothing, recalls = np.zeros(0, np.int64), []
        for query in sample_queries(sample, _QUERIES, rng) if len(sample) else ():
            with connection.snapshot():
                found, wanted = (
                    self._candidates(connection, query, 10, None, nothing, by_graph)
                    for by_graph in (True, False)
                )
            recalls.append(len(set(found) & set(wanted)) / max(1, len(wanted)))
        return float(np.mean(recalls)) if recalls else 1.0
