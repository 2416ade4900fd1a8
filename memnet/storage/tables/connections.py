"""The connections of the threads of a process to the database of a store."""

import os
import threading
import weakref
from collections.abc import Callable

from memnet.errors import StoreError
from memnet.storage.tables.connection import Connection

# What a parent process opened, kept for the life of a forked child: SQLite forbids the child to
# close the parent's connections, and Python would close those that nothing refers to.
_INHERITED: list[object] = []


def keep_inherited(thing: object) -> None:
    """Keep a parent's resource from being closed in this process, which is a forked child."""
    _INHERITED.append(thing)


class _Owner:
    """Lives in the local storage of a thread, and dies with the thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class Connections:
    """The connections of the threads of one process to one database.

    A thread's connection is opened at its first use and closed when the thread ends, or by
    ``close``. A child that is forked needs connections of its own, made by a new object.
    """

    def __init__(self, open_connection: Callable[[], Connection], place: str) -> None:
        """Open nothing yet.

        Args:
            open_connection: opens one.
            place: of the store, as messages name it.
        """
        self._open_connection = open_connection
        self._place = place
        self._process = os.getpid()
        self._local = threading.local()
        # By identity. Changed by single dictionary operations, which need no lock: a lock could be
        # held by the thread in which the end of another thread is noticed.
        self._open: dict[int, Connection] = {}
        self._closed = False

    def connection(self) -> Connection:
        """The calling thread's own connection.

        Raises:
            StoreError: it can't be opened, or ``close`` was called.
        """
        owner: _Owner | None = getattr(self._local, "owner", None)
        if owner is not None:
            return owner.connection
        connection = self._open_connection()
        owner = _Owner(connection)
        self._open[id(connection)] = connection
        end = weakref.finalize(owner, _end, connection, self._open, self._process)
        # A process that ends without closing the store leaves its files as they are.
        end.atexit = False
        self._local.owner = owner
        if self._closed:
            # ``close`` may have passed before the connection was entered.
            connection.close()
            raise StoreError(f"the store {self._place} is closed; open it again")
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
