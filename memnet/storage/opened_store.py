"""A store that is open in this process: its folder, its connections and its one writer."""

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from memnet.errors import StoreBusyError, StoreError
from memnet.storage.tables.records import Records
from memnet.storage.tables.thread_connections import ThreadConnections, keep_inherited

DATABASE = "memory.sqlite3"
"""The file that every store has."""
_LOCK = "writer.lock"


class OpenedStore:
    """Connections of threads and locks of writers, also after a fork."""

    def __init__(self, path: Path, create: bool, lock_seconds: float) -> None:
        """Open the folder of a store.

        Args:
            path: of the folder.
            create: make it if there is none.
            lock_seconds: how long a write waits for another writer.

        Raises:
            StoreError: there is no store, or its folder can't be made.
        """
        self.path = path
        self._lock_seconds = lock_seconds
        _check_folder(self.path, create)
        self._read_only = not os.access(self.path, os.W_OK)
        self._closed = False
        self._file_lock: BaseFileLock
        self._changing: bool
        self._start_process()

    def close(self) -> None:
        """Close the store's files, once what other threads do right now has ended.

        A thread that goes on to use the store is told that it is closed.
        """
        self._closed = True
        self._connections.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let every read of this thread inside the block see one and the same commit."""
        with self._records.snapshot():
            yield

    @property
    def _records(self) -> Records:
        """The calling thread's own connection."""
        self._check_open()
        return self._connections.records()

    def _check_open(self) -> None:
        """See that the store is open, and that nothing is used that a parent process left."""
        if self._closed:
            raise StoreError(f"the store {self.path} is closed; open it again")
        if self._process != os.getpid():
            keep_inherited(self._file_lock)
            self._start_process()

    def _start_process(self) -> None:
        """Take locks and connections of this process's own.

        Those of a parent are kept out of use and never closed: the parent uses them, and any of its
        threads may have held a lock when the process was forked.
        """
        self._connections = ThreadConnections(self.path / DATABASE, read_only=self._read_only)
        self._write_guard = threading.RLock()
        self._file_lock = FileLock(self.path / _LOCK, mode=0o600)
        self._writer_depth = 0
        self._changing = False
        self._process = os.getpid()

    def _acquire_writer(self, wait: float) -> None:
        self._check_open()
        if self._read_only:
            raise StoreError(f"the store {self.path} is read-only; make its folder writable first")
        if not self._write_guard.acquire(timeout=wait):
            raise StoreBusyError(
                "another thread is writing to this store; try again when it is done"
            )
        try:
            self._file_lock.acquire(timeout=wait)
        except Timeout as error:
            self._write_guard.release()
            raise StoreBusyError(
                f"another process is writing to the store {self.path}; "
                "reading goes on, try this write again when it is done"
            ) from error
        except BaseException:
            self._write_guard.release()
            raise


def _check_folder(path: Path, create: bool) -> None:
    """See that a store is in a folder, or may be made there.

    Raises:
        StoreError: it isn't, or can't be.
    """
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
        raise StoreError(f"the store folder {path} can't be made: {error}") from error


def same_rights(folder: Path, names: Iterable[str]) -> None:
    """Let whoever may read the rows of a store read these files of it, and nobody else.

    Args:
        folder: of the store. What else lies in it is its owner's.
        names: of files that memnet makes there; one that is not there now is passed over.
    """
    rights = stat.S_IMODE((folder / DATABASE).stat().st_mode)
    for name in (_LOCK, *names):
        # Another process may replace or remove it at any time.
        with suppress(FileNotFoundError):
            file = folder / name
            if stat.S_IMODE(file.stat().st_mode) != rights:
                file.chmod(rights)
