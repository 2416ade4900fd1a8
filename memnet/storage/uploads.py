"""The files that a store keeps for those who have no folder of their own: uploads.

``uploads/<namespace>/<name>`` of the store's folder. A file is the origin of its sources, and goes
when the last of them does.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import BinaryIO

from memnet.errors import StoreError

_FOLDER = "uploads"
_DEFAULT = "default"
_INCOMING = "incoming"
"""Folder of files on their way in and out; that of a namespace is never called so."""


class Uploads:
    """The uploaded files in a store's folder."""

    def __init__(self, store: Path) -> None:
        """Take the store's folder."""
        self._folder = Path(os.path.abspath(store)) / _FOLDER
        self.prefix = f"{self._folder}{os.sep}"
        """What their paths begin with."""

    @contextmanager
    def replacing(self, name: str, content: BinaryIO, namespace: str) -> Iterator[Path]:
        """Put a file in its place for the block; if that raises, what was there before stays.

        One at a time, as the store's writer. What a process that was killed left on its way is
        removed.

        Args:
            name: of the file, without a folder, valid on every system.
            content: is copied from where it stands.
            namespace: of its sources.

        Raises:
            StoreError: it can't be written.
        """
        folder, passing = (self._folder / one for one in (_folder_name(namespace), _INCOMING))
        before: Path | None = None
        try:
            for one in (self._folder, folder, passing):
                _make_folder(one)
            for left in passing.iterdir():
                left.unlink()
            target = folder / name
            incoming = _copy(content, passing)
            if os.path.lexists(target):
                before = _move_aside(target, passing)
            incoming.replace(target)
        except OSError as error:
            raise StoreError(
                f"the upload {name} can't be kept in {folder} ({error.strerror or error}); "
                "free space or rights there"
            ) from error
        try:
            yield target
        except BaseException:
            with suppress(OSError):
                if before is None:
                    target.unlink()
                else:
                    before.replace(target)
            raise
        if before is not None:
            with suppress(OSError):
                before.unlink()

    def among(self, paths: Iterable[str]) -> list[str]:
        """Those of some absolute paths that are uploads."""
        return [path for path in paths if self._holds(Path(path))]

    def remove(self, uploads: Iterable[str]) -> None:
        """Remove some uploads."""
        for path in map(Path, uploads):
            if self._holds(path):
                with suppress(OSError):  # it is gone, or its folder can't be written
                    path.unlink()

    def copy_to(self, other: "Uploads") -> None:
        """Copy those files to another store that it lacks. What links lead to is no upload.

        Raises:
            OSError: one can't be read or written.
            StoreError: a link stands in the place of a folder.
        """
        folders = self._folder.iterdir() if _is_folder(self._folder) else ()
        for folder in folders:
            if folder.name == _INCOMING or not _is_folder(folder):
                continue
            target, passing = other._folder / folder.name, other._folder / _INCOMING
            for one in (other._folder, target, passing):
                _make_folder(one)
            for file in folder.iterdir():
                if stat.S_ISREG(file.lstat().st_mode) and not _same(file, target / file.name):
                    _copy_file(file, target / file.name, passing)

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self._folder) and ".." not in path.parts


def _folder_name(namespace: str) -> str:
    """A name that every file system takes, for a namespace of any characters."""
    if not namespace:
        return _DEFAULT
    return hashlib.blake2b(namespace.encode(), digest_size=16).hexdigest()


def _make_folder(folder: Path) -> None:
    """Make a folder for this user alone.

    Raises:
        StoreError: a link stands in its place, which may lead anywhere.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link; remove it to keep uploads there")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _same(file: Path, other: Path) -> bool:
    """Whether one of two files is a copy of the other, by size and time."""
    if not other.is_file():
        return False
    one, two = file.stat(), other.stat()
    return (one.st_size, one.st_mtime_ns) == (two.st_size, two.st_mtime_ns)


def _copy_file(file: Path, target: Path, folder: Path) -> None:
    """Copy a file with its time, by way of a folder; the copy appears whole."""
    with file.open("rb") as content:
        incoming = _copy(content, folder)
    status = file.stat()
    os.utime(incoming, ns=(status.st_atime_ns, status.st_mtime_ns))
    incoming.replace(target)


def _copy(content: BinaryIO, folder: Path) -> Path:
    """A new file of the folder, for this user alone, with a stream's content."""
    descriptor, path = mkstemp(dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            while part := content.read(1 << 20):
                file.write(part)
    except BaseException:
        with suppress(OSError):
            Path(path).unlink()
        raise
    return Path(path)


def _move_aside(target: Path, folder: Path) -> Path:
    """Move a file into a folder; returns its path there."""
    descriptor, path = mkstemp(dir=folder)
    os.close(descriptor)
    target.replace(path)
    return Path(path)
