"""Reading a file with its loader: every failure becomes a problem of one line."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memnet.errors import EMPTY, InputError, Problem, first_line
from memnet.io import check_size, read_file
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import Format, SourceFile, format_by_name


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
