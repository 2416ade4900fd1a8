"""A thread's connection to the database of a store on a server."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg

from memnet.errors import StoreError
from memnet.storage.place import Address
from memnet.storage.postgres.session import (
    ADVANCE,
    MIGRATIONS,
    LostConnectionError,
    Session,
    is_lost,
    metadata_condition,
    one_line,
    psql,
    read_error,
    write_error,
)
from memnet.storage.postgres.text import PostgresText
from memnet.storage.tables.checked import (
    IN_LIST,
    DuplicateRowsError,
    Row,
    Values,
    checked_count,
    missing,
)
from memnet.storage.tables.connection import (
    SCHEMA_VERSION,
    Connection,
    Numbered,
    StoredVector,
    check_version,
    on_conflict,
)
from memnet.storage.values import Revision

_ALREADY_THERE = (
    psycopg.errors.DuplicateObject,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.UniqueViolation,
)
_log = logging.getLogger("memnet")
_RETRY_SECONDS = 10.0  # how long a server that restarts is waited for
_SWEEP_SECONDS = 5  # how long the end of a change waits for others, to delete what nothing uses
_OLDEST_PGVECTOR = (0, 8)  # the first that goes on in its graph until enough rows pass a condition
# Of columns that are inserted as arrays; others are texts.
_TYPES = {"id": "bigint", "digest": "bytea", "data": "halfvec"}
# Columns without a foreign key, and the tables that they refer to.
_REFERENCES = tuple(
    one.split()
    for one in (
        "slot_key symbol symbol", "slot_key slot slot", "mention symbol symbol",
        "mention slot slot", "link subject symbol", "link object symbol", "link relation vector",
        "link slot slot", "statement_name symbol symbol",
    )
)  # fmt: skip
_ANALYZED = "source, vector, slot, symbol, slot_key, mention, link, slot_text"
_MANY = 500  # new slots between two looks at whether the planner knows of them
_Result = TypeVar("_Result")


class PostgresConnection(Connection):
    """A connection of one thread to a schema on a server.

    A statement outside of ``transaction`` and ``snapshot`` is run once more where the connection
    was lost; within them the block has to be run again by whoever began it.
    """

    locking = "FOR UPDATE"
    metadata = staticmethod(metadata_condition)
    pairs = (
        "(SELECT number - 1 AS key, list[number][1] AS a, list[number][2] AS b "
        "FROM (SELECT CAST(? AS bigint[]) AS list) AS given, "
        "generate_series(1, coalesce(array_length(list, 1), 0)) AS number)"
    )

    def __init__(self, address: Address, connect_seconds: float = 10.0) -> None:
        """Connect, without changing the schema; each server may take so long to answer."""
        self.changing = False
        self.text = self._text = PostgresText(self)
        self.lock_depth = 0  # blocks that hold the lock of the store's writer in this session
        self._place = address.shown
        self._address = address
        self._connect_seconds = connect_seconds
        self._advances = False
        self._committing = False
        self._closed = False
        self._new_slots = 0  # since the last look at statistics
        # Symbols and vectors to look at after the commit.
        self._unused: tuple[set[int], set[int]] = (set(), set())
        self._guard = threading.RLock()  # ``close`` takes it too
        self.session = Session(address, connect_seconds)
        try:
            self.schema_version = self._read_schema_version()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self.session.close()

    def migrate(self) -> None:
        """As ``Connection.migrate``; the caller holds the lock of the store's writer."""
        # Another process may have done so while this one waited for the lock.
        self.schema_version = self._read_schema_version()
        if not self.schema_version:
            self._make_ready()
        for number in range(self.schema_version + 1, SCHEMA_VERSION + 1):
            with self._changes():
                self.session.command(
                    f"BEGIN; {MIGRATIONS[number]}; "
                    f"INSERT INTO property VALUES ('schema_version', '{number}') "
                    "ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        if self.changing:
            self._advances |= advance
            yield
            return
        if self._snapshot_rows is not None:
            raise StoreError("a change within reading() would see old rows; end the block first")
        with self._changes():
            # Shared among writers; whoever deletes what nothing uses waits for all of them.
            self._begin(f"BEGIN; SELECT pg_advisory_xact_lock_shared({self.lock_key('unused')})")
            self._advances = advance
            yield
            self._committing = True
            advances = self._advances or self._text.new_slots or self._text.new_tokens
            new = self._text.new_slots, self._text.new_tokens
            self.session.command(ADVANCE.format(*new) if advances else "COMMIT")
        self._sweep()
        self._new_slots += new[0]
        if self._new_slots >= _MANY:
            self._new_slots = 0
            self._analyze()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._guard:
            if self.changing or self._snapshot_rows is not None:
                yield
                return
            try:
                self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                self._snapshot_rows = {}
                yield
            except psycopg.Error as error:
                raise read_error(error, self._place) from error
            finally:
                self._snapshot_rows = None
                self._roll_back()

    def execute(self, statement: str, *parameters: Any) -> None:
        self._write(lambda: self.session.rows(statement, parameters))

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        given = list(rows)
        if given:
            self._write(lambda: self.session.run_many(statement, given))

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        new_only: bool = False,
        replacing: Sequence[str] = (),
    ) -> None:
        given = list(rows)
        if not given:
            return
        if table != "vector" and not new_only and not replacing:
            self._write(lambda: self.session.copy(table, columns, given), table)
            return
        names = ", ".join(f'"{column}"' for column in columns)
        arrays = ", ".join(f"CAST(? AS {_TYPES.get(column, 'text')}[])" for column in columns)
        ending = " ON CONFLICT DO NOTHING" if new_only else on_conflict(columns, replacing)
        statement = f"INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays}){ending}"
        values = list(map(list, zip(*given, strict=True)))
        self._write(lambda: self.session.rows(statement, values), table)

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        try:
            with self._guard:
                if self._closed:
                    raise StoreError("the store was closed while it was read; open it again")
                return self._once_more(lambda: self.session.rows(statement, parameters))
        except psycopg.Error as error:
            if self.changing:
                raise
            raise read_error(error, self._place) from error

    def new_ids(self, table: Numbered, count: int) -> list[int]:
        rows = self.rows(
            f"SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, ?)",
            count,
        )
        return sorted(row[0] for row in rows)

    def new_symbols(self, names: Iterable[str]) -> dict[str, int]:
        some = sorted(names)
        self.insert("symbol", ("name",), ((name,) for name in some), new_only=True)
        return dict(self.rows(f"SELECT name, id FROM symbol WHERE name {IN_LIST}", Values(some)))

    def last_id(self, table: Numbered) -> int:
        row = self.only(
            "SELECT coalesce(pg_sequence_last_value("
            f"CAST(pg_get_serial_sequence('{table}', 'id') AS regclass)), 0)"
        )
        return int(row[0])

    def set_last_id(self, table: Numbered, last: int) -> None:
        self.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), greatest(?, 1), ? > 0)",
            last,
            last,
        )

    def continue_ids(self) -> None:
        for table in ("symbol", "vector"):
            self.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
            )

    def vectors_by_digest(self, digests: Sequence[bytes]) -> dict[bytes, StoredVector]:
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

    def revision(self) -> Revision:
        """As ``Connection.revision``: commits are numbered in the order of their ends."""
        row = self.one_of_snapshot(
            "SELECT CAST(value AS bigint), commit_id FROM property, revision "
            "WHERE name = 'generation'"
        )
        if row is None:
            raise missing("its last commit")
        return Revision(row[0], row[1], 0)

    def problems(self) -> list[str]:
        found: list[str] = []
        for table, column, referred in _REFERENCES:
            (wrong,) = self.only(
                f"SELECT count(*) FROM {table} WHERE NOT EXISTS "
                f"(SELECT 1 FROM {referred} WHERE {referred}.id = {table}.{column})"
            )
            if wrong:
                found.append(f"{wrong} rows of {table} refer to a missing row of {referred}")
        if self.only('SELECT count(*) FROM slot WHERE length(text) <> "end" - start')[0]:
            found.append("holds values that memnet does not write")
        return found

    def lock_key(self, purpose: str) -> int:
        """The number of an advisory lock of this store's, for a purpose: 64 bits, signed."""
        name = f"memnet/{self._address.schema}/{purpose}".encode()
        digest = hashlib.blake2b(name, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def take_lock(self, key: int, timeout: float) -> bool:
        """Take an advisory lock of the transaction or session; False after ``timeout``."""
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
        with suppress(psycopg.Error, StoreError):
            self.rows(f"SELECT pg_advisory_unlock({key})")

    def _write(self, call: Callable[[], object], table: str = "") -> None:
        """Make a call that changes rows, in a transaction of its own outside of blocks."""
        try:
            self._once_more(call)
        except psycopg.Error as error:
            if table and isinstance(error, psycopg.errors.UniqueViolation):
                raise DuplicateRowsError(table, one_line(error)) from error
            if self.changing:
                raise
            raise write_error(error, self._place, committing=False) from error

    def _begin(self, command: str) -> None:
        """Begin a transaction: nothing is lost where the connection was."""
        self._once_more(lambda: self.session.command(command), begins=True)

    @contextmanager
    def _changes(self) -> Iterator[None]:
        """Undo what the block did not commit."""
        self._guard.acquire()
        self.changing, self._committing = True, False
        try:
            yield
        except BaseException as error:
            self._unused = (set(), set())
            if not isinstance(error, psycopg.Error):
                raise
            raise write_error(error, self._place, committing=self._committing) from error
        finally:
            self._text.new_slots = self._text.new_tokens = 0
            self._roll_back()
            self.changing = False
            self._guard.release()

    def _roll_back(self) -> None:
        """End the transaction, if one is under way; a lost one the server undoes itself."""
        with suppress(psycopg.Error):
            if self.session.in_transaction:
                self.session.command("ROLLBACK")

    def _once_more(self, call: Callable[[], _Result], *, begins: bool = False) -> _Result:
        """Make a call; outside of blocks, which it may begin, again where the session was lost."""
        with self._guard:
            in_block = not begins and (self.changing or self._snapshot_rows is not None)
            within = in_block or self.lock_depth > 0 or self.session.inherited
            until = time.monotonic() + _RETRY_SECONDS
            pause = 0.02
            while True:
                try:
                    if self.session.closed and not within and not self._closed:
                        self.session = Session(self._address, self._connect_seconds)
                    return call()
                except (psycopg.Error, LostConnectionError) as error:
                    lost = is_lost(error) and not within and not self._closed
                    if not lost or time.monotonic() > until:
                        raise
                    _log.info("the connection to %s was lost: %s", self._place, one_line(error))
                    self.session.close()
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
        try:
            with self._changes():
                self.session.command(
                    f"BEGIN; SET LOCAL lock_timeout = '{_SWEEP_SECONDS}s'; "
                    f"SELECT pg_advisory_xact_lock({self.lock_key('unused')})"
                )
                super().delete_unused([*symbols], [*vectors])
                self.session.command("COMMIT")
        except StoreError as error:
            _log.info("unused rows are left: %s", error)

    def _analyze(self) -> None:
        """Tell the planner of many new rows, which the server would note a minute later."""
        with suppress(StoreError):
            known, slots = self.only(
                "SELECT reltuples, slots FROM pg_class, revision "
                "WHERE pg_class.oid = CAST('slot' AS regclass)"
            )
            if slots >= 4 * known:
                self.execute(f"ANALYZE (SKIP_LOCKED) {_ANALYZED}")

    def _make_ready(self) -> None:
        """Make what the tables need, pgvector and the schema, as far as it is not there."""
        name, database = self._address.schema, self._address.parameters["dbname"]
        version, is_there, role, schema = self.only(
            "SELECT (SELECT CAST(extversion AS text) FROM pg_extension WHERE extname = 'vector'), "
            "EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ?), quote_ident(current_user), "
            "quote_ident(?)",
            name,
            name,
        )
        wanted = [] if version else ["CREATE EXTENSION vector SCHEMA public"]
        # "IF NOT EXISTS" asks for the right to make it even then.
        wanted += [] if is_there else [f"CREATE SCHEMA {schema} AUTHORIZATION {role}"]
        for statement in wanted:
            try:
                self.session.rows(statement, ())
            except _ALREADY_THERE:
                continue  # another process made it at the same time
            except psycopg.errors.ReadOnlySqlTransaction as error:
                raise write_error(error, self._place, committing=False) from error
            except psycopg.Error as error:
                raise StoreError(
                    f"{self._place} lacks what a store needs, and the role {role} may not make it "
                    f"({one_line(error)}); run as a superuser: {psql(database, statement)}"
                ) from error
        self.session.learn_halfvec()
        if version and tuple(map(int, version.split(".")[:2])) < _OLDEST_PGVECTOR:
            raise StoreError(
                f"{self._place} has pgvector {version}, and a store needs 0.8 or newer; run as a "
                f"superuser: {psql(database, 'ALTER EXTENSION vector UPDATE')}"
            )

    def _read_schema_version(self) -> int:
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
