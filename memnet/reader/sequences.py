"""Lists and procedures: the units of a text that are read together, from the first to the last."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memnet.text.english import Unit

MAX_ITEMS = 15
_MAX_GAP = 6  # Units of a numbered item after its first: paragraphs, code, items below it
_NUMBER = re.compile(
    r"(step |phase )?\(?(?:(\d{1,3})|([a-z]))(?:[.):]|(?=\s[-–—]\s))", re.IGNORECASE
)
_BULLET = re.compile(r"[-*+•◦▪‣–](?=\s)")
_BEGINS = r"first(?:ly)?|to (?:begin|start)(?: with)?|(?:begin|start) (?:by|with)"
# Sentences that go on from the one before, in the order in which things are done.
_GOES_ON = re.compile(
    r"(?:then|next|after (?:that|this)|afterwards?|second(?:ly)?|third(?:ly)?|finally|last(?:ly)?"
    rf"|at (?:last|the end)|in the end|{_BEGINS})\b",
    re.IGNORECASE,
)
_FIRST = re.compile(rf"(?:{_BEGINS})\b", re.IGNORECASE)
_ENDS = re.compile(r"(?:finally|last(?:ly)?|at (?:last|the end)|in the end)\b", re.IGNORECASE)
_MAX_BETWEEN = 3  # Sentences between two that begin so
# Not "cargo build", nor what is asked: a heading that does not ask begins with a capital letter.
_HEADING = re.compile(r"(?=[^\W_a-z])[^\n=<>{}|;]{1,100}")


class Marker(NamedTuple):
    """What an item begins with: "2.", "b)", "Step 3:", "-"."""

    style: str  # Equal for the items of one list
    number: int | None  # None of a bullet

    def follows(self, other: "Marker") -> bool:
        """Whether an item comes next after one with another marker."""
        step = None if self.number is None or other.number is None else self.number - other.number
        return self.style == other.style and step in (None, 1)


def marker_of(text: str, unit: Unit) -> Marker | None:
    """The marker of a unit; None if it is no item."""
    numbered = _NUMBER.match(text, unit.start, unit.end)
    if numbered and (unit.kind == "item" or numbered[1]):
        word, digits, letter = numbered.groups()
        style = numbered[0].replace(digits or letter, "1" if digits else "a", 1) if not word else ""
        return Marker(style or word.lower(), int(digits) if digits else ord(letter.lower()))
    bullet = _BULLET.match(text, unit.start, unit.end)
    return None if bullet is None or unit.kind != "item" else Marker(bullet[0], None)


def is_heading(text: str, unit: Unit) -> bool:
    """Whether a unit stands alone, as headings do: some words, no sentence and no code.

    A number before what is asked is no part of it: "7. Can it float?" of a list of questions.
    """
    line = text.rfind("\n", 0, unit.start) + 1
    begins = not text[line : unit.start].strip()
    alone = begins and (line == 0 or text[max(0, line - 2) : line] == "\n\n")
    own = text[unit.start : unit.end]
    asks = own.endswith("?")
    if asks and (marker := _NUMBER.match(own)):
        own = own[marker.end() :].lstrip()
    return alone and (unit.kind == "line" or asks) and _HEADING.fullmatch(own) is not None


def introduces(text: str, unit: Unit) -> bool:
    """Whether a unit is a heading, or a sentence that leads to what follows it."""
    return text[unit.end - 1] == ":" or is_heading(text, unit)


def sequence_at(text: str, units: Sequence[Unit], index: int) -> tuple[int, int] | None:
    """First and last index of the list or procedure around a unit, with what introduces it.

    Of a long one some items, ``MAX_ITEMS`` at most, the unit among them. None where the unit is in
    none; a heading and a sentence with a colon belong to what follows them.
    """
    at = index + (index + 1 < len(units) and introduces(text, units[index]))
    found = (*_lists(text, units), *_procedures(text, units))
    around = [(run, last) for run, last in found if run[0] <= at <= last]
    if not around:
        return None
    run, last = max(around, key=lambda one: one[1] - one[0][0])
    before = sum(n <= at for n in run)
    cut = run[max(0, before - MAX_ITEMS) :]
    first = cut[0]
    if len(cut) > MAX_ITEMS:
        last = cut[MAX_ITEMS] - 1
    if first == run[0] and first > 0 and introduces(text, units[first - 1]):
        first -= 1
    return first, last


def _lists(text: str, units: Sequence[Unit]) -> Iterator[tuple[list[int], int]]:
    """The indices of the items of each list of two or more, and of the last unit of the last."""
    # Items that ask, with their answers between them, are no list; "Step 2: Charge it" is a step.
    markers = [
        None if unit.kind == "item" and is_heading(text, unit) else marker_of(text, unit)
        for unit in units
    ]
    indents = [_indent(text, units, n) for n in range(len(units))]
    runs: list[list[int]] = []
    last_of_style: dict[tuple[str, int], list[int]] = {}
    for n, marker in enumerate(markers):
        if marker is None:
            continue
        style = marker.style, indents[n] // 2  # " 9." and "10."
        run = last_of_style.get(style, [])
        last = run[-1] if run else n
        near = n - last <= _MAX_GAP + 1
        if marker.number is None:
            near = all(one > indents[last] for one in indents[last + 1 : n])
        before = markers[last]
        if not run or before is None or not near or not marker.follows(before):
            run = last_of_style[style] = []
            runs.append(run)
        run.append(n)
    for run in runs:
        if len(run) > 1:
            after = range(run[-1] + 1, len(units))
            ends = (n for n in after if indents[n] <= indents[run[-1]])
            yield run, next(ends, len(units)) - 1


def _procedures(text: str, units: Sequence[Unit]) -> Iterator[tuple[list[int], int]]:
    """The indices of the sentences of each procedure, and the last: "First ... Then ...".

    With the one that the first of them goes on from, and those after the last where that does not
    say that it is the last.
    """
    going_on = [n for n, one in enumerate(units) if _GOES_ON.match(text, one.start, one.end)]
    run: list[int] = []
    for n in (*going_on, len(units)):
        near = run and n < len(units) and n - run[-1] <= _MAX_BETWEEN + 1
        if run and not (near and _is_prose(text, units, run[-1], n)):
            first, last = run[0], run[-1]
            if first > 0 and not _FIRST.match(text, units[first].start):
                first -= _is_prose(text, units, first - 1, first)
            if first < last:
                if not _ENDS.match(text, units[last].start):
                    after = range(last, min(last + _MAX_BETWEEN + 1, len(units)))
                    last = max(m for m in after if _is_prose(text, units, run[-1], m))
                yield list(range(first, last + 1)), last
            run = []
        run.append(n)


def _is_prose(text: str, units: Sequence[Unit], first: int, last: int) -> bool:
    """Whether some units are sentences of one paragraph."""
    between = text[units[first].end : units[last].start]
    return "\n\n" not in between and all(one.kind == "sentence" for one in units[first : last + 1])


def _indent(text: str, units: Sequence[Unit], n: int) -> int:
    """Spaces before the line of a unit; a text begins without them, so that of its next item."""
    start = text.rfind("\n", 0, units[n].start) + 1
    if start == 0 and units[n].kind == "item":
        n = next((m for m in range(n + 1, len(units)) if units[m].kind == "item"), n)
        start = text.rfind("\n", 0, units[n].start) + 1
    spaces = text[start : units[n].start]
    return len(spaces) - len(spaces.lstrip())
