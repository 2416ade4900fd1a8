"""A store on a PostgreSQL server, where many write sources at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError, StoreError
from memnet.storage.backend import Backend, DenseIndex, Result
from memnet.storage.postgres.address import Address
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.index import ServerIndex
from memnet.storage.postgres.session import ConflictError, LostConnectionError, write_error
from memnet.storage.tables.checked import MissingRowError
from memnet.storage.tables.connection import Connection, Connections
from memnet.storage.values import ToDevice

_ATTEMPTS = 8


class PostgresBackend(Backend):
    """A schema of a database on a server; models and uploads lie on this machine."""

    many_writers = True

    def __init__(self, address: Address, create: bool) -> None:
        """Connect; ``create`` says whether a store may be made.

        Raises:
            StoreError: there is no store, or the server can't be used.
        """
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
        if connection.read_only:
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
            if not connection.inherited:
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
