"""The folder of a store: its files, who may read them, and the lock of its one writer."""

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memnet.errors import StoreBusyError, StoreError

DATABASE = "memory.sqlite3"  # the file that every store has
_LOCK = "writer.lock"


def prepare_folder(path: Path, create: bool) -> None:
    """Check that a store is in a folder; make the folder and an empty database if there is none.

    Raises:
        StoreError: there is no store and ``create`` is False, or it can't be made.
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


def copy_rights(folder: Path, names: Iterable[str]) -> None:
    """Let whoever may read the database of a store read these files of it, and nobody else.

    Args:
        folder: of the store. What else lies in it is its owner's.
        names: of files that memnet makes there; one that does not exist now is passed over.
    """
    rights = stat.S_IMODE((folder / DATABASE).stat().st_mode)
    for name in (_LOCK, *names):
        # Another process may replace or remove it at any time.
        with suppress(FileNotFoundError):
            file = folder / name
            if stat.S_IMODE(file.stat().st_mode) != rights:
                file.chmod(rights)


def size_in_bytes(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(_size(file) for file in folder.iterdir())


def _size(path: Path) -> int:
    # Another process may replace or remove it at any time.
    with suppress(FileNotFoundError):
        status = path.stat()
        return status.st_size if stat.S_ISREG(status.st_mode) else 0
    return 0


class FolderLock:
    """Lets one thread of one process write to a store; reentrant in that thread.

    In a forked child it is of no use, and releasing it does nothing: it is the parent's.
    """

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        """Take nothing yet."""
        self._folder = folder
        self._read_only = read_only
        self._process = os.getpid()
        self._thread_lock = threading.RLock()
        self.path = folder / _LOCK  # the file that the writer locks
        self._file_lock = FileLock(self.path, mode=0o600)
        self._depth = 0

    @contextmanager
    def held(self, timeout: float) -> Iterator[bool]:
        """Hold the lock for the block; yields whether no block around it holds it.

        Args:
            timeout: seconds to wait for another.

        Raises:
            StoreBusyError: another thread or process has it.
            StoreError: the store is read-only.
        """
        self._acquire(timeout)
        try:
            yield self._depth == 1
        finally:
            self._release()

    def _acquire(self, timeout: float) -> None:
        if self._read_only:
            raise StoreError(
                f"the store {self._folder} is read-only; make its folder writable first"
            )
        if not self._thread_lock.acquire(timeout=timeout):
            raise StoreBusyError(
                "another thread is writing to this store; try again when it is done"
            )
        if self._depth:  # the thread has the file's lock already
            self._depth += 1
            return
        try:
            self._file_lock.acquire(timeout=timeout)
        except Timeout as error:
            self._thread_lock.release()
            raise StoreBusyError(
                f"another process is writing to the store {self._folder}; "
                "reading goes on, try this write again when it is done"
            ) from error
        except BaseException:
            self._thread_lock.release()
            raise
        self._depth += 1

    def _release(self) -> None:
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
