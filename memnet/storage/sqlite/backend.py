"""A store in a folder: its rows in a database file, with one writer at a time."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError
from memnet.storage.backend import Backend, Result
from memnet.storage.folder import (
    DATABASE,
    FolderLock,
    copy_rights,
    prepare_folder,
    size_in_bytes,
)
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.tables import checks
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.connections import Connections
from memnet.storage.vectors.cache import INDEX_FILE, INDEX_LOCK
from memnet.storage.vectors.dense import DenseIndex


class FolderBackend(Backend):
    """A folder of this machine."""

    many_writers = False

    def __init__(self, folder: Path, create: bool, lock_seconds: float) -> None:
        """Make the folder if there is none, and ``create`` says so.

        Args:
            folder: of the store.
            create: whether a store may be made.
            lock_seconds: how long a write waits for another writer.

        Raises:
            StoreError: there is no store, or it can't be made.
        """
        prepare_folder(folder, create)
        self.folder = folder
        self.place = str(folder)
        self.read_only = not os.access(folder, os.W_OK)
        self._lock_seconds = lock_seconds
        self._lock = FolderLock(folder, read_only=self.read_only)
        self.lock = self._lock
        self.connections = Connections(self._connect, self.place)
        self._trusted: int | None = None
        """The counter of the schema that was found to be memnet's own."""

    def _connect(self) -> SqliteConnection:
        # What is compared with the schema is the same for all connections, until it changes.
        connection = SqliteConnection(
            self.folder / DATABASE, read_only=self.read_only, trusted=self._trusted
        )
        self._trusted = connection.schema_counter
        return connection

    def again(self) -> "FolderBackend":
        """As ``Backend.again``."""
        return FolderBackend(self.folder, create=False, lock_seconds=self._lock_seconds)

    def try_saving(self) -> AbstractContextManager[bool]:
        """As ``Backend.try_saving``: a writer saves the index itself."""
        return self._lock.try_writing()

    def check_copy(self, connection: Connection, dimension: int) -> None:
        """As ``Backend.check_copy``: a whole one is not checked again in its place."""
        location = checks.new_location(connection, self.folder / DATABASE, dimension)
        if location is not None and not self.read_only:
            with (
                suppress(StoreBusyError),
                self.lock.held(self._lock_seconds),
                connection.transaction(advance=False),
            ):
                connection.set_property("place", location)

    def server_index(self, dimension: int, config: StoreConfig) -> DenseIndex | None:
        """As ``Backend.server_index``: a folder has no server."""

    def share_rights(self) -> None:
        """As ``Backend.share_rights``."""
        copy_rights(self.folder, (INDEX_FILE, INDEX_LOCK))

    def size_in_bytes(self, connection: Connection) -> int:  # noqa: ARG002
        """As ``Backend.size_in_bytes``."""
        return size_in_bytes(self.folder)

    def retrying(self, change: Callable[[], Result]) -> Result:
        """As ``Backend.retrying``: no other writer can be in the way."""
        return change()
