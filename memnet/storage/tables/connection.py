"""A connection to the database of a store: transactions, properties and statements."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from memnet.errors import StoreError
from memnet.storage.tables.row_values import lacking
from memnet.storage.tables.schema import MIGRATIONS, SCHEMA_VERSION, foreign

_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What damage shows as: SQLite's messages may quote bytes of it that are no text."""


class Connection:
    """One connection to the rows of a store.

    It belongs to one thread. Reads outside ``transaction`` see the last commit.
    """

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
        self._closed = False
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
        """Close the connection, once the statement or transaction under way has ended.

        To close it under a thread that uses it would end the process.
        """
        with self._guard:
            self._closed = True
            self._connection.close()

    def migrate(self) -> None:
        """Bring the schema up to date; the caller holds the store's writer lock."""
        # Another process may have done so while this one waited for the lock.
        self.schema_version = int(self._only("PRAGMA user_version")[0])
        for number in range(self.schema_version + 1, SCHEMA_VERSION + 1):
            with self._changes():
                self._connection.executescript(
                    f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number}; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        """Everything inside happens, or nothing does; a commit advances the generation.

        Args:
            advance: False where no slot comes, ends or goes, and the vector index stays as it is.

        Raises:
            StoreError: the database can't be written (read-only, full, damaged).
        """
        with self._changes():
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            if advance:
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
            self._rows("BEGIN")
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
        row = self._one("SELECT value FROM property WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Set a named property of the store."""
        self._connection.execute("INSERT OR REPLACE INTO property VALUES (?, ?)", (name, value))

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
            self._check_schema(path)
            if not read_only:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA cell_size_check = ON")
        except _UNREADABLE as error:
            raise StoreError(_why_not_opened(path, read_only, error)) from error
        self.schema_counter = int(self._only("PRAGMA schema_version")[0])
        """Another number after each change of the schema."""
        if self.schema_counter != trusted:
            self._refuse_foreign_schema(path)

    def _check_schema(self, path: Path) -> None:
        if self.schema_version > SCHEMA_VERSION:
            raise StoreError(
                f"{path} has schema {self.schema_version}, this version of memnet knows schemas "
                f"up to {SCHEMA_VERSION}; upgrade memnet to open it"
            )

    def _refuse_foreign_schema(self, path: Path) -> None:
        """Refuse tables, triggers and views that no version of memnet made.

        Raises:
            StoreError: there is one.
        """
        found = foreign(self._rows("SELECT type, name, sql FROM sqlite_master"))
        if found is not None:
            raise StoreError(
                f"{path} holds a {found[0]} {found[1]!r} that memnet did not make; "
                "restore the store from a copy, or import it from a bundle"
            )

    def _roll_back(self) -> None:
        """End the transaction, if one is under way; what can't be undone now is when opened."""
        with suppress(sqlite3.DatabaseError):
            # A forked child that unwinds its parent's stack must not end the parent's transaction.
            if self._connection.in_transaction and self._process == os.getpid():
                self._connection.execute("ROLLBACK")

    def _rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
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

    def _one(self, statement: str, *parameters: Any) -> tuple[Any, ...] | None:
        rows = self._rows(statement, *parameters)
        return rows[0] if rows else None

    def _only(self, statement: str, *parameters: Any) -> tuple[Any, ...]:
        """The row of a statement that always gives one.

        Raises:
            StoreError: it gives none.
        """
        row = self._one(statement, *parameters)
        if row is None:
            raise lacking("a row of its own description")
        return row


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
