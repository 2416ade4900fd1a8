"""One database connection for each thread of this process, closed when its thread ends."""

import os
import threading
import weakref
from pathlib import Path

from memnet.errors import StoreError
from memnet.storage.tables.records import Records

_INHERITED: list[object] = []
"""What a parent process opened, kept for the life of a forked child: SQLite forbids the child to
close the parent's connections, and Python would close those that nothing refers to."""


def keep_inherited(thing: object) -> None:
    """Keep a parent's resource from being closed in this process, which is a forked child."""
    _INHERITED.append(thing)


class _Owner:
    """Lives in the local storage of a thread, and dies with the thread."""

    def __init__(self, records: Records) -> None:
        self.records = records


class ThreadConnections:
    """The connections of the threads of one process to one database.

    A thread's connection is opened at its first use and closed when the thread ends, or by
    ``close``. A child that is forked needs connections of its own, made by a new object.
    """

    def __init__(self, database: Path, *, read_only: bool) -> None:
        """Open nothing yet.

        Args:
            database: path of the database.
            read_only: whether nobody may write there.
        """
        self._database = database
        self._read_only = read_only
        self._process = os.getpid()
        self._local = threading.local()
        self._open: dict[int, Records] = {}
        """By identity. Changed by single dictionary operations, which need no lock: a lock could
        be held by the thread in which the end of another thread is noticed."""
        self._closed = False
        self._trusted: int | None = None
        """The counter of the schema that was found to be memnet's own."""

    def records(self) -> Records:
        """The calling thread's own connection.

        Raises:
            StoreError: it can't be opened, or ``close`` was called.
        """
        owner: _Owner | None = getattr(self._local, "owner", None)
        if owner is not None:
            return owner.records
        # What is compared with the schema is the same for all connections, until it changes.
        records = Records(self._database, read_only=self._read_only, trusted=self._trusted)
        self._trusted = records.schema_counter
        owner = _Owner(records)
        self._open[id(records)] = records
        end = weakref.finalize(owner, _end, records, self._open, self._process)
        # A process that ends without closing the store leaves its files as they are.
        end.atexit = False
        self._local.owner = owner
        if self._closed:
            # ``close`` may have passed before the connection was entered.
            records.close()
            raise StoreError(f"the store {self._database.parent} is closed; open it again")
        return records

    def close(self) -> None:
        """Close the connections of all threads, once what these do right now has ended.

        In a forked child nothing is closed: the connections are the parent's.
        """
        self._closed = True
        if self._process != os.getpid():
            return
        while self._open:
            self._open.popitem()[1].close()


def _end(records: Records, opened: dict[int, Records], process: int) -> None:
    """Close the connection of a thread that has ended."""
    if process != os.getpid():
        # To a forked child all threads but one have ended; their connections are the parent's.
        keep_inherited(records)
        return
    if opened.pop(id(records), None) is not None:
        records.close()
