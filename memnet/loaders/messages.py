"""Documents and problems as the JSON that the process of the loaders sends.

It reads files that strangers made, and may have been taken over by one of them. So what it sends
is data without code, each part of which is checked before it is used.
"""

import json
import struct
from typing import Any, BinaryIO, cast, get_args

from memnet.errors import Problem
from memnet.loaders.document import Block, BlockKind, Cell, ParsedDocument, well_formed
from memnet.runtime.process import not_collecting

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
