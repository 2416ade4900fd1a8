"""A thread's connection to the database of a store on a server."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from memnet.errors import StoreError
from memnet.storage.postgres.address import Address
from memnet.storage.postgres.checks import problems
from memnet.storage.postgres.errors import (
    FAILURES,
    LOST,
    LostConnectionError,
    one_line,
    psql,
    read_error,
    write_error,
)
from memnet.storage.postgres.halves import HalfVectors
from memnet.storage.postgres.history import PostgresHistory
from memnet.storage.postgres.metadata import metadata_condition
from memnet.storage.postgres.schema import MIGRATIONS
from memnet.storage.postgres.session import Session
from memnet.storage.postgres.text import PostgresText
from memnet.storage.tables.checked import IN_LIST, DuplicateRowsError, Row, Values, checked_count
from memnet.storage.tables.connection import (
    SCHEMA_VERSION,
    UNUSED_SYMBOL,
    UNUSED_VECTOR,
    Connection,
    Numbered,
    StoredVector,
    check_version,
    on_conflict,
)

_log = logging.getLogger("memnet")
_RETRY_SECONDS = 10.0
"""How long a server that restarts is waited for."""
_SWEEP_SECONDS = 5
"""How long the end of a change waits for other writers, to delete what nothing uses."""
_Result = TypeVar("_Result")


class PostgresConnection(Connection):
    """A connection of one thread to a schema on a server.

    A statement outside of ``transaction`` and ``snapshot`` is run once more where the connection
    was lost; within them the block has to be run again by whoever began it.
    """

    locking = "FOR UPDATE"
    pairs = (
        "(SELECT number - 1 AS key, list[number][1] AS a, list[number][2] AS b "
        "FROM (SELECT CAST(? AS bigint[]) AS list) AS given, "
        "generate_series(1, coalesce(array_length(list, 1), 0)) AS number)"
    )

    def __init__(self, address: Address, connect_seconds: float = 10.0) -> None:
        """Connect, without changing the schema.

        Args:
            address: of the store.
            connect_seconds: how long the server may take to answer.

        Raises:
            StoreError: the server can't be reached, lacks what is needed, or the store is newer
                than this version.
        """
        self.changing = False
        self.history = PostgresHistory(self)
        self.text = PostgresText(self)
        self.halves = HalfVectors(self)
        self.lock_depth = 0
        """How many blocks hold the lock of the store's writer in this session."""
        self._place = str(address)
        self._address = address
        self._connect_seconds = connect_seconds
        self._advances = False
        self._committing = False
        self._in_snapshot = False
        self._snapshot_rows: dict[tuple[Any, ...], Row | None] = {}
        self._closed = False
        self._types: dict[tuple[str, str], str] = {}
        """Of the columns of tables that were inserted into."""
        self._unused: tuple[set[int], set[int]] = (set(), set())
        """Symbols and vectors to look at after the commit."""
        # Reentrant; ``close`` takes it too.
        self._guard = threading.RLock()
        self._session = Session(address, connect_seconds)
        try:
            self.read_only: bool = self.only("SELECT pg_is_in_recovery()")[0]
            self.schema_version = self._read_schema_version()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """As ``Connection.close``."""
        with self._guard:
            self._closed = True
            self._session.close()

    def migrate(self) -> None:
        """As ``Connection.migrate``; the caller holds the lock of the store's writer."""
        # Another process may have done so while this one waited for the lock.
        self.schema_version = self._read_schema_version()
        for number in range(self.schema_version + 1, SCHEMA_VERSION + 1):
            with self._changes():
                self._session.command(
                    f"BEGIN; {self._new_schema()}"
                    f"{MIGRATIONS[number]}; "
                    f"INSERT INTO property VALUES ('schema_version', '{number}') "
                    "ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        """As ``Connection.transaction``."""
        if self.changing:
            self._advances |= advance
            yield
            return
        if self._in_snapshot:
            raise StoreError("a change within reading() would see old rows; end the block first")
        with self._changes():
            # Shared among writers; whoever deletes what nothing uses waits for all of them.
            self._begin(
                f"BEGIN; SELECT pg_advisory_xact_lock_shared({self._sweep_key}), "
                "set_config('memnet.token', CAST(nextval('transaction_token') AS text), true)"
            )
            self._advances = advance
            yield
            self._commit()
        self._sweep()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A transaction that changes no slots, while no other transaction changes anything."""
        with self._changes():
            self._begin(f"BEGIN; SELECT pg_advisory_xact_lock({self._sweep_key})")
            yield
            self._session.command("COMMIT")

    def define(self, statements: str) -> None:
        """Run statements that define tables, functions and triggers, in a transaction."""
        self._session.command(statements)

    def release_space(self) -> None:
        """As ``Connection.release_space``: the server's own vacuum does so."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """As ``Connection.snapshot``."""
        with self._guard:
            if self.changing or self._in_snapshot:
                yield
                return
            try:
                self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            except FAILURES as error:
                raise read_error(error, self._place) from error
            self._in_snapshot = True
            self._snapshot_rows.clear()
            try:
                yield
            except FAILURES as error:
                raise read_error(error, self._place) from error
            finally:
                self._in_snapshot = False
                self._roll_back()

    def execute(self, statement: str, *parameters: Any) -> None:
        """As ``Connection.execute``."""
        self._write(lambda: self._session.rows(statement, parameters))

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """As ``Connection.execute_many``."""
        given = list(rows)
        if given:
            self._write(lambda: self._session.run_many(statement, given))

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        new_only: bool = False,
        replacing: Sequence[str] = (),
    ) -> None:
        """As ``Connection.insert``."""
        given = list(rows)
        if not given:
            return
        if not new_only and not replacing:
            self._write(lambda: self._copy(table, columns, given))
            return
        names = ", ".join(f'"{column}"' for column in columns)
        arrays = ", ".join(f"CAST(? AS {self._type(table, column)}[])" for column in columns)
        ending = " ON CONFLICT DO NOTHING" if new_only else on_conflict(columns, replacing)
        self.execute(
            f"INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays}){ending}",
            *map(list, zip(*given, strict=True)),
        )

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """As ``Connection.rows``."""
        try:
            with self._guard:
                if self._closed:
                    raise StoreError("the store was closed while it was read; open it again")
                return self._once_more(lambda: self._session.rows(statement, parameters))
        except FAILURES as error:
            if self.changing:
                raise
            raise read_error(error, self._place) from error

    def one_of_snapshot(self, statement: str, *parameters: Any) -> Row | None:
        """As ``Connection.one_of_snapshot``: each way to the server and back takes its time."""
        if not self._in_snapshot:
            return self.one(statement, *parameters)
        key = (statement, *parameters)
        if key not in self._snapshot_rows:
            self._snapshot_rows[key] = self.one(statement, *parameters)
        return self._snapshot_rows[key]

    def new_ids(self, table: Numbered, count: int) -> list[int]:
        """As ``Connection.new_ids``."""
        rows = self.rows(
            f"SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, ?)",
            count,
        )
        return sorted(row[0] for row in rows)

    def new_symbols(self, names: Iterable[str]) -> dict[str, int]:
        """As ``Connection.new_symbols``: another writer may have stored some meanwhile."""
        some = sorted(names)
        self.insert("symbol", ("name",), ((name,) for name in some), new_only=True)
        return dict(self.rows(f"SELECT name, id FROM symbol WHERE name {IN_LIST}", Values(some)))

    def last_id(self, table: Numbered) -> int:
        """As ``Connection.last_id``."""
        row = self.only(
            "SELECT coalesce(pg_sequence_last_value("
            f"CAST(pg_get_serial_sequence('{table}', 'id') AS regclass)), 0)"
        )
        return int(row[0])

    def set_last_id(self, table: Numbered, last: int) -> None:
        """As ``Connection.set_last_id``."""
        self.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), greatest(?, 1), ? > 0)",
            last,
            last,
        )

    def continue_ids(self) -> None:
        """As ``Connection.continue_ids``."""
        for table in ("symbol", "vector"):
            self.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
            )

    def vectors_by_digest(self, digests: Sequence[bytes]) -> dict[bytes, StoredVector]:
        """As ``Connection.vectors_by_digest``."""
        rows = self.rows(
            "SELECT digest, id, NOT EXISTS (SELECT 1 FROM quick_vector "
            f"WHERE quick_vector.vector = vector.id) FROM vector WHERE digest {IN_LIST}",
            Values(digests),
        )
        return {digest: StoredVector(vector, full) for digest, vector, full in rows}

    def delete_unused(self, symbols: Sequence[int], vectors: Sequence[int]) -> None:
        """As ``Connection.delete_unused``, once the transaction under way is committed.

        Another writer may begin to use one at any time, and is waited for then, not before.
        """
        self._unused[0].update(symbols)
        self._unused[1].update(vectors)

    def metadata(self, key: str, wanted: Any) -> tuple[str, list[Any]]:
        """As ``Connection.metadata``."""
        return metadata_condition(key, wanted)

    def problems(self) -> list[str]:
        """As ``Connection.problems``."""
        return problems(self)

    def lock_key(self, purpose: str) -> int:
        """The number of an advisory lock of this store's, for a purpose: 64 bits, signed."""
        name = f"memnet/{self._address.schema}/{purpose}".encode()
        digest = hashlib.blake2b(name, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def take_lock(self, key: int, timeout: float) -> bool:
        """Take an advisory lock: of the transaction under way, or else of the session.

        Args:
            key: as ``lock_key`` gives it.
            timeout: seconds to wait for another session.

        Returns:
            Whether it was taken.
        """
        kind = "xact_lock" if self.changing else "lock"
        until = time.monotonic() + timeout
        pause = 0.001
        # Asked again and again: a wait that times out would end the transaction.
        while not self.only(f"SELECT pg_try_advisory_{kind}({key})")[0]:
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def free_lock(self, key: int) -> None:
        """Free a lock of the session; one that was lost is free."""
        with suppress(*FAILURES, StoreError):
            self.rows(f"SELECT pg_advisory_unlock({key})")

    @property
    def inherited(self) -> bool:
        """Whether this process is a forked child of the one that opened it."""
        return self._session.inherited

    @property
    def server_version(self) -> int:
        """Major version of the server."""
        return self._session.version

    def _write(self, call: Callable[[], object]) -> None:
        """Make a call that changes rows, in a transaction of its own outside of blocks."""
        try:
            self._once_more(call)
        except FAILURES as error:
            if self.changing:
                raise
            raise write_error(error, self._place, committing=False) from error

    def _copy(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        try:
            self._session.copy(table, columns, rows)
        except asyncpg.UniqueViolationError as error:
            raise DuplicateRowsError(table, one_line(error)) from error

    @property
    def database(self) -> str:
        """Its name."""
        return self._address.database

    @property
    def _sweep_key(self) -> int:
        return self.lock_key("unused")

    def _begin(self, command: str) -> None:
        """Begin a transaction: nothing is lost where the connection was."""
        self._once_more(lambda: self._session.command(command), begins=True)

    def _commit(self) -> None:
        """Commit the transaction under way, numbered if slots changed."""
        if self._advances:
            self.halves.follow()
        self._committing = True
        if self._advances:
            # One number follows the other only if none is given before the commit of the last:
            # they are sent together.
            self._session.command("SELECT advance(); COMMIT")
        else:
            self._session.command("COMMIT")

    @contextmanager
    def _changes(self) -> Iterator[None]:
        """Undo what the block did not commit."""
        self._guard.acquire()
        self.changing, self._committing = True, False
        try:
            yield
        except FAILURES as error:
            self._unused = (set(), set())
            raise write_error(error, self._place, committing=self._committing) from error
        except BaseException:
            self._unused = (set(), set())
            raise
        finally:
            self._roll_back()
            self.changing = False
            self._guard.release()

    def _roll_back(self) -> None:
        """End the transaction, if one is under way; a lost one the server undoes itself."""
        with suppress(*FAILURES):
            if self._session.in_transaction:
                self._session.command("ROLLBACK")

    def _once_more(self, call: Callable[[], _Result], *, begins: bool = False) -> _Result:
        """Make a call; outside of blocks again, with another session, where it was lost.

        Args:
            call: runs a statement.
            begins: whether it is the first of a block.
        """
        with self._guard:
            in_block = not begins and (self.changing or self._in_snapshot)
            within = in_block or self.lock_depth > 0
            until = time.monotonic() + _RETRY_SECONDS
            pause = 0.02
            while True:
                try:
                    if self._session.closed and not within and not self._closed:
                        self._session.close()
                        self._session = Session(self._address, self._connect_seconds)
                    return call()
                except (*LOST, LostConnectionError) as error:
                    if within or self._closed or time.monotonic() > until:
                        raise
                    _log.info("the connection to %s was lost: %s", self._place, one_line(error))
                    if not self._session.closed and not isinstance(error, LostConnectionError):
                        self._session.close()
                    time.sleep(pause)
                    pause = min(2 * pause, 1.0)

    def _sweep(self) -> None:
        """Delete those symbols and vectors of deleted slots that nothing uses.

        While it does, no transaction is under way in which another writer begins to use one. What
        can't be deleted now is harmless, and ``verify --repair`` deletes it.
        """
        symbols, vectors = self._unused
        if not symbols and not vectors:
            return
        self._unused = (set(), set())
        with self._guard:
            try:
                self._session.command(
                    f"BEGIN; SET LOCAL lock_timeout = '{_SWEEP_SECONDS}s'; "
                    f"SELECT pg_advisory_xact_lock({self._sweep_key})"
                )
                self._session.rows(
                    f"DELETE FROM symbol WHERE id {IN_LIST} AND {UNUSED_SYMBOL}", [Values(symbols)]
                )
                self._session.rows(
                    f"DELETE FROM vector WHERE id {IN_LIST} AND {UNUSED_VECTOR}", [Values(vectors)]
                )
                self._session.command("COMMIT")
            except FAILURES as error:
                _log.info("unused rows of %s are left: %s", self._place, one_line(error))
            finally:
                self._roll_back()

    def _type(self, table: str, column: str) -> str:
        """The type of a column, as SQL names it."""
        if (table, column) not in self._types:
            rows = self.rows(
                "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
                "WHERE attrelid = CAST(? AS regclass) AND attnum > 0",
                table,
            )
            self._types.update({(table, name): kind for name, kind in rows})
        return self._types[table, column]

    def _new_schema(self) -> str:
        """The statement that makes the schema; none where it is there.

        "IF NOT EXISTS" asks for the right to make schemas even then.
        """
        name, quoted = self._address.schema, self._address.quoted_schema
        if self.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", name) is not None:
            return ""
        allowed, role, short = self.only(
            "SELECT has_database_privilege(current_database(), 'CREATE'), "
            "quote_ident(current_user), quote_ident(?)",
            name,
        )
        if not allowed:
            make = psql(self.database, f"CREATE SCHEMA {short} AUTHORIZATION {role}")
            raise StoreError(
                f"{self._place}: the role {role} may not make the schema {short}; run "
                f"as a superuser: {make}"
            )
        return f"CREATE SCHEMA {quoted}; "

    def _read_schema_version(self) -> int:
        """Version of the schema; 0 where there is none."""
        tables = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'property'"
        if self.one(tables, self._address.schema) is None:
            return 0
        # By the schema's name: where the role may not use it, the search path would pass over it.
        row = self.one(
            f"SELECT name, value FROM {self._address.quoted_schema}.property "
            "WHERE name IN ('schema', 'schema_version') ORDER BY name DESC"
        )
        version = 0 if row is None else checked_count(row[1])
        check_version(self._place, version, row is None or row[0] == "schema_version")
        return version
