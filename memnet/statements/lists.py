"""Lists in statements, such as "tea, coffee and cocoa", of which another statement may end a part.

The statement network says that a part is ended, and not which; that follows from the words.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memnet.statements.reading import Piece, StatementReading
from memnet.storage import Told
from memnet.text.names import stems

_JOINT = re.compile(r"\s*(?:[,;/]?\s*(?:\b(?:and|or)\b|[&+])|[,;/])\s*", re.IGNORECASE)
"""What stands between two items."""
_LAST_JOINT = re.compile(r"\b(?:and|or)\b|[&+]", re.IGNORECASE)
"""What stands before the last item: commas alone may part anything."""
_STEM_LETTERS = 5


class Part(NamedTuple):
    """A part of a statement that another one has ended."""

    statement: int
    """Index of the statement."""
    ended_by: Told


def list_items(told: Told) -> tuple[str, ...]:
    """The items of the list in what a statement says of its subject; none without a list."""
    runs: list[tuple[int, int]] = []
    for value in told.values:
        start = told.text.find(value, runs[-1][1] if runs else 0)
        if start < 0:
            continue
        end = start + len(value)
        joint = _JOINT.match(told.text, runs[-1][1]) if runs else None
        if joint and joint.end() >= start:  # it may stand at the start of the value: "and a dog"
            start = runs.pop()[0]
        runs.append((start, end))
    for start, end in runs:
        if _LAST_JOINT.search(told.text, start, end):
            items = _JOINT.split(told.text[start:end].rpartition(":")[2])
            return tuple(filter(None, items))
    return ()


def ends_an_item(new: Told, earlier: Told) -> bool:
    """Whether a statement that ends something names some items of an earlier one, and not all."""
    items = list_items(earlier)
    named = [_is_named(item, new) for item in items]
    return any(named) and not all(named)


def without_ended(
    reading: StatementReading, told: Sequence[Told], parts: Sequence[Part]
) -> StatementReading:
    """A reading without the pieces that name what holds no longer.

    Args:
        reading: of a question about what holds.
        told: the statements that were read.
        parts: of these statements, what has ended.
    """
    ending = {part.ended_by.id for part in parts}

    def holds(piece: Piece) -> bool:
        text = told[piece.statement].text[piece.start : piece.end]
        return told[piece.statement].id not in ending and not any(
            part.statement == piece.statement and _is_named(text, part.ended_by) for part in parts
        )

    items = tuple(filter(holds, reading.items))
    if len(items) == len(reading.items) or not items:
        return reading
    # Of a list of which one item is left, that one is the value.
    pieces = items if len(items) == 1 else tuple(filter(holds, reading.pieces))
    return reading._replace(items=items, pieces=pieces)


def _is_named(item: str, told: Told) -> bool:
    """Whether all content words of an item stand in a statement, by their stems."""
    return stems(item, _STEM_LETTERS) <= stems(told.text, _STEM_LETTERS)
