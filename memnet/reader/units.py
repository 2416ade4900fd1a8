"""Units of a text: the smallest pieces that are quoted whole.

The last hop reads inside passages and attends over their units as slots: sentences, items of
lists, rows of tables, lines of code.
"""

import re
from typing import Literal, NamedTuple

from memnet.text.english import sentences, trim_span

UnitKind = Literal["sentence", "item", "row", "line"]

_ITEM = re.compile(r"(?:[-*+•◦▪‣–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]")
_ROW = re.compile(r" \| |; [^;:\n]{1,60}: ")
_MAX_WHOLE = 300
"""Characters up to which an item of a list or a row is one unit, however many its sentences."""
_PROSE_ENDS = tuple(".!?:…)\"'”’")
"""Characters that a line of prose ends with."""
_WORD = re.compile(r"\w")


class Unit(NamedTuple):
    """A piece of a text."""

    start: int
    end: int
    kind: UnitKind


def units(text: str) -> list[Unit]:
    """The units of a text in their order, without those that hold no word.

    Args:
        text: of a slot: a line is a paragraph, an item of a list, a row of a table or a line of
            code.
    """
    found: list[Unit] = []
    offset = 0
    for line in text.split("\n"):
        span = trim_span(text, offset, offset + len(line))
        offset += len(line) + 1
        if span is None or not _WORD.search(text, *span):
            continue
        kind = _kind(text[span[0] : span[1]])
        if kind != "sentence" and span[1] - span[0] <= _MAX_WHOLE:
            found.append(Unit(*span, kind))
            continue
        for start, end in sentences(text[span[0] : span[1]]):
            if _WORD.search(text, span[0] + start, span[0] + end):
                found.append(Unit(span[0] + start, span[0] + end, kind))
    return found


def _kind(line: str) -> UnitKind:
    if _ITEM.match(line):
        return "item"
    if _ROW.search(line):
        return "row"
    return "sentence" if line.endswith(_PROSE_ENDS) else "line"
