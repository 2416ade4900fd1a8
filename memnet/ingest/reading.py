"""Finding files and reading their text, with a clear word about those that can't be read."""

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memnet.errors import InputError

SUFFIXES = (".txt", ".md", ".markdown", ".jsonl", ".tsv")
"""Kinds of files that are taken from a folder."""


@dataclass(frozen=True)
class Problem:
    """Something that was skipped, and why."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def files_below(folder: Path) -> Iterator[Path]:
    """Readable kinds of files in a folder and its subfolders, in a fixed order.

    Hidden files and folders, and links that lead out of the folder, are passed over.
    """
    root = folder.resolve()
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                continue
            yield path


def read_text(path: Path, longest: int) -> str:
    """The text of a UTF-8 file, every character as it stands there.

    Raises:
        InputError: it can't be read, is empty, is not text, or is longer than ``longest`` bytes.
    """
    try:
        size = path.stat().st_size
        if size > longest:
            raise InputError(f"holds {size:,} bytes, the limit is {longest:,}; split it")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"can't be read ({error.strerror or error}); check path and rights"
        ) from error
    text = decode(data)
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it")
    return text


def decode(data: bytes) -> str:
    """UTF-8 bytes as text, without a byte order mark.

    Raises:
        InputError: the bytes are binary or not UTF-8.
    """
    if b"\0" in data:
        raise InputError("is binary, expected text; convert it to UTF-8 text first")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start}); "
            "convert it to UTF-8 first"
        ) from error
