"""Units of a text that belong together: lists, procedures, and tables of contents and indexes."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

from memnet.text.english import Unit, units
from memnet.text.names import normalise

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

# A question for several: "Who are the guides?", "Which courses does Ida teach?"
_ASKS_FOR_SEVERAL = re.compile(
    r"\W{0,9}(?:who are|who were|what are|(?:which|what)(?: \w{2,30}){0,2}? \w{2,30}s "
    r"(?:are|were|do|does|did|have|can|must|may|will|should)|"
    r"(?:name|list)(?: all)? the \w{2,30}s)\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(r"\s*(?:[.,;:!?()\n]|$)")
_MAX_WORDS = 4  # Of an entry of an enumeration
_ENTRY = rf"[^\s,;:.()&]+(?: (?!and |or )[^\s,;:.()&]+){{0,{_MAX_WORDS - 1}}}"
_AFTER = re.compile(rf"(?P<joint>,? (?:and|or|&) |, )(?P<entry>{_ENTRY})")
_LAST_JOINTS = ("and", "or", "&")
_JOINTS = (", and ", ", or ", ", & ", " and ", " or ", " & ", ", ")


def whole_enumeration(question: str, text: str, start: int, end: int) -> tuple[int, int]:
    """The span of all of "Ann Lee, Bo and Cy", of which a span is one, where several are asked for.

    Other spans stay as they are. The last entry ends a clause, and the first has as many words as
    the span, or begins with a capital as it does: what stands around is no longer the enumeration.
    """
    own = text[start:end].split()
    if not own or not _ASKS_FOR_SEVERAL.match(question):
        return start, end
    first, last, joints, entry = start, end, list[str](), ""
    while after := _AFTER.match(text, last):
        joints.append(after["joint"])
        entry = after["entry"]
        last = after.end()
        if after["joint"].strip(", ") in _LAST_JOINTS:
            break
    if not _CLAUSE_ENDS.match(text, last) or len(text[end:last].split()) > _MAX_WORDS * len(joints):
        return start, end
    before = _entry_before(text, first)
    while before is not None:
        joint, words = before
        place = first - len(joint)
        before = _entry_before(text, place - len(" ".join(words)))
        words = words if before else _last_alike(words, own)
        if not words:
            return start, end
        joints.append(joint)
        first = place - len(" ".join(words))
    whole = any(joint.strip(", ") in _LAST_JOINTS for joint in joints)
    # ", and" between two alone begins another clause, and so does what is longer than the span.
    clause = len(joints) == 1 and joints[0].startswith(",")
    longer = len(entry.split()) > len(own) + 1
    return (first, last) if whole and not clause and not longer else (start, end)


def _entry_before(text: str, end: int) -> tuple[str, list[str]] | None:
    """What joins an entry to the one before it, and the words of that; None without one."""
    before = text[max(0, end - 100) : end]
    joint = next((one for one in _JOINTS if before.endswith(one)), None)
    if joint is None:
        return None
    words: list[str] = []
    for word in reversed(before[: -len(joint)].split(" ")[-_MAX_WORDS:]):
        if not word or word in _LAST_JOINTS or word[-1] in ",;:.()":
            break
        words.insert(0, word)
    return (joint, words) if words else None


def _last_alike(words: list[str], own: Sequence[str]) -> list[str]:
    """The last of some words, as far as they may be an entry beside one of ``own`` words."""
    if own[0][:1].isupper() and own[-1][:1].isupper():
        small = max((n for n, word in enumerate(words) if not word[:1].isupper()), default=-1)
        return words[small + 1 :]
    return words[-len(own) :]


class Marker(NamedTuple):
    """What an item begins with: "2.", "b)", "Step 3:", "-"."""

    style: str  # Equal for the items of one list
    number: int | None  # None of a bullet

    def follows(self, other: "Marker") -> bool:
        """Whether an item comes next after one with another marker."""
        step = None if self.number is None or other.number is None else self.number - other.number
        return self.style == other.style and step in (None, 1)


def marker_of(text: str, unit: Unit) -> Marker | None:
    """The marker of a unit; None if it is not an item."""
    numbered = _NUMBER.match(text, unit.start, unit.end)
    if numbered and (unit.kind == "item" or numbered[1]):
        word, digits, letter = numbered.groups()
        style = numbered[0].replace(digits or letter, "1" if digits else "a", 1) if not word else ""
        return Marker(style or word.lower(), int(digits) if digits else ord(letter.lower()))
    bullet = _BULLET.match(text, unit.start, unit.end)
    return None if bullet is None or unit.kind != "item" else Marker(bullet[0], None)


def is_heading(text: str, unit: Unit) -> bool:
    """Whether a unit stands alone, as headings do: some words, no sentence and no code.

    A number before what is asked is not part of it: "7. Can it float?" of a list of questions.
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


_MIN_ENTRIES = 3
_MIN_PAGES = 5  # Entries whose last numbers rise, from which those are taken for pages
_SHARE = 0.5  # of the units that lead elsewhere, from which a text is contents
# "Firing … 12", "Firing ....... xii", "Firing … | 12" of a table; "anchors, 3, 17-19"
_TO_PAGE = re.compile(
    r"(?:…|\.{3,20}|(?:\. ){3,20}|·{3,20}|_{3,20}|\t)(?: \|)? ?(?:p\. ?)?(?:\d{1,4}|[ivxlc]{1,6})$"
)
_IN_INDEX = re.compile(r"[^\d.;:|]{2,60}(?:, ?\d{1,4}(?:[-–]\d{1,4})?){1,20}$")
_LAST_NUMBER = re.compile(r"[^\W\d].* (\d{1,4})$")
_MARK = re.compile(r"^(?:[-*•]|\d{1,3}(?:\.\d{1,3}){0,4}[.)]?) ")
_PAGE = re.compile(r"(?<![\s.…·_|])[\s.…·_|]{1,200}\d{1,4}$")
_CALLED_SO = re.compile(
    r"(?:table of )?contents|index|on this page|toc|inhalt(?:sverzeichnis)?|sommaire", re.IGNORECASE
)
# A question about the parts of a text: "What chapters are there?"
ASKS_FOR_CONTENTS = re.compile(
    r"\b(?:contents?|index|chapters?|sections?|topics?|headings?)\b", re.IGNORECASE
)


class Entries:
    """What in a text may be entries of contents: at least three units in a row, no sentences."""

    def __init__(self, title: str, text: str) -> None:
        self._text = text
        # Most texts have no lines that may be entries: their units are not looked for.
        lines = [line for line in text.split("\n") if line.strip()]
        may_be = sum(not _says(line.rstrip()) for line in lines) >= _MIN_ENTRIES
        self._units = units(text) if may_be else []
        self._is_called_so = bool(_CALLED_SO.fullmatch(title.rsplit(" > ", 1)[-1]))
        self._runs: list[list[Unit]] = []
        for said, group in groupby(self._units, lambda one: _says(text[one.start : one.end])):
            run = list(group)
            if run[-1] != self._units[-1] and is_heading(text, run[-1]):
                run.pop()  # It is the heading of what follows.
            if not said and len(run) >= _MIN_ENTRIES:
                self._runs.append(run)

    @cached_property
    def names(self) -> frozenset[str]:
        """Normalised names of what they may lead to: with and without number and page."""
        lines = (self._text[one.start : one.end] for run in self._runs for one in run)
        return frozenset(name for line in lines for name in _names(line))

    def leading(self, known: Collection[str]) -> tuple[tuple[int, int], ...]:
        """The spans of those that lead to pages, or to some ``known`` headings."""
        return tuple((run[0].start, run[-1].end) for run in self._runs if self._lead(run, known))

    def are_most(self, spans: Collection[tuple[int, int]]) -> bool:
        """Whether most units of the text are in some spans of it."""
        inside = sum(any(start <= one.start < end for start, end in spans) for one in self._units)
        return inside > 0 and inside >= _SHARE * len(self._units)

    def _lead(self, run: Sequence[Unit], known: Collection[str]) -> bool:
        if self._is_called_so:
            return True
        lines = [self._text[one.start : one.end] for one in run]
        numbers = [int(match[1]) for line in lines if (match := _LAST_NUMBER.match(line))]
        rising = (
            len(numbers) >= max(_MIN_PAGES, _SHARE * len(lines))
            and numbers == sorted(numbers)
            and numbers[0] < numbers[-1]
        )
        leading = sum(
            bool(_TO_PAGE.search(line) or _IN_INDEX.match(line))
            or any(name in known for name in _names(line))
            for line in lines
        )
        return rising or leading >= _SHARE * len(run)


def _names(line: str) -> set[str]:
    without_page = _PAGE.sub("", line)
    found = {line, without_page, _MARK.sub("", line), _MARK.sub("", without_page)}
    return set(filter(None, map(normalise, found)))


# The same passages are found by many questions, and several times for one.
entries_of = lru_cache(1000)(Entries)


def _says(line: str) -> bool:
    """Whether a line is a sentence, or a row of a table that leads to no page: no entries."""
    return line.endswith((".", "!", ";")) or (" | " in line and not _TO_PAGE.search(line))
