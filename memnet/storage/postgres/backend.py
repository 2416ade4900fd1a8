"""A store on a PostgreSQL server: many write sources at once, and the files lie on this machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from filelock import FileLock, Timeout

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError, StoreError
from memnet.storage.backend import Backend, Result, WriterLock
from memnet.storage.postgres.address import Address
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.errors import ConflictError, LostConnectionError, write_error
from memnet.storage.postgres.index import ServerIndex
from memnet.storage.tables.checked import MissingRowError
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.connections import Connections
from memnet.storage.vectors.dense import DenseIndex

_ATTEMPTS = 8
_SAVING_LOCK = "saving.lock"
_OLDEST_SERVER = 15


class _ServerLock(WriterLock):
    """An advisory lock of the session of the calling thread, which the server frees with it.

    Within a transaction it is held until its end, whoever releases it: what was written must not be
    seen as old by the next holder.
    """

    def __init__(self, connection: Callable[[], PostgresConnection], place: str) -> None:
        """Take nothing yet.

        Args:
            connection: gives the calling thread's own.
            place: of the store, as messages name it.
        """
        self._connection = connection
        self._place = place

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self._connection().lock_depth

    def check_writable(self) -> None:
        if self._connection().read_only:
            raise StoreError(
                f"{self._place} is a standby, which can't be written; name the primary server"
            )

    def acquire(self, timeout: float) -> None:
        self.check_writable()
        connection = self._connection()
        if connection.lock_depth:
            connection.lock_depth += 1
            return
        try:
            taken = connection.take_lock(connection.lock_key("writer"), timeout)
        except psycopg.Error as error:
            raise write_error(error, self._place, committing=False) from error
        if not taken:
            raise StoreBusyError(
                f"another process or thread is writing to {self._place}; reading goes on, try "
                "this write again when it is done"
            )
        connection.lock_depth += 1

    def release(self) -> None:
        connection = self._connection()
        if connection.inherited:
            return
        connection.lock_depth -= 1
        if not connection.lock_depth and not connection.changing:
            connection.free_lock(connection.lock_key("writer"))


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
        self.place = address.shown
        self.folder = address.cache_folder()
        self.connections = Connections(self._connect, self.place)
        self.lock = _ServerLock(self._connection, self.place)
        try:
            connection = self._connection()
            self.read_only = connection.read_only
            if connection.server_version < _OLDEST_SERVER:
                raise StoreError(
                    f"{self.place} is on PostgreSQL {connection.server_version}; memnet needs "
                    f"{_OLDEST_SERVER} or newer"
                )
            if not create and not connection.schema_version:
                raise StoreError(
                    f"there is no memnet store at {self.place}; make one with 'memnet ingest'"
                )
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self.connections.close()
            raise StoreError(
                f"the folder {self.folder} for the store's index can't be made: {error}"
            ) from error
        except BaseException:
            self.connections.close()
            raise

    def again(self) -> "PostgresBackend":
        return PostgresBackend(self._address, create=False)

    @contextmanager
    def try_saving(self) -> Iterator[bool]:
        """As ``Backend.try_saving``: among the processes of this machine."""
        try:
            lock = FileLock(self.folder / _SAVING_LOCK, mode=0o600).acquire(timeout=0)
        except (Timeout, OSError):
            yield False
            return
        with lock:
            yield True

    def check_copy(self, connection: Connection, dimension: int) -> None:
        """As ``Backend.check_copy``: a server's rows are not copied file by file."""

    def server_index(self, dimension: int, config: StoreConfig) -> DenseIndex | None:  # noqa: ARG002
        return ServerIndex(self._address.index, self.place, dimension, self._connection)

    def share_rights(self) -> None:
        """As ``Backend.share_rights``: the folder is this user's alone."""

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
