"""Running headers and footers, and page numbers, which stand on many pages."""

import re
from collections import defaultdict
from collections.abc import Sequence

from memnet.loaders.pdf.lines import Line

_EDGE_LINES = 4  # from the top and the bottom that can be running headers, and as many footers
_LINES_EACH = 6  # lines that a page must have for each of them
# In a document of so few pages two are enough to repeat something, unless they have few lines.
_FEW_PAGES = 3
_FEW_LINES = 3
_TOLERANCE = 4.0  # points by which the height of a running header differs from page to page
_NEAR = 12  # pages: among so many in a row a running header occurs at least three times
_APART = 2.2  # em between the text and a running header whose words differ from page to page
_APART_PAGES = 6  # pages nearby on which something stands apart at the same height
# Where a running header has the number of its page.
_OWN_NUMBER = re.compile(
    r"^\W*\d{1,5}(?=\W*\s)(?![.,]\d)|(?<![\d.,])(?:\d{1,5} ?(?:/|of|von|de|sur) ?)?\d{1,5}\W*$"
    r"|(?<=page )\d+",
    re.IGNORECASE,
)
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|seite|p\.)\s*)?[-–—(\[|•\s]*(\d{1,5}|[ivxlc]{1,8})[-–—)\]|•\s]*"
    r"(?:(?:/|of|von|de|sur)\s*\d{1,5})?",
    re.IGNORECASE,
)


def drop_running_headers(pages: Sequence[list[Line]], labels: Sequence[str], body: float) -> None:
    """Take running headers, footers and page numbers out of the lines of pages, in place.

    ``labels`` are those of the pages as printed, empty where unknown; ``body`` is the font size of
    most of the text.
    """
    upright = [[line for line in lines if line.turn <= 1] for lines in pages]
    for lines in upright:
        lines.sort(key=lambda line: -line.base)
    edges = [_edges(lines, len(pages)) for lines in upright]
    lone = [_stand_apart(lines, body) for lines in upright]
    least = 2 if len(pages) <= _FEW_PAGES else 3
    # The pages on which the same text, a page number, or something apart stands at a height.
    texts, numbers, apart = _Heights(), _Heights(), _Heights()
    for number, label in enumerate(labels):
        for line in edges[number]:
            texts.add(line, number, _key(line))
            if _has_number(line, number, label):
                numbers.add(line, number)
        for line in lone[number]:
            apart.add(line, number)
    for number, (lines, edge) in enumerate(zip(pages, edges, strict=True)):
        dropped = {
            id(line)
            for line in edge
            if texts.near(line, number, _key(line)) >= least
            or (_has_number(line, number, labels[number]) and numbers.near(line, number) >= least)
        }
        dropped |= {id(line) for line in lone[number] if apart.near(line, number) >= _APART_PAGES}
        # Only from the edge inwards: what stands inside of text is text.
        inner = [line.base for line in edge if id(line) not in dropped]
        if inner:
            dropped -= {id(line) for line in edge if min(inner) < line.base < max(inner)}
        if len(dropped) < len(lines):
            lines[:] = [line for line in lines if id(line) not in dropped]


class _Heights:
    """The pages on which something stands at a height."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, int], list[int]] = defaultdict(list)

    def add(self, line: Line, page: int, key: str = "") -> None:
        self._pages[key, round(line.base / _TOLERANCE)].append(page)

    def near(self, line: Line, page: int, key: str = "") -> int:
        """How many pages nearby have it at about the same height."""
        height = round(line.base / _TOLERANCE)
        on = {other for at in (-1, 0, 1) for other in self._pages.get((key, height + at), ())}
        return sum(abs(other - page) <= _NEAR for other in on)


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
        if abs(line.base - other.base) > _APART * body and line.size <= 1.05 * body
    ]


def _key(line: Line) -> str:
    return _OWN_NUMBER.sub("#", line.text).casefold()


def _has_number(line: Line, number: int, label: str) -> bool:
    """Whether a line is the number of its page, or begins or ends with it."""
    first, *_, last = 2 * line.text.casefold().split()
    ends = {first.strip("-–—|[]()"), last.strip("-–—|[]()")} & {str(number + 1), label.casefold()}
    return bool(ends - {""} or _PAGE_NUMBER.fullmatch(line.text))
