"""A store on a PostgreSQL server: many write sources at once, and the files lie on this machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage.backend import Backend, DenseIndex, Result
from memnet.storage.postgres.address import Address
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.dense import ServerIndex, check_pgvector
from memnet.storage.postgres.errors import ConflictError, LostConnectionError
from memnet.storage.postgres.lock import ServerLock
from memnet.storage.tables.checked import MissingRowError
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.connections import Connections
from memnet.storage.vectors.cache import IndexCache
from memnet.storage.vectors.search import ToDevice

_ATTEMPTS = 8
_SAVING_LOCK = "saving.lock"
_OLDEST_SERVER = 15


class PostgresBackend(Backend):
    """A schema of a database on a server."""

    many_writers = True

    def __init__(self, address: Address, create: bool) -> None:
        """Connect.

        Args:
            address: of the store.
            create: whether a store may be made.

        Raises:
            StoreError: there is no store, or the server can't be used.
        """
        self._address = address
        self.place = str(address)
        self.folder = address.cache_folder()
        self.connections = Connections(self._connect, self.place)
        self._lock = ServerLock(self._connection, self.place)
        try:
            connection = self._connection()
            if connection.server_version < _OLDEST_SERVER:
                raise StoreError(
                    f"{self.place} is on PostgreSQL {connection.server_version}; memnet needs "
                    f"{_OLDEST_SERVER} or newer"
                )
            if not create and not connection.schema_version:
                raise StoreError(
                    f"there is no memnet store at {self.place}; make one with 'memnet ingest'"
                )
            if address.index != "faiss":
                # Before a store is made that could not be opened so again.
                check_pgvector(connection, self.place, address.index)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self.connections.close()
            raise StoreError(
                f"the folder {self.folder} for the store's index can't be made: {error}"
            ) from error
        except BaseException:
            self.connections.close()
            raise

    def reopened(self) -> "PostgresBackend":
        """As ``Backend.reopened``."""
        return PostgresBackend(self._address, create=False)

    def vector_index(
        self, fingerprint: str, dimension: int, config: StoreConfig, to_device: ToDevice | None
    ) -> DenseIndex:
        """As ``Backend.vector_index``."""
        kind = self._address.index
        if kind != "faiss":
            return ServerIndex(kind, self.place, dimension, config, self._connection)
        return IndexCache(
            self.folder,
            fingerprint,
            dimension,
            config,
            to_device,
            connection=self.connections.connection,
            try_writing=self._try_saving,
            on_saved=lambda: None,
            is_local=False,
        )

    @contextmanager
    def writing(self, timeout: float, sources_only: bool) -> Iterator[bool]:
        """As ``Backend.writing``."""
        if sources_only:
            self._lock.check_writable()
        else:
            self._lock.acquire(timeout)
        try:
            yield False
        finally:
            if not sources_only:
                self._lock.release()

    @contextmanager
    def _try_saving(self) -> Iterator[bool]:
        """Whether no other process of this machine may save the vector index now."""
        try:
            lock = FileLock(self.folder / _SAVING_LOCK, mode=0o600).acquire(timeout=0)
        except (Timeout, OSError):
            yield False
            return
        with lock:
            yield True

    def size_in_bytes(self, connection: Connection) -> int:
        """As ``Backend.size_in_bytes``."""
        row = connection.only(
            "SELECT CAST(coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bigint) "
            "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace "
            "WHERE nspname = current_schema() AND relkind = 'r'"
        )
        return int(row[0])

    def retrying(self, change: Callable[[], Result]) -> Result:
        """As ``Backend.retrying``."""
        for attempt in range(_ATTEMPTS - 1):
            try:
                return change()
            except (ConflictError, LostConnectionError, MissingRowError):
                time.sleep(0.02 * 2**attempt)
        return change()

    def _connect(self) -> PostgresConnection:
        return PostgresConnection(self._address)

    def _connection(self) -> PostgresConnection:
        connection = self.connections.connection()
        assert isinstance(connection, PostgresConnection)  # noqa: S101
        return connection


def connect_existing(address: Address, timeout: float) -> PostgresConnection | None:
    """A connection to a store as it is; None without a store.

    Args:
        address: of the store.
        timeout: how many seconds the server may take to answer.

    Raises:
        StoreError: the server can't be reached, or refuses.
    """
    connection = PostgresConnection(address, timeout)
    if connection.schema_version:
        return connection
    connection.close()
    return None
