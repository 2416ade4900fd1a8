"""The database file of a store: its connections, transactions and snapshots."""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from memnet.errors import StoreError
from memnet.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS, foreign, has_wrong_values
from memnet.storage.sqlite.search import Fts5Index, metadata_condition
from memnet.storage.tables.checked import (
    IN_LIST,
    DuplicateRowsError,
    Row,
    Values,
    checked_count,
    checked_integer,
    damaged,
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

_CLOSED = "the store was closed while it was read; open it again"
# How damage shows: SQLite's messages may quote bytes of it that are not text.
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
_PARAMETERS = 32_766  # of one statement, at most
_DIGESTS = 500  # looked up by one statement
# How many rows one statement may insert: few numbers, since each makes a statement to be kept.
_ROWS = (4096, 512, 64, 8, 1)
_MAX_ID = 2**62  # an id above it is damage: SQLite's end at twice as much
# Bytes of pages that a transaction may change before any is written, most of them of indexes.
_WRITER_CACHE = 128 << 20
# Least and most pages of the log before it is taken into the database; else an eighth of it.
_LOG_PAGES = (1_000, 32_768)
_MIN_FREE_PAGES = 1_024
# Free pages are given back once they are more than this number and more than this share of all: the
# next write uses a few itself.
_MAX_FREE_SHARE = 1 / 64
# How many free pages are given back in one transaction: each may move a page into the log.
_VACUUMED_PAGES = 4_096


class SqliteConnection(Connection):
    """A connection of one thread to the database file of a store."""

    locking = ""
    metadata = staticmethod(metadata_condition)
    pairs = (
        "(SELECT key, json_extract(value, '$[0]') AS a, json_extract(value, '$[1]') AS b "
        "FROM json_each(?))"
    )

    def __init__(self, path: Path, *, read_only: bool = False, trusted: int | None = None) -> None:
        """Open the database at ``path``, without changing its schema.

        ``read_only`` says that nobody may write there. ``trusted`` is the ``schema_counter`` at
        which its schema was found to be memnet's own.
        """
        self.changing = False
        self.text = Fts5Index(self)
        self._advances = False
        self._closed = False
        # Reentrant; ``close`` takes it too: closing a connection that is in use ends the process.
        self._guard = threading.RLock()
        self._process = os.getpid()
        try:
            self._connection = sqlite3.connect(
                _address(path, read_only),
                uri=True,
                isolation_level=None,
                timeout=10,
                check_same_thread=False,
            )
        except sqlite3.DatabaseError as error:
            raise StoreError(_why_not_opened(path, read_only, error)) from error
        try:
            self._prepare(path, read_only, trusted)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._connection.close()

    def migrate(self) -> None:
        """Bring the schema up to date; the caller holds the store's writer lock."""
        # Another process may have done so while this one waited for the lock.
        self.schema_version = int(self.only("PRAGMA user_version")[0])
        for number in range(self.schema_version + 1, SCHEMA_VERSION + 1):
            with self._changes():
                self._connection.executescript(
                    f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number}; "
                    f"PRAGMA application_id = {APPLICATION_ID}; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        if self.changing:
            self._advances |= advance
            yield
            return
        with self._changes():
            pages = self._pragma("page_count") // 8
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {np.clip(pages, *_LOG_PAGES)}")
            self._connection.execute(f"PRAGMA cache_size = {-_WRITER_CACHE // 1024}")
            self._connection.execute("BEGIN IMMEDIATE")
            self._advances = advance
            yield
            if self._advances:
                self._connection.execute(
                    "UPDATE property SET value = value + 1 WHERE name = 'generation'"
                )
            self._connection.execute("COMMIT")

    def release_space(self) -> None:
        # A database that was made without incremental vacuum keeps its free pages for later.
        # What was written is kept, also where the disk is full, or a reader is in the way.
        with self._guard, suppress(sqlite3.DatabaseError):
            if self._connection.in_transaction:
                return
            pages, free = map(self._pragma, ("page_count", "freelist_count"))
            if free <= max(_MIN_FREE_PAGES, _MAX_FREE_SHARE * pages):
                return
            before = free + 1
            while 0 < free < before:
                self._connection.execute(f"PRAGMA incremental_vacuum({_VACUUMED_PAGES})").fetchall()
                before, free = free, self._pragma("freelist_count")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._guard:
            if self._closed:
                raise StoreError(_CLOSED)
            if self._connection.in_transaction:
                yield
                return
            self.rows("BEGIN")
            self._snapshot_rows = {}
            try:
                yield
            except sqlite3.DatabaseError as error:
                raise StoreError(
                    f"the store could not be read ({error}); run 'memnet verify' on it"
                ) from error
            finally:
                self._snapshot_rows = None
                self._roll_back()

    def execute(self, statement: str, *parameters: Any) -> None:
        self._connection.execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        new_only: bool = False,
        replacing: Sequence[str] = (),
    ) -> None:
        names = ", ".join(f'"{column}"' for column in columns)
        values = f"({', '.join('?' * len(columns))})"
        ending = " ON CONFLICT DO NOTHING" if new_only else on_conflict(columns, replacing)
        try:
            # Many rows to a statement: each takes the GIL anew when it ends, for which it waits
            # where another thread makes the next batch.
            for part in _parts(rows, _PARAMETERS // len(columns)):
                self._connection.execute(
                    f"INSERT INTO {table} ({names}) VALUES {', '.join([values] * len(part))}"
                    f"{ending}",
                    list(chain.from_iterable(part)),
                )
        except sqlite3.IntegrityError as error:
            raise DuplicateRowsError(table, str(error)) from error

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        try:
            with self._guard:
                return self._connection.execute(statement, parameters).fetchall()
        except _UNREADABLE as error:
            if self._closed:
                raise StoreError(_CLOSED) from error
            if self.changing:
                raise
            raise StoreError(
                f"the store could not be read ({error}); 'memnet verify' may say what is "
                "damaged: restore it from a copy"
            ) from error

    def new_ids(self, table: Numbered, count: int) -> list[int]:
        first = self.last_id(table) + 1
        return list(range(first, first + count))

    def new_symbols(self, names: Iterable[str]) -> dict[str, int]:
        # Nobody else adds any meanwhile.
        (last,) = self.only("SELECT ifnull(max(id), 0) FROM symbol")
        if last > _MAX_ID:
            raise damaged("the number of a symbol")
        ids = {name: last + number for number, name in enumerate(sorted(names), start=1)}
        self.insert("symbol", ("name", "id"), ids.items())
        return ids

    def last_id(self, table: Numbered) -> int:
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        return 0 if row is None else checked_count(row[0])

    def set_last_id(self, table: Numbered, last: int) -> None:
        self.execute("DELETE FROM sqlite_sequence WHERE name = ?", table)
        self.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, last)

    def vectors_by_digest(self, digests: Sequence[bytes]) -> dict[bytes, StoredVector]:
        found: dict[bytes, StoredVector] = {}
        for start in range(0, len(digests), _DIGESTS):
            some = digests[start : start + _DIGESTS]
            rows = self.rows(
                "SELECT digest, id, NOT EXISTS (SELECT 1 FROM quick_vector "
                "WHERE quick_vector.vector = vector.id) FROM vector "
                f"WHERE digest IN ({', '.join('?' * len(some))})",
                *some,
            )
            found |= {digest: StoredVector(vector, bool(full)) for digest, vector, full in rows}
        return found

    def revision(self) -> Revision:
        row = self.one_of_snapshot(
            "SELECT generation, commit_id, last_slot FROM revision ORDER BY generation DESC LIMIT 1"
        )
        if row is None:
            raise missing("a row of its own description")
        return Revision(*map(checked_integer, row))

    def note_replaced(self, vectors: Sequence[int]) -> None:
        self.execute(
            "INSERT OR IGNORE INTO tombstone "
            "SELECT property.value + 1, slot.id FROM slot, property "
            f"WHERE slot.vector {IN_LIST} AND slot.kind = 'passage' "
            "AND property.name = 'generation'",
            Values(vectors),
        )

    def problems(self) -> list[str]:
        found = [
            f"row {row[1]} of {row[0]} refers to a missing row of {row[2]}"
            for row in self.rows("PRAGMA foreign_key_check")
        ]
        if has_wrong_values(self):
            found.append("holds values that memnet does not write")
        return found

    def file_problems(self) -> list[str]:
        found = [str(row[0]) for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]
        row = self.only(
            "SELECT count(*) FROM "
            "(SELECT generation, last_slot FROM revision ORDER BY generation DESC LIMIT 1) "
            "WHERE generation <> (SELECT value + 0 FROM property WHERE name = 'generation') "
            "OR last_slot <> ?",
            self.last_id("slot"),
        )
        if row[0]:
            found.append("the last commit is not the one that its rows are of")
        return found

    @contextmanager
    def _changes(self) -> Iterator[None]:
        """Undo what the block did not commit."""
        self._guard.acquire()
        self.changing = True
        try:
            yield
        except _UNREADABLE as error:
            raise StoreError(
                f"the store could not be written ({error}); nothing of this step was kept: "
                "check free space and permissions, then run it again"
            ) from error
        finally:
            self._roll_back()
            self.changing = False
            self._guard.release()

    def _pragma(self, name: str) -> int:
        """A number that SQLite keeps of the database; errors are SQLite's own."""
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _prepare(self, path: Path, read_only: bool, trusted: int | None) -> None:
        """Check the database and set the connection up; arguments as for the constructor."""
        try:
            # Before anything that could change the file; and before the version, as another process
            # may make the tables now.
            has_tables = self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            self.schema_version = self._pragma("user_version")
            is_own = self._pragma("application_id") == APPLICATION_ID
            check_version(str(path), self.schema_version, is_own)
            if has_tables and not self.schema_version:
                raise StoreError(
                    f"{path} has tables and no schema of memnet; restore it from a copy, or ingest "
                    "into a new store"
                )
            if not read_only:
                # Of effect only before the first page is written, which WAL's header does. Later it
                # would still wait for a writer.
                if not self._pragma("page_count"):
                    self._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA cell_size_check = ON")
        except _UNREADABLE as error:
            raise StoreError(_why_not_opened(path, read_only, error)) from error
        self.schema_counter = int(self.only("PRAGMA schema_version")[0])
        """Another number after each change of the schema."""
        if self.schema_counter == trusted:
            return
        unknown = foreign(self.rows("SELECT type, name, sql FROM sqlite_master"))
        if unknown is not None:
            raise StoreError(
                f"{path} holds a {unknown[0]} {unknown[1]!r} that memnet did not make; "
                "restore the store from a copy, or import it from a bundle"
            )

    def _roll_back(self) -> None:
        """End the transaction, if one is under way; SQLite undoes at opening what fails here."""
        with suppress(sqlite3.DatabaseError):
            # A forked child that unwinds its parent's stack must not end the parent's transaction.
            if self._connection.in_transaction and self._process == os.getpid():
                self._connection.execute("ROLLBACK")


def _parts(rows: Iterable[Sequence[Any]], most: int) -> Iterator[list[Sequence[Any]]]:
    """Rows in as few parts as ``_ROWS`` allows, of at most so many."""
    rest = iter(rows)
    while some := list(islice(rest, _ROWS[0])):
        start = 0
        while start < len(some):
            size = next(size for size in _ROWS if size <= min(most, len(some) - start))
            yield some[start : start + size]
            start += size


def _address(path: Path, read_only: bool) -> str:
    """What to open. Where nobody may write, a log that a crash left must be read, if there is one.

    Reading a log needs the shared memory file beside it, and without a log none can be made.
    """
    address = path.absolute().as_uri()
    if not read_only:
        return address
    return f"{address}?mode=ro" if _log_of(path) else f"{address}?immutable=1"


def _log_of(path: Path) -> bool:
    """Whether there are commits beside the database that were not taken into it."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _why_not_opened(
    path: Path, read_only: bool, error: sqlite3.DatabaseError | UnicodeDecodeError
) -> str:
    damages = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
    if isinstance(error, UnicodeDecodeError) or error.sqlite_errorcode & 0xFF in damages:
        return (
            f"{path} is not a readable memnet database ({error}); "
            "restore it from a copy, or choose another store folder"
        )
    if read_only and _log_of(path):
        return (
            f"{path} has commits beside it that a process left when it was killed, and its folder "
            f"is read-only ({error}); open the store once where it can be written"
        )
    return f"{path} could not be opened ({error}); check free space and permissions"


def sqlite_version() -> str:
    """Its version."""
    return sqlite3.sqlite_version


def has_text_search() -> bool:
    """Whether it was built with FTS5, which every store needs."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE tried USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True
