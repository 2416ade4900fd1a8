"""The files that a store keeps for those who have no folder of their own: uploads.

``uploads/<namespace>/<name>`` of the store's folder. A file is the origin of its sources, and goes
when the last of them does.
"""

import hashlib
import os
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
