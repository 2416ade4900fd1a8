"""Running headers and footers, and page numbers, which stand on many pages."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from statistics import median

from memnet.loaders.pdf.lines import Line

_EDGE_LINES = 4  # from the top and the bottom that can be running headers, and as many footers
_LINES_EACH = 6  # lines that a page must have for each of them
# In a document of so few pages two are enough to repeat something, unless they have few lines.
_FEW_PAGES = 3
_FEW_LINES = 3
_TOLERANCE = 4.0  # points by which the height of a running header differs from page to page
_NEAR = 12  # pages: among so many in a row a running header occurs at least three times
_APART = 2.2  # em between the text and a running header whose words differ from page to page
_APART_LINES = 1.3  # times the usual distance between lines: wider than that of text
_MOST_DISTANCE = 3  # em between lines of text
_SMALLER = 0.93  # times the size of the text beside it: the font of a running header
_TITLE = 1.05  # times the body's size: a larger font is that of a title
_MARGIN = 1 / 6  # of the page's height: running headers are no further from its edge
_APART_PAGES = 6  # pages nearby on which something stands apart at the same height
# Where a running header has the number of its page.
_OWN_NUMBER = re.compile(
    r"^\W*\d{1,5}(?=\W*\s)(?![.,]\d)|(?<![\d.,])(?:\d{1,5} ?(?:/|of|von|de|sur) ?)?\d{1,5}\W*$"
    r"|(?<=page )\d+",
    re.IGNORECASE,
)
_OF_ALL = re.compile(r"\d ?(?:/|of|von|de|sur) ?\d", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_MARKS = " -–—|[]()•·"  # around a page number
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—(\[|•\s]*(\d{1,5}|[ivxlc]{1,8})[-–—)\]|•\s]*"
    r"(?:(?:/|of|von|de|sur)\s*\d{1,5})?",
    re.IGNORECASE,
)


def take_running_headers(
    pages: Sequence[list[Line]], labels: Sequence[str], body: float
) -> list[tuple[list[Line], list[Line]]]:
    """Take running headers, footers and page numbers out of the lines of pages, in place.

    ``labels`` are those of the pages as printed, empty where unknown; ``body`` is the font size of
    most of the text.

    Returns:
        Of each page the headers and the footers that stand nowhere before it, nor in the text of
        any page; their page numbers are left out.
    """
    found: list[tuple[list[Line], list[Line]]] = [([], []) for _ in pages]
    texts = _find(pages, labels, body, found)
    for lines, (headers, footers) in zip(pages, found, strict=True):
        taken = {id(line): line for line in headers + footers}
        if len(taken) < len(lines):
            lines[:] = [line for line in lines if id(line) not in taken]
            for key, line in taken.items():
                line.text = texts[key]
        else:
            headers.clear()
            footers.clear()
    seen = {""} | {line.text.casefold() for lines in pages for line in lines}
    for lines in chain.from_iterable(found):
        new = {line.text.casefold(): line for line in lines}
        kept = [line for key, line in new.items() if key not in seen]
        lines[:] = sorted(kept, key=lambda line: (-round(line.base), line.left))
        seen.update(new)
    return found


def _find(
    pages: Sequence[list[Line]],
    labels: Sequence[str],
    body: float,
    found: Sequence[tuple[list[Line], list[Line]]],
) -> dict[int, str]:
    """Add headers and footers to ``found``; their texts without page numbers, by identity."""
    # Lines that are turned alike, from the top.
    groups = [
        (number, sorted(group, key=lambda line: -line.base))
        for number, lines in enumerate(pages)
        for turn in (0, 90, 180, 270)
        if (group := [line for line in lines if line.turn in (turn, turn + 1)])
    ]
    near = _APART_LINES * _line_distance((lines for _, lines in groups), body)
    least = 2 if len(pages) <= _FEW_PAGES else 3
    # The pages on which the same text, a page number, or something apart stands at a height.
    same, numbers, apart = _Heights(), _Heights(), _Heights()
    edges = [_edges(lines, len(pages)) for _, lines in groups]
    lone = [_stand_apart(lines, body) for _, lines in groups]
    for (number, _), edge, alone in zip(groups, edges, lone, strict=True):
        for line in edge:
            for key in {_key(line, body), line.text}:
                same.add(line, number, key)
            if counted := _count(line, number, labels[number]):
                numbers.add(line, number, counted)
        for line in alone:
            apart.add(line, number)
    texts: dict[int, str] = {}
    for (number, lines), edge, alone in zip(groups, edges, lone, strict=True):
        counting, repeated = set(), set()
        for line in edge:
            counted = _count(line, number, labels[number])
            if counted and numbers.near(line, number, counted) >= least:
                counting.add(id(line))
            elif same.near(line, number, _key(line, body)) >= least:
                repeated.add(id(line))
        repeated |= {id(line) for line in alone if apart.near(line, number) >= _APART_PAGES}
        for inwards, taken in zip((lines, lines[::-1]), found[number], strict=True):
            for line in _outer(inwards, repeated, counting, near):
                taken.append(line)
                texts[id(line)] = line.text
                if same.near(line, number, line.text) < least:
                    texts[id(line)] = _without_number(line, number, labels[number])
    return texts


def _outer(
    lines: Sequence[Line], repeated: set[int], counting: set[int], near: float
) -> list[Line]:
    """What of the lines from an edge of a page on is no text.

    A line that is repeated is a part of the text if it stands as near to that as its lines do to
    each other.
    """
    end = 0
    for index, line in enumerate(lines):
        if id(line) not in repeated | counting or line.margin > _MARGIN:
            break
        other = lines[index + 1] if index + 1 < len(lines) else None
        smaller = other is None or line.size < _SMALLER * other.size
        if other is None or smaller or abs(line.base - other.base) > near:
            end = index + 1
    row = [line for line in lines[end:] if abs(line.base - lines[end].base) < 0.5 * line.size]
    return [*lines[:end], *(line for line in row if id(line) in counting and _is_number(line))]


def _line_distance(pages: Iterable[Sequence[Line]], body: float) -> float:
    """The usual distance between lines."""
    distances = [
        line.base - other.base
        for line, other in chain.from_iterable(map(pairwise, pages))
        if line.base - other.base > 0.5 * body
    ]
    return min(median(distances), _MOST_DISTANCE * body) if distances else body


class _Heights:
    """The pages on which something stands at a height."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, int], list[int]] = defaultdict(list)

    def add(self, line: Line, page: int, key: str = "") -> None:
        self._pages[key, round(line.base / _TOLERANCE)].append(page)

    def near(self, line: Line, page: int, key: str = "") -> int:
        """How many pages nearby have it at about the same height."""
        height = round(line.base / _TOLERANCE)
        on: set[int] = set()
        for at in (height - 1, height, height + 1):
            others = self._pages.get((key, at), [])  # in their order
            on.update(
                others[bisect_left(others, page - _NEAR) : bisect_right(others, page + _NEAR)]
            )
        return len(on)


def _edges(upright: list[Line], pages: int) -> list[Line]:
    """The lines nearest to the top and the bottom of a page, from the top."""
    least = int(pages > _FEW_PAGES or len(upright) > _FEW_LINES)
    number = min(_EDGE_LINES, max(least, len(upright) // _LINES_EACH))
    if len(upright) <= 2 * number:
        return upright
    return upright[:number] + upright[len(upright) - number :]


def _stand_apart(upright: list[Line], body: float) -> list[Line]:
    """The first and the last line of a page, if they are far from the text and no title."""
    if len(upright) < _FEW_LINES:
        return []
    return [
        line
        for line, other in ((upright[0], upright[1]), (upright[-1], upright[-2]))
        if abs(line.base - other.base) > _APART * body and line.size <= _TITLE * body
    ]


def _key(line: Line, body: float) -> str:
    """What a line has in common with those on other pages: of a title, all of it."""
    return line.text if line.size > _TITLE * body else _OWN_NUMBER.sub("#", line.text)


def _is_number(line: Line) -> bool:
    return _PAGE_NUMBER.fullmatch(line.text) is not None


def _count(line: Line, number: int, label: str) -> str:
    """What a line that is a page number, or begins or ends with one, has in common with others.

    Empty if it has none.
    """
    first, *_, last = 2 * line.text.casefold().split()
    ends = {first.strip(_MARKS), last.strip(_MARKS)} & {str(number + 1), label.casefold()}
    if ends - {""}:
        return "own"
    if not (found := _PAGE_NUMBER.fullmatch(line.text)):
        return ""
    return str(int(found[1]) - number) if found[1].isdecimal() else "roman"


def _without_number(line: Line, number: int, label: str) -> str:
    """The text of a running header without a number that is surely that of its page."""
    if _is_number(line):
        return ""
    found = _OWN_NUMBER.search(line.text)
    if not found:
        return line.text
    before, printed, after = line.text[: found.start()], found[0], line.text[found.end() :]
    if (
        printed.strip() in [cell.text for cell in line.cells]
        or before.casefold().endswith("page ")
        or _OF_ALL.search(printed)
        or {*_DIGITS.findall(printed)} & {str(number + 1), label}
    ):
        return f"{before} {after}".strip(_MARKS)
    return line.text
