"""The folders in which a store keeps the models that were trained on it.

``models/<name>`` of the store's folder, each a checkpoint: a description as JSON and tensors as
safetensors. Here they are files; who uses one checks what is in it, for it may come from anyone.
"""

import os
import re
import stat
from pathlib import Path

from memnet.errors import InputError, StoreError
from memnet.io import open_file
from memnet.storage.folder import DATABASE

MODEL_NAMES = ("facts", "text")
"""What a store may own: a model of its facts, and one that searches its documents."""
_FOLDER = "models"
_FILE = re.compile(r"model(?:\.json|-[0-9a-f]{12}\.safetensors)")
_MEMBER = re.compile(rf"{_FOLDER}/(?:{'|'.join(MODEL_NAMES)})/{_FILE.pattern}")
_MAX_FILE_BYTES = 500_000_000
"""A hundred times those of a model that ships."""


def is_model_file(member: str) -> bool:
    """Whether the name of a member of a bundle is that of a model's file."""
    return bool(_MEMBER.fullmatch(member))


class ModelFolders:
    """The models in a store's folder."""

    def __init__(self, store: Path) -> None:
        """Take the store's folder."""
        self._store = store

    def folder(self, name: str) -> Path:
        """Where the model of a name is, if there is one."""
        return self._store / _FOLDER / name

    def new_folder(self, name: str) -> Path:
        """The folder to save a model in.

        Raises:
            StoreError: a link stands in its place, which may lead anywhere.
        """
        folder = self.folder(name)
        if folder.is_symlink() or folder.parent.is_symlink():
            raise StoreError(f"{folder} is a link or lies in one; remove it to save a model there")
        return folder

    def names(self) -> tuple[str, ...]:
        """The models that are there. What links lead to is not the store's."""
        return tuple(name for name in MODEL_NAMES if self._files(name))

    def files(self) -> dict[str, bytes]:
        """The files of all models, by the names that they have in a bundle.

        Raises:
            StoreError: one can't be read.
        """
        return {
            f"{_FOLDER}/{name}/{file.name}": _content(file)
            for name in self.names()
            for file in self._files(name)
        }

    def add_file(self, member: str, content: bytes) -> None:
        """Write a file under the name that it has in a bundle, readable as the store's others.

        Raises:
            ValueError: it is not the name of a model's file.
        """
        if not is_model_file(member):
            raise ValueError(f"{member} is not a file of a model")
        path = self._store / member
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    def share_rights(self, name: str) -> None:
        """Let whoever may read the store's database read a model of it, and nobody else."""
        rights = stat.S_IMODE((self._store / DATABASE).stat().st_mode)
        folders = (self.folder(name).parent, self.folder(name))
        for folder in folders:
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
            if _FILE.fullmatch(file.name) and file.is_file() and not file.is_symlink()
        )


def _content(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (InputError, OSError) as error:
        raise StoreError(f"the model file {path} can't be read: {error}") from error
    if len(content) > _MAX_FILE_BYTES:
        raise StoreError(f"the model file {path} is larger than {_MAX_FILE_BYTES:,} bytes")
    return content
