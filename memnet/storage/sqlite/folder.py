"""A store in a folder: its files, who may read them, and its one writer at a time."""

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memnet.config import StoreConfig
from memnet.errors import StoreBusyError, StoreError
from memnet.storage.backend import Backend
from memnet.storage.place import DATABASE
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.tables import checks
from memnet.storage.tables.connection import Connection, Connections
from memnet.storage.values import ToDevice
from memnet.storage.vectors.cache import INDEX_FILE, INDEX_LOCK, IndexCache

_LOCK = "writer.lock"


def prepare_folder(path: Path, create: bool) -> None:
    """Check that a store is in a folder; make the folder and an empty database if ``create``."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path} is a file, but a store is a folder; choose another path")
    if (path / DATABASE).is_file():
        return
    if not create:
        raise StoreError(f"there is no memnet store at {path}; make one with 'memnet ingest'")
    if path.is_dir() and any(file.name != _LOCK for file in path.iterdir()):
        raise StoreError(
            f"{path} holds other files and no memnet store; choose a new or an empty folder"
        )
    try:
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o700)
        # Made here, since SQLite would leave who may read it to the umask; its log follows it.
        os.close(os.open(path / DATABASE, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"the store folder {path} can't be made ({error.strerror or error}); choose another "
            "path"
        ) from error


def copy_rights(folder: Path, names: Iterable[str]) -> None:
    """Let whoever may read the database of a store read its lock and these files, and nobody else.

    What else lies in the folder is its owner's. A file that does not exist now is passed over.
    """
    rights = stat.S_IMODE((folder / DATABASE).stat().st_mode)
    for name in (_LOCK, *names):
        # Another process may replace or remove it at any time.
        with suppress(FileNotFoundError):
            file = folder / name
            if stat.S_IMODE(file.stat().st_mode) != rights:
                file.chmod(rights)


class FolderLock:
    """Lets one thread of one process write to a store; reentrant in that thread.

    In a forked child it is of no use, and releasing it does nothing: it is the parent's.
    """

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self._folder = folder
        self._read_only = read_only
        self._process = os.getpid()
        self._thread_lock = threading.RLock()
        self.path = folder / _LOCK  # the file that the writer locks
        self._file_lock = FileLock(self.path, mode=0o600)
        self._depth = 0

    @contextmanager
    def held(self, timeout: float) -> Iterator[bool]:
        """Hold the lock for the block; yields whether no block around it holds it."""
        if self._read_only:
            raise StoreError(
                f"the store {self._folder} is read-only; make its folder writable first"
            )
        if not self._thread_lock.acquire(timeout=timeout):
            raise StoreBusyError(
                "another thread is writing to this store; try again when it is done"
            )
        try:
            if not self._depth:  # else the thread has the file's lock already
                self._file_lock.acquire(timeout=timeout)
        except BaseException as error:
            self._thread_lock.release()
            if not isinstance(error, Timeout):
                raise
            raise StoreBusyError(
                f"another process is writing to the store {self._folder}; "
                "reading goes on, try this write again when it is done"
            ) from error
        self._depth += 1
        try:
            yield self._depth == 1
        finally:
            if self._process == os.getpid():
                self._depth -= 1
                if not self._depth:
                    self._file_lock.release()
                self._thread_lock.release()

    @contextmanager
    def try_writing(self) -> Iterator[bool]:
        """Be the writer for the block if that needs no waiting; gives whether it is so."""
        if self._read_only or self._depth:
            yield False
            return
        try:
            lock = self._file_lock.acquire(timeout=0)
        except (Timeout, OSError):
            yield False
            return
        with lock:
            yield True


class FolderBackend(Backend):
    """A folder of this machine."""

    def __init__(self, folder: Path, create: bool, lock_seconds: float) -> None:
        """Make the folder if ``create`` says so; a write waits ``lock_seconds`` for another."""
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
        size = 0
        for file in self.folder.iterdir():
            # Another process may replace or remove it at any time.
            with suppress(FileNotFoundError):
                status = file.stat()
                size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return size
