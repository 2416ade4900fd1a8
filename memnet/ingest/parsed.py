"""Parsed inputs as bytes, for the processes that make slots of them on any machine.

They lie in a database that others write to: they are data without code, each part of which is
checked before it is used.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from memnet.errors import StoreError
from memnet.ingest.formats import Parsed, ParsedFacts, PlacedFact
from memnet.loaders.document import ParsedDocument
from memnet.loaders.messages import BadMessageError, item_message, message_item
from memnet.types import Fact

_MAX_BYTES = 1 << 30
"""Of what is unpacked: few bytes can hold any number of equal ones."""
_Batch = Sequence[tuple[Parsed, bytes]]


def packed(batch: _Batch) -> bytes:
    """Inputs, none of them a message, with the digests of what they were parsed to."""
    items = [[_packed(parsed), parsed.origin, digest.hex()] for parsed, digest in batch]
    # Quickly: it travels twice.
    return zlib.compress(json.dumps(items, default=str).encode(), 1)


def unpacked(data: bytes) -> list[tuple[Parsed, bytes]]:
    """What ``packed`` was given.

    Raises:
        StoreError: it is something else.
    """
    try:
        unpack = zlib.decompressobj()
        items = json.loads(unpack.decompress(data, _MAX_BYTES))
        if not unpack.eof:
            raise BadMessageError
        return [
            (_unpacked(message, origin), bytes.fromhex(digest)) for message, origin, digest in items
        ]
    except (BadMessageError, zlib.error, ValueError, TypeError, ValidationError) as error:
        raise StoreError(
            "a batch of an ingest is damaged; run the ingest again, with the same version of "
            "memnet in all its processes"
        ) from error


def _packed(parsed: Parsed) -> list[Any]:
    if isinstance(parsed, ParsedFacts):
        return ["facts", parsed.name, [[*_triple(one.fact), *one[1:]] for one in parsed.facts]]
    # What is in no block is not stored: a story's text is that of a file with many others.
    start = parsed.blocks[0].start if parsed.blocks else 0
    end = parsed.blocks[-1].end if parsed.blocks else 0
    own = _moved(replace(parsed, text=parsed.text[start:end]), -start)
    return [parsed.kind, start, item_message(own)]


def _triple(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.relation, fact.object


def _unpacked(message: list[Any], origin: str) -> Parsed:
    match message:
        case ["facts", str(name), list(rows)]:
            facts = (
                PlacedFact(Fact(subject=row[0], relation=row[1], object=row[2]), *row[3:])
                for row in rows
            )
            return ParsedFacts(name, tuple(facts), str(origin))
        case ["document" | "story" as kind, int(start), ["document", str(name), *rest]]:
            parsed = message_item(["document", name, *rest], name, str(origin))
            if isinstance(parsed, ParsedDocument):
                moved = replace(parsed, kind=kind, text="\n" * start + parsed.text)
                return _moved(moved, start)
    raise BadMessageError


def _moved(document: ParsedDocument, by: int) -> ParsedDocument:
    """A document whose blocks are elsewhere in its text."""
    if not by:
        return document
    blocks = tuple(
        block._replace(
            start=block.start + by,
            end=block.end + by,
            cells=tuple(
                cell._replace(start=cell.start + by, end=cell.end + by) for cell in block.cells
            ),
        )
        for block in document.blocks
    )
    return replace(document, blocks=blocks)
