"""A store in a folder: its rows in a database file, with one writer at a time."""

import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError
from memnet.storage.backend import Backend
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
from memnet.storage.vectors.cache import INDEX_FILE, INDEX_LOCK, IndexCache
from memnet.storage.vectors.search import ToDevice


class FolderBackend(Backend):
    """A folder of this machine."""

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
        self._read_only = not os.access(folder, os.W_OK)
        self._lock_seconds = lock_seconds
        self._lock = FolderLock(folder, read_only=self._read_only)
        self.connections = Connections(self._connect, self.place)
        # The counter of the schema that was found to be memnet's own.
        self._trusted: int | None = None

    def _connect(self) -> SqliteConnection:
        # What is compared with the schema is the same for all connections, until it changes.
        connection = SqliteConnection(
            self.folder / DATABASE, read_only=self._read_only, trusted=self._trusted
        )
        self._trusted = connection.schema_counter
        return connection

    def reopened(self) -> "FolderBackend":
        return FolderBackend(self.folder, create=False, lock_seconds=self._lock_seconds)

    def vector_index(
        self, fingerprint: str, dimension: int, config: StoreConfig, to_device: ToDevice | None
    ) -> IndexCache:
        """As ``Backend.vector_index``: a file of the folder."""
        return IndexCache(
            self.folder,
            fingerprint,
            dimension,
            config,
            to_device,
            connection=self.connections.connection,
            try_writing=self._lock.try_writing,
            on_saved=lambda: copy_rights(self.folder, (INDEX_FILE, INDEX_LOCK)),
        )

    def writing(self, timeout: float, sources_only: bool) -> AbstractContextManager[bool]:  # noqa: ARG002
        """As ``Backend.writing``: there is one writer, whatever it writes."""
        return self._lock.held(timeout)

    def check_rows(self, connection: Connection, dimension: int) -> None:
        """As ``Backend.check_rows``: a whole copy is not checked again in its place."""
        location = checks.new_location(connection, self.folder / DATABASE, dimension)
        if location is not None and not self._read_only:
            with (
                suppress(StoreBusyError),
                self._lock.held(self._lock_seconds),
                connection.transaction(advance=False),
            ):
                connection.set_property("place", location)

    def size_in_bytes(self, connection: Connection) -> int:  # noqa: ARG002
        return size_in_bytes(self.folder)
