"""The files that a store keeps beside its rows: models trained on it, and uploads.

``models/<name>`` of the store's folder is a checkpoint: a description as JSON and tensors as
safetensors. Who uses one checks what is in it, for it may come from anyone.
``uploads/<namespace>/<name>`` is the origin of its sources, and goes when the last of them does.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import IO, BinaryIO

from memnet.errors import StoreError
from memnet.storage.place import DATABASE

# What a store may own: a model of its facts, and one that searches its documents.
MODEL_NAMES = ("facts", "text")
# End of the name of a model that is kept beside the one in use: trained and not better, or the one
# before. It is the machine's own: bundles leave it out.
ASIDE = "-aside"
_MODELS, _UPLOADS = "models", "uploads"
_MODEL_FILE = re.compile(r"model(?:\.json|-[0-9a-f]{12}\.safetensors)")
_MODEL_MEMBER = re.compile(rf"{_MODELS}/(?:{'|'.join(MODEL_NAMES)})/{_MODEL_FILE.pattern}")
_UPLOAD_MEMBER = re.compile(
    rf"{_UPLOADS}/(?:default|[0-9a-f]{{32}})(?:/(?!\.\.?(?:/|\Z))[^/\\\0]{{1,255}}){{1,50}}"
)
_DEFAULT = "default"
_INCOMING = "incoming"  # files on their way in and out; no namespace has this folder


def is_member(name: str) -> bool:
    """Whether the name of a member of a bundle is that of a file of a model or an upload."""
    return bool(_MODEL_MEMBER.fullmatch(name) or _UPLOAD_MEMBER.fullmatch(name))


class ModelFolders:
    """The models in a store's folder."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def folder(self, name: str) -> Path:
        """Where the model of a name is, if there is one."""
        return self._store / _MODELS / name

    def new_folder(self, name: str) -> Path:
        """The folder to save a model in; a link in its place may lead anywhere, and is refused."""
        folder = self.folder(name)
        if folder.is_symlink() or folder.parent.is_symlink():
            raise StoreError(f"{folder} is a link or lies in one; remove it to save a model there")
        return folder

    def names(self) -> tuple[str, ...]:
        """The models that are there. What links lead to is not the store's."""
        return tuple(name for name in MODEL_NAMES if self._files(name))

    def set_aside(self) -> tuple[str, ...]:
        """The models that are kept beside those in use."""
        return tuple(name for one in MODEL_NAMES if self._files(name := one + ASIDE))

    def use(self, name: str) -> None:
        """Let the model that is set aside of a name and the one in use change places."""
        used, aside = self.new_folder(name), self.new_folder(name + ASIDE)
        kept = self.new_folder(f"{name}-before")
        if used.exists():
            used.rename(kept)
        aside.rename(used)
        if kept.exists():
            kept.rename(aside)

    def remove(self, name: str) -> None:
        """Delete a model, in use or set aside."""
        shutil.rmtree(self.new_folder(name))

    def files(self) -> dict[str, Path]:
        """The files of all models, by the names that they have in a bundle."""
        return {
            f"{_MODELS}/{name}/{file.name}": file
            for name in self.names()
            for file in self._files(name)
        }

    def share_rights(self, name: str) -> None:
        """Let whoever may read the store's database read a model of it, and nobody else."""
        rights = stat.S_IMODE((self._store / DATABASE).stat().st_mode)
        for folder in (self.folder(name).parent, self.folder(name)):
            folder.chmod(stat.S_IMODE(self._store.stat().st_mode))
        for file in self._files(name):
            file.chmod(rights)

    def size_in_bytes(self) -> int:
        """Bytes of their files."""
        return sum(file.stat().st_size for name in self.names() for file in self._files(name))

    def _files(self, name: str) -> list[Path]:
        folder = self.folder(name)
        if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
            return []
        return sorted(
            file
            for file in folder.iterdir()
            if _MODEL_FILE.fullmatch(file.name) and file.is_file() and not file.is_symlink()
        )


class Uploads:
    """The uploaded files in a store's folder."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._folder = Path(os.path.abspath(store)) / _UPLOADS
        # What their paths begin with.
        self.prefix = f"{self._folder}{os.sep}"

    @contextmanager
    def replacing(self, name: str, content: BinaryIO, namespace: str) -> Iterator[Path]:
        """Put a file in its place for the block; if that raises, what was there before stays.

        One at a time, as the store's writer. What a process that was killed left on its way is
        removed. ``name``, also "folder/name", is valid on every system; ``content`` is copied from
        where it stands; ``namespace`` is that of its sources.

        Raises:
            StoreError: it can't be written.
        """
        folder, passing = (self._folder / one for one in (_folder_name(namespace), _INCOMING))
        before: Path | None = None
        try:
            target = folder / name
            within = target.relative_to(self._folder).parents
            for one in (*(self._folder / parent for parent in reversed(within)), passing):
                _make_folder(one)
            for left in passing.iterdir():
                left.unlink()
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
                # It is gone, or its folder can't be written or is not empty.
                with suppress(OSError):
                    path.unlink()
                    for folder in path.relative_to(self._folder).parents[:-2]:
                        (self._folder / folder).rmdir()

    def files(self) -> dict[str, Path]:
        """All of them, by the names that they have in a bundle. What links lead to is none."""
        folders = self._folder.iterdir() if _is_folder(self._folder) else ()
        found = {
            f"{_UPLOADS}/{file.relative_to(self._folder).as_posix()}": file
            for folder in filter(_is_folder, folders)
            for file in folder.rglob("*")
            if file.is_file() and not file.is_symlink()
        }
        return {name: file for name, file in found.items() if _UPLOAD_MEMBER.fullmatch(name)}

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self._folder) and ".." not in path.parts


def _folder_name(namespace: str) -> str:
    """A name that every file system takes, for a namespace of any characters."""
    if not namespace:
        return _DEFAULT
    return hashlib.blake2b(namespace.encode(), digest_size=16).hexdigest()


def _make_folder(folder: Path) -> None:
    """Make a folder for this user alone; a link in its place may lead anywhere, and is refused."""
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link; remove it to keep uploads there")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def add_file(store: Path, member: str, content: IO[bytes]) -> None:
    """Write a file of a store under the name that it has in a bundle, for this user alone."""
    if not is_member(member):
        raise ValueError(f"{member} is not a file of a store")
    path = store / member
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(content, file)


def _copy(content: BinaryIO, folder: Path) -> Path:
    """A new file of the folder, for this user alone, with a stream's content."""
    descriptor, path = mkstemp(dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file)
    except BaseException:
        with suppress(OSError):
            Path(path).unlink()
        raise
    return Path(path)


def _move_aside(target: Path, folder: Path) -> Path:
    descriptor, path = mkstemp(dir=folder)
    os.close(descriptor)
    target.replace(path)
    return Path(path)
