"""Reading a file with its loader: every failure becomes a problem of one line.

``main`` does so in a process of its own, within limits; ``process`` starts it. Requests come as
messages on standard input. The answers to one are a message for each document, each problem and
the start of each file in an archive and of each page that takes long, and one for the end.
"""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from memnet.errors import EMPTY, InputError, Problem, first_line
from memnet.io import check_size, read_file
from memnet.loaders import messages
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import Format, SourceFile, format_by_name
from memnet.runtime.process import limit_process, limit_time, own_streams, raise_gc_threshold


@dataclass(frozen=True)
class LoadLimits:
    """What reading one file may cost; ``memnet.config.LimitConfig`` has the reasons."""

    file: int  # bytes of a file, and of everything it unpacks to
    characters: int  # of the text of a document
    title: int  # characters
    memory: int  # bytes of address space of the reading process
    seconds: float  # of processor time per document; the parent waits twice as long


@dataclass(frozen=True)
class FileToLoad:
    """A file and how it is to be read."""

    path: str
    name: str  # of its source
    format: str  # name of its format


def load_documents(
    file: FileToLoad, limits: LoadLimits, **told: Callable[..., Any]
) -> Iterator[ParsedDocument | Problem]:
    """The documents of a file, by its loader, and a problem for what can't be read.

    ``told`` are ``begin`` and ``advance`` of ``SourceFile``.

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

    def sibling(name: str) -> bytes | None:
        """A file beside this one, or in a folder beside its own; links lead no further."""
        try:
            target = (path.parent / name).resolve(strict=True)
            beside = target.is_relative_to(path.parent.parent.resolve())
            return read_file(target, limits.file) if beside else None
        except (InputError, OSError, ValueError, RuntimeError):
            return None

    yield from read_source(
        known,
        SourceFile(file.name, data, sibling, limits.characters, limits.title, limits.file, **told),
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


def main() -> None:
    """Answer requests on standard input until there are no more."""
    raise_gc_threshold()  # documents are many small parts without cycles
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    requests, answers = own_streams()
    while (data := messages.read_message(requests)) is not None:
        (path, *names), limits, skipped = messages.parse_message(data)
        file = FileToLoad(os.fsdecode(path.encode("latin-1")), *names)
        if not _answer(file, LoadLimits(*limits), skipped, answers):
            return  # out of memory: nothing is sure to work now


def _answer(file: FileToLoad, limits: LoadLimits, skipped: int, answers: BinaryIO) -> bool:
    """Read a file without the first ``skipped`` files in it; False if it took too much memory."""
    within = count(1)

    def begin(name: str) -> bool:
        if next(within) <= skipped:
            return False
        messages.write_message(answers, ["begin", name])
        limit_time(limits.seconds)
        return True

    def advance(page: int, pages: int) -> None:
        messages.write_message(answers, ["page", page, pages])
        limit_time(limits.seconds)

    limit_process(limits.memory, limits.seconds)
    try:
        for item in load_documents(file, limits, begin=begin, advance=advance):
            try:
                messages.write_message(answers, messages.item_message(item))
            except messages.TooLargeError:
                problem = Problem(file.name, "holds a document with too many parts; split it")
                messages.write_message(answers, messages.item_message(problem))
            limit_time(limits.seconds)
    except MemoryError:
        messages.write_message(answers, ["memory"])
        return False
    messages.write_message(answers, ["end"])
    return True
