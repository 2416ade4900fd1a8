"""Finding files and reading their text, with a clear word about those that can't be read."""

import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memnet.errors import InputError, one_line

SUFFIXES = (".txt", ".md", ".markdown", ".jsonl", ".tsv")
"""Kinds of files that are read; one without a suffix, such as README, is plain text."""
_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe waits for its other end without it; Windows has no pipes among its files."""

_STORE = "memory.sqlite3"
"""The file that every folder of a memory has."""


@dataclass(frozen=True)
class Problem:
    """Something that was skipped, and why."""

    where: str
    what: str

    def __str__(self) -> str:
        return one_line(f"{self.where}: {self.what}")


def files_below(folder: Path) -> Iterator[Path | Problem]:
    """Files of every kind in a folder and its subfolders, in a fixed order.

    Hidden files and folders are passed over, and so are folders of memories: one often lies among
    the notes that were ingested into it. So are links to folders: what they lead to in the
    folder is met by itself. In the place of a link that leads out of the folder, or nowhere, and of
    a folder that can't be read, there is a problem.
    """
    root = folder.resolve()
    unreadable: list[Problem] = []
    for parent, folders, names in os.walk(folder, onerror=lambda e: unreadable.append(_closed(e))):
        if _STORE in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = (name for name in folders if Path(parent, name).is_symlink())
        for name in sorted([*names, *links]):
            path = Path(parent, name)
            if name.startswith("."):
                continue
            problem = _misleading(path, root) if path.is_symlink() else None
            if problem:
                yield problem
            elif name not in folders:
                yield path
    yield from unreadable


def _closed(error: OSError) -> Problem:
    return Problem(
        str(error.filename), f"the folder can't be read ({error.strerror}); check its rights"
    )


def _misleading(link: Path, root: Path) -> Problem | None:
    """What is wrong with a link in a folder."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return Problem(str(link), "is a link that leads nowhere; remove it")
    if target.is_relative_to(root):
        return None
    return Problem(
        str(link), f"is a link out of the folder, to {target}; name that too if it is wanted"
    )


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; a pipe or a device is never waited for.

    Raises:
        InputError: it is something else than a file.
        OSError: it is not there, or can't be read.
    """
    descriptor = os.open(path, os.O_RDONLY | _NEVER_WAIT)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        raise InputError(f"is a {kind}, expected a file; '-' reads standard input")
    return os.fdopen(descriptor, "rb")


def read_text(path: Path, longest: int) -> str:
    """The text of a UTF-8 file, every character as it stands there.

    Raises:
        InputError: it can't be read, is empty, is not text, or is longer than ``longest`` bytes.
    """
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > longest:
                raise InputError(f"holds {size:,} bytes, the limit is {longest:,}; split it")
            data = file.read(longest)
    except OSError as error:
        raise InputError(
            f"can't be read ({error.strerror or error}); check path and rights"
        ) from error
    text = decode(data)
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it")
    return text


def read_lines(stream: BinaryIO, where: str, longest: int) -> Iterator[tuple[int, str] | Problem]:
    """Numbered lines of a stream, with a problem for each that is not text or is too long.

    Args:
        stream: of bytes.
        where: it comes from, as problems call it.
        longest: bytes of a line.
    """
    number = 0
    while data := stream.readline(longest + 1):
        check_bytes(data, where)
        number += 1
        try:
            if len(data) > longest:
                while data and not data.endswith(b"\n"):
                    data = stream.readline(longest)
                raise InputError(f"is longer than {longest:,} bytes; split it")
            yield number, decode(data)
        except InputError as error:
            yield Problem(f"{where}, line {number}", str(error))


def check_bytes(data: object, where: str) -> None:
    """Check that a stream gives bytes.

    Raises:
        InputError: it gives text or something else.
    """
    if not isinstance(data, bytes):
        raise InputError(
            f"{where} gives {type(data).__name__}, expected bytes; open it in binary mode"
        )


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
