"""Reading a file with its loader: every failure becomes a problem of one line."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memnet.errors import EMPTY, InputError, Problem, first_line
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import Format, SourceFile, format_by_name

# Without it, opening a pipe waits for its other end; Windows has no pipes among its files.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_ATTEMPTS = 3
"""At a file that changes while it is read, such as a log."""


@dataclass(frozen=True)
class LoadLimits:
    """What reading one file may cost; ``memnet.config.LimitConfig`` has the reasons."""

    file: int
    """Bytes of a file, and of all that it unpacks to."""
    characters: int
    """Of the text of a document."""
    title: int
    """Characters."""
    memory: int
    """Bytes of address space of the process that reads."""
    seconds: float
    """Of processor time, from one document of the file to the next. Twice as long is waited."""


@dataclass(frozen=True)
class FileToLoad:
    """A file and how it is to be read."""

    path: str
    name: str
    """Of its source."""
    format: str
    """Name of its format."""


def open_file(path: str | bytes | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; a pipe or a device never blocks.

    Raises:
        InputError: it is something else than a file.
        OSError: it does not exist, or can't be read.
    """
    descriptor = os.open(path, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        raise InputError(f"is a {kind}, expected a file; '-' reads standard input")
    return os.fdopen(descriptor, "rb")


def read_file(path: str | bytes | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a file, as it was at one time.

    Raises:
        InputError: it can't be read, is too large, or does not stop changing.
    """
    try:
        for _ in range(_ATTEMPTS):
            with open_file(path) as file:
                before = os.fstat(file.fileno())
                check_size(before.st_size, max_bytes)
                data = file.read(max_bytes + 1)
                after = os.fstat(file.fileno())
            # A file of /proc has no size until it is read.
            if len(data) == after.st_size and before.st_mtime_ns == after.st_mtime_ns:
                return data
            if not after.st_size and len(data) <= max_bytes:
                return data
    except OSError as error:
        raise InputError(
            f"can't be read ({error.strerror or error}); check path and rights"
        ) from error
    raise InputError("changes while it is read; try again when nothing writes to it")


def check_size(size: int, max_bytes: int) -> None:
    """Refuse a file that is too large.

    Raises:
        InputError: it is.
    """
    if size > max_bytes:
        raise InputError(f"holds {size:,} bytes, the limit is {max_bytes:,}; split it")


def load_documents(
    file: FileToLoad, limits: LoadLimits, begin: Callable[[str], bool] = lambda _name: True
) -> Iterator[ParsedDocument | Problem]:
    """The documents of a file, by its loader, and a problem for what can't be read.

    Args:
        file: to read.
        limits: of its size.
        begin: as that of ``SourceFile``.

    Raises:
        MemoryError: reading it takes more memory than there is.
    """
    known = format_by_name(file.format)
    path = Path(file.path)
    try:
        data = read_file(path, limits.file if known.isolated else limits.characters)
        if not data:
            raise InputError("is empty; there is nothing to remember in it", EMPTY)
    except InputError as error:
        yield Problem(file.name, str(error), error.reason)
        return
    sibling = _siblings(path.parent, limits.file)
    yield from read_source(
        known,
        SourceFile(file.name, data, sibling, limits.characters, limits.title, limits.file, begin),
    )


def read_source(known: Format, file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The documents of a file in memory, and a problem for what can't be read.

    Raises:
        MemoryError: reading it takes more memory than there is.
    """
    try:
        # Where nothing is packed, more bytes than a text may have characters are too many.
        check_size(len(file.data), file.max_unpacked if known.isolated else file.max_characters)
        for item in known.loader()(file):
            if isinstance(item, ParsedDocument) and len(item.text) > file.max_characters:
                what = f"holds {len(item.text):,} characters, the limit is {file.max_characters:,}"
                yield Problem(item.name, f"{what}; split it")
            else:
                yield item
    except InputError as error:
        yield Problem(file.name, str(error), error.reason)
    except RecursionError:
        yield Problem(file.name, "is nested too deep to be read; flatten it")
    except MemoryError:
        raise
    except Exception as error:  # a parser that a damaged file confuses raises anything
        what = f"{type(error).__name__}: {first_line(error)[:200]}"
        yield Problem(
            file.name, f"can't be read as one of {known.title} ({what}); it may be damaged"
        )


def _siblings(folder: Path, max_bytes: int) -> Callable[[str], bytes | None]:
    root = folder.parent.resolve()

    def sibling(path: str) -> bytes | None:
        """A file beside this one, or in a folder beside its own; links lead no further."""
        try:
            target = (folder / path).resolve(strict=True)
            return read_file(target, max_bytes) if target.is_relative_to(root) else None
        except (InputError, OSError, ValueError, RuntimeError):
            return None

    return sibling
