"""Reading a file with its loader: every failure becomes a problem of one line.

``main`` does so in a process of its own, within limits; ``process`` starts it. Requests come as
messages on standard input. The answers to one are a message for each document, each problem and
the start of each file in an archive and of each page that takes long, and one for the end.

It reads files that strangers made, and may have been taken over by one of them. So what it sends
is data without code, each part of which is checked before it is used.
"""

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, cast, get_args

from memnet.errors import EMPTY, InputError, Problem, first_line
from memnet.io import check_size, read_file
from memnet.loaders.document import Block, BlockKind, Cell, ParsedDocument, well_formed
from memnet.loaders.formats import Format, SourceFile, format_by_name
from memnet.runtime.process import (
    limit_process,
    limit_time,
    not_collecting,
    own_streams,
    raise_gc_threshold,
)

# Of a message: ten times the text of the longest document, for its blocks and cells.
MAX_BYTES = 1 << 28
MAX_LABEL = 1000  # characters of a place or of the name of a link
_LENGTH = struct.Struct(">I")
_KINDS = frozenset(get_args(BlockKind))


class BadMessageError(Exception):
    """A message is not what a loader sends."""


class TooLargeError(Exception):
    """A message is longer than ``MAX_BYTES``."""


def write_message(stream: BinaryIO, message: object) -> None:
    """Write a JSON value with its length before it.

    Raises:
        TooLargeError: it is too long; nothing was written.
    """
    data = well_formed(json.dumps(message, ensure_ascii=False, default=str)).encode()
    if len(data) > MAX_BYTES:
        raise TooLargeError
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message, not parsed yet; None at the end, or for other data."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_BYTES:
        return None
    data = stream.read(length)
    return data if len(data) == length else None


def parse_message(data: bytes) -> list[Any]:
    """A message as a list: its kind and its parts.

    Raises:
        BadMessageError: it is something else.
    """
    try:
        with not_collecting():
            message = json.loads(data, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise BadMessageError from error
    if not isinstance(message, list) or not message:
        raise BadMessageError
    return message


def item_message(item: ParsedDocument | Problem) -> list[Any]:
    """The message for what a loader gives."""
    if isinstance(item, Problem):
        return ["problem", item.where, item.what, item.reason]
    blocks = [
        block._replace(place=block.place[:MAX_LABEL], links=_short(block.links))
        if block.links or len(block.place) > MAX_LABEL
        else block
        for block in item.blocks
    ]
    names = _short(item.names)
    return ["document", item.name, item.title, item.text, blocks, dict(item.metadata), names]


def _short(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Those that can be the name of something; the address of a picture may hold all of it."""
    return tuple(label for label in labels if len(label) <= MAX_LABEL)


def message_item(message: list[Any], name: str, origin: str) -> ParsedDocument | Problem:
    """What a loader gave, from its message, for a file whose source has this name.

    Raises:
        BadMessageError: some part is missing, or of another type, or lies outside of the text, or
            the name of a document does not start with that of the source.
    """
    match message:
        case ["problem", str(where), str(what), str(reason)]:
            return Problem(where, what, reason)
        case ["document", str(own), str(title), str(text), list(blocks), dict(metadata), names]:
            stem = well_formed(name)
            if own == stem or own.startswith((f"{stem}#", f"{stem}/")):
                # Of a table of a million cells it would take four fifths of the time.
                with not_collecting():
                    placed = _blocks(blocks, len(text))
                return ParsedDocument(own, title, text, placed, origin, metadata, _labels(names))
    raise BadMessageError


def _blocks(values: list[Any], length: int) -> tuple[Block, ...]:
    blocks: list[Block] = []
    last = 0
    try:
        for kind, start, end, level, place, opens, links, cells in values:
            if not (
                type(kind) is type(place) is str
                and type(start) is type(end) is type(level) is int
                and type(opens) is bool
                and kind in _KINDS
                and last <= start <= end <= length
                and 0 <= level < MAX_LABEL
                and len(place) <= MAX_LABEL
            ):
                raise BadMessageError
            last = end
            known, placed = cast(BlockKind, kind), _cells(cells, start, end) if cells else ()
            blocks.append(Block(known, start, end, level, place, opens, _labels(links), placed))
    except (TypeError, ValueError) as error:
        raise BadMessageError from error
    return tuple(blocks)


def _cells(values: Any, start: int, end: int) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    last = start
    for header, first, after, place in values:
        if not (
            type(header) is type(place) is str
            and type(first) is type(after) is int
            and last <= first <= after <= end
            and len(place) <= MAX_LABEL
        ):
            raise BadMessageError
        last = after
        cells.append(Cell(header, first, after, place))
    return tuple(cells)


def _labels(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise BadMessageError
    if not values:
        return ()
    if not all(isinstance(value, str) and len(value) <= MAX_LABEL for value in values):
        raise BadMessageError
    return tuple(values)


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
    requests, answers = own_streams()
    while (data := read_message(requests)) is not None:
        (path, *names), limits, skipped = parse_message(data)
        file = FileToLoad(os.fsdecode(path.encode("latin-1")), *names)
        if not _answer(file, LoadLimits(*limits), skipped, answers):
            return  # out of memory: nothing is sure to work now


def _answer(file: FileToLoad, limits: LoadLimits, skipped: int, answers: BinaryIO) -> bool:
    """Read a file without the first ``skipped`` files in it; False if it took too much memory."""
    within = count(1)

    def begin(name: str) -> bool:
        if next(within) <= skipped:
            return False
        write_message(answers, ["begin", name])
        limit_time(limits.seconds)
        return True

    def advance(page: int, pages: int) -> None:
        write_message(answers, ["page", page, pages])
        limit_time(limits.seconds)

    limit_process(limits.memory, limits.seconds)
    try:
        for item in load_documents(file, limits, begin=begin, advance=advance):
            try:
                write_message(answers, item_message(item))
            except TooLargeError:
                problem = Problem(file.name, "holds a document with too many parts; split it")
                write_message(answers, item_message(problem))
            limit_time(limits.seconds)
    except MemoryError:
        write_message(answers, ["memory"])
        return False
    write_message(answers, ["end"])
    return True
