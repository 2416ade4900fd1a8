"""The database of a store: a connection for each thread, transactions and snapshots."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from memnet.errors import StoreError
from memnet.storage.tables.checked import Row, checked_integer, checked_rows, missing
from memnet.storage.tables.schema import MIGRATIONS, SCHEMA_VERSION, foreign
from memnet.storage.values import Changes, Revision

IntegrityError = sqlite3.IntegrityError
"""Rows that may not be the same are, or one refers to nothing."""
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""How damage shows: SQLite's messages may quote bytes of it that are no text."""
_INHERITED: list[object] = []
"""What a parent process opened, kept for the life of a forked child: SQLite forbids the child to
close the parent's connections, and Python would close those that nothing refers to."""
_WRITER_CACHE = 128 << 20
"""Bytes of pages that a transaction may change before any is written, most of them of indexes."""
_LOG_PAGES = (1_000, 32_768)
"""Least and most pages of the log before it is taken into the database; else an eighth of it."""
_REVISION = "SELECT generation, mark, last_slot FROM revision"


def keep_inherited(thing: object) -> None:
    """Keep a parent's resource from being closed in this process, which is a forked child."""
    _INHERITED.append(thing)


class Connection:
    """A connection of one thread. Reads outside ``transaction`` see the last commit."""

    def __init__(self, path: Path, *, read_only: bool = False, trusted: int | None = None) -> None:
        """Open the database at ``path``, without changing its schema.

        Args:
            path: of the database.
            read_only: whether nobody may write there.
            trusted: the ``schema_counter`` at which its schema was found to be memnet's own.

        Raises:
            StoreError: the file is no database, is damaged, or is newer than this version.
        """
        self.changing = False
        """Whether a transaction is under way that may change what is stored."""
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
        """Close the connection, once the statement or transaction under way has ended."""
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
                    f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number}; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        """Everything inside happens, or nothing does; a commit advances the generation.

        A transaction inside another is a part of it.

        Args:
            advance: False if no slot is added, ended or deleted: the vector index stays as it is.

        Raises:
            StoreError: the database can't be written (read-only, full, damaged).
        """
        if self.changing:
            self._advances |= advance
            yield
            return
        with self._changes():
            pages = self._connection.execute("PRAGMA page_count").fetchone()[0] // 8
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

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Every read inside sees the same commit."""
        with self._guard:
            if self._connection.in_transaction:
                yield
                return
            self.rows("BEGIN")
            try:
                yield
            except sqlite3.DatabaseError as error:
                raise StoreError(
                    f"the store could not be read ({error}); run 'memnet verify' on it"
                ) from error
            finally:
                self._roll_back()

    def property(self, name: str) -> str | None:
        """The value of a named property of the store, or None."""
        row = self.one("SELECT value FROM property WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Set a named property of the store."""
        self.execute("INSERT OR REPLACE INTO property VALUES (?, ?)", name, value)

    def execute(self, statement: str, *parameters: Any) -> None:
        """Run a statement that gives no rows; its errors are those of the transaction."""
        self._connection.execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterable[Any]) -> None:
        """Run a statement for each row of parameters."""
        self._connection.executemany(statement, rows)

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """All rows of a statement.

        Raises:
            StoreError: they can't be read, or the store was closed.
        """
        try:
            with self._guard:
                return self._connection.execute(statement, parameters).fetchall()
        except _UNREADABLE as error:
            if self._closed:
                raise StoreError("the store was closed while it was read; open it again") from error
            if self.changing:
                raise
            raise StoreError(
                f"the store could not be read ({error}); 'memnet verify' may say what is "
                "damaged: restore it from a copy"
            ) from error

    def one(self, statement: str, *parameters: Any) -> Row | None:
        """The first row of a statement, or None."""
        rows = self.rows(statement, *parameters)
        return rows[0] if rows else None

    def only(self, statement: str, *parameters: Any) -> Row:
        """The row of a statement that always gives one.

        Raises:
            StoreError: it gives none.
        """
        row = self.one(statement, *parameters)
        if row is None:
            raise missing("a row of its own description")
        return row

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

    def _prepare(self, path: Path, read_only: bool, trusted: int | None) -> None:
        """Check the database and set the connection up; arguments as for the constructor."""
        try:
            # Before anything that could change the file.
            self.schema_version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
            if self.schema_version > SCHEMA_VERSION:
                raise StoreError(
                    f"{path} has schema {self.schema_version}, this version of memnet knows "
                    f"schemas up to {SCHEMA_VERSION}; upgrade memnet to open it"
                )
            if not read_only:
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


class _Owner:
    """Lives in the local storage of a thread, and dies with the thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class Database:
    """The connections of the threads of one process to one database.

    A thread's connection is opened at its first use and closed when the thread ends, or by
    ``close``. A child that is forked needs connections of its own, made by a new object.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Open nothing yet.

        ``path`` is that of the database, ``read_only`` whether nobody may write there.
        """
        self._path = path
        self._read_only = read_only
        self._process = os.getpid()
        self._local = threading.local()
        self._open: dict[int, Connection] = {}
        """By identity. Changed by single dictionary operations, which need no lock: a lock could
        be held by the thread in which the end of another thread is noticed."""
        self._closed = False
        self._trusted: int | None = None
        """The counter of the schema that was found to be memnet's own."""

    def connection(self) -> Connection:
        """The calling thread's own connection.

        Raises:
            StoreError: it can't be opened, or ``close`` was called.
        """
        owner: _Owner | None = getattr(self._local, "owner", None)
        if owner is not None:
            return owner.connection
        # What is compared with the schema is the same for all connections, until it changes.
        connection = Connection(self._path, read_only=self._read_only, trusted=self._trusted)
        self._trusted = connection.schema_counter
        owner = _Owner(connection)
        self._open[id(connection)] = connection
        end = weakref.finalize(owner, _end, connection, self._open, self._process)
        # A process that ends without closing the store leaves its files as they are.
        end.atexit = False
        self._local.owner = owner
        if self._closed:
            # ``close`` may have passed before the connection was entered.
            connection.close()
            raise StoreError(f"the store {self._path.parent} is closed; open it again")
        return connection

    def close(self) -> None:
        """Close the connections of all threads, once what these do right now has ended.

        In a forked child nothing is closed: the connections are the parent's.
        """
        self._closed = True
        if self._process != os.getpid():
            return
        while self._open:
            self._open.popitem()[1].close()


def _end(connection: Connection, opened: dict[int, Connection], process: int) -> None:
    """Close the connection of a thread that has ended."""
    if process != os.getpid():
        # To a forked child all threads but one have ended; their connections are the parent's.
        keep_inherited(connection)
        return
    if opened.pop(id(connection), None) is not None:
        connection.close()


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


def latest_revision(connection: Connection) -> Revision:
    """The last commit that changed what is stored."""
    row = connection.only(f"{_REVISION} ORDER BY generation DESC LIMIT 1")
    return Revision(*map(checked_integer, row))


def revision_of(connection: Connection, commit_id: int) -> Revision | None:
    """The commit with this id; None if it is of another store, or was forgotten."""
    row = connection.one(f"{_REVISION} WHERE mark = ?", commit_id)
    return None if row is None else Revision(*map(checked_integer, row))


def changes_since(connection: Connection, revision: Revision) -> Changes:
    """How the slots that vector search covers differ from those of an earlier commit.

    No id is used twice: what was added since has a higher id, and what was removed is listed in the
    table ``gone``. A slot whose vector was replaced is listed there too: it is removed and added.
    Statements that ended stay, and a search leaves them out.
    """
    added = connection.rows(
        "SELECT id FROM slot WHERE id > ? AND kind = 'passage' UNION "
        "SELECT slot.id FROM gone JOIN slot ON slot.id = gone.slot WHERE gone.generation > ?",
        revision.last_slot,
        revision.generation,
    )
    removed = connection.rows("SELECT slot FROM gone WHERE generation > ?", revision.generation)
    return Changes(
        np.fromiter((row[0] for row in added), np.int64),
        np.fromiter((row[0] for row in checked_rows(removed, "a slot", int)), np.int64),
    )


def count_changes_since(connection: Connection, revision: Revision) -> int:
    """About how many slots ``changes_since`` gives: replaced ones count once or twice."""
    row = connection.only(
        "SELECT (SELECT count(*) FROM slot WHERE id > ? AND kind = 'passage') + "
        "(SELECT count(*) FROM gone WHERE generation > ?)",
        revision.last_slot,
        revision.generation,
    )
    return checked_integer(row[0])


def forget_revisions_before(connection: Connection, revision: Revision) -> None:
    """Forget how the slots changed before a commit; nobody can ask for it any longer."""
    connection.execute("DELETE FROM revision WHERE generation < ?", revision.generation)
    connection.execute("DELETE FROM gone WHERE generation <= ?", revision.generation)
