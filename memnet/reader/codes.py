"""Codes that a question gives: what is said of them answers, not what is said of other codes."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memnet.reader.passages import RankedSlot
from memnet.text.english import units

# A word with a digit, or capitals before one: "POL-358", "0x8007", "21B", "101", "KX 207".
_WITH_DIGIT = re.compile(
    r"(?<![\w.,/-])(?:[A-Z]{1,4} \d{2,6}(?![\w.,/-]*\w)|(?=[\w./-]{0,40}\d)\w[\w./-]{0,40})"
)
# What names one thing and nothing else: letters before digits, or five digits.
_NAMES_ONE = re.compile(r"(?:0x\w|[a-z][a-z./-]*\d[\d./-]*\d|\d{5})", re.IGNORECASE)


class NamedUnits(NamedTuple):
    """The units of some passages that are about the codes of a question."""

    spans: tuple[tuple[tuple[int, int], ...], ...]  # Of each passage
    missing: bool  # Whether a code that names one thing stands in no passage

    def hold(self, passage: int, start: int, end: int) -> bool:
        """Whether a piece of a passage is within one of them."""
        return any(first < end and start < last for first, last in self.spans[passage])


def codes_of(text: str) -> frozenset[str]:
    """The words with a digit of a text, in lower case, without marks at their ends."""
    return frozenset(match[0].rstrip("./-").casefold() for match in _WITH_DIGIT.finditer(text))


def named_units(question: str, passages: Sequence[RankedSlot]) -> NamedUnits | None:
    """The units about most of the codes of a question; None where codes don't tell units apart.

    A unit is about its own codes, those of the title, and, where it has none of the shape that is
    asked for, those of the unit before it: a heading, or the sentence that it goes on from.
    """
    asked = codes_of(question)
    if not asked:
        return None
    held = [_held(asked, item) for item in passages]
    counts = [len(about) for of_passage in held for _, about in of_passage]
    known = frozenset[str]().union(*(about for of_passage in held for _, about in of_passage))
    missing = any(_NAMES_ONE.match(code) for code in asked - known)
    most = max(counts, default=0)
    if not missing and min(counts, default=0) == most:
        return None
    return NamedUnits(
        tuple(
            tuple(span for span, about in of_passage if len(about) == most) for of_passage in held
        ),
        missing,
    )


def _held(asked: frozenset[str], item: RankedSlot) -> list[tuple[tuple[int, int], frozenset[str]]]:
    """The span of each unit of a passage, and the codes of a question that it is about."""
    text, title = item.slot.text, asked & codes_of(item.slot.title)
    shapes = frozenset(map(shape_of, asked))
    found, about = [], frozenset[str]()
    for unit in units(text):
        own = codes_of(text[unit.start : unit.end])
        if any(shape_of(code) in shapes for code in own):
            about = asked & own
        found.append(((unit.start, unit.end), about | title))
    return found


def shape_of(code: str) -> str:
    """Its letters and digits by kind: "aaa-999" of "pol-358"."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", code))
