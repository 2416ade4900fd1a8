"""What stands on many pages and is no text: running headers and footers, page numbers."""

import re
from collections import defaultdict
from collections.abc import Sequence

from memnet.loaders.pdf.lines import Line

# So many lines from the top and from the bottom can be furniture, of a page with lines enough.
_EDGE_LINES = 4
_LINES_EACH = 6  # lines that a page must have for each of them
_FEW_PAGES = 3
# In so short a document what stands on two pages is furniture, but on pages of so few lines.
_FEW_LINES = 3
_TOLERANCE = 4.0  # points by which the height of a running header differs from page to page
_NEAR = 12  # pages: among so many in a row a running header occurs three times at least
# Em between a running header and the text, at least, if its words differ from page to page.
_APART = 2.2
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


def drop_furniture(pages: Sequence[list[Line]], labels: Sequence[str], body: float) -> None:
    """Take running headers, footers and page numbers out of pages, in place.

    Args:
        pages: the lines of each page.
        labels: of each page as it is printed; empty where unknown.
        body: font size of most of the text.
    """
    edges = [_edges(lines, len(pages)) for lines in pages]
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    heights: dict[int, list[int]] = defaultdict(list)
    for number, edge in enumerate(edges):
        for line in edge:
            places[_key(line)].append(number)
            if _has_number(line, number, labels[number]):
                heights[_height(line)].append(number)
    apart: dict[int, list[int]] = defaultdict(list)
    lone = [_stand_apart(lines, body) for lines in pages]
    for number, found in enumerate(lone):
        for line in found:
            apart[_height(line)].append(number)
    for number, (lines, edge) in enumerate(zip(pages, edges, strict=True)):
        dropped = {
            id(line)
            for line in edge
            if _repeats(places, _key(line), number, len(pages))
            or (
                _has_number(line, number, labels[number])
                and _stands(heights, line, number, len(pages))
            )
        }
        dropped |= {
            id(line) for line in lone[number] if _near(apart, _height(line), number) >= _APART_PAGES
        }
        # Only from the edge inwards: what stands inside of text is text.
        inner = [line for line in edge if id(line) not in dropped]
        if inner and dropped:
            top, bottom = max(line.base for line in inner), min(line.base for line in inner)
            dropped -= {id(line) for line in edge if bottom < line.base < top}
        if len(dropped) < len(lines):
            lines[:] = [line for line in lines if id(line) not in dropped]


def _edges(lines: list[Line], pages: int) -> list[Line]:
    """The lines nearest to the top and the bottom of a page, from the top."""
    upright = [line for line in lines if line.turn <= 1]
    upright.sort(key=lambda line: -line.base)
    least = int(pages > _FEW_PAGES or len(upright) > _FEW_LINES)
    number = min(_EDGE_LINES, max(least, len(upright) // _LINES_EACH))
    if len(upright) <= 2 * number:
        return upright
    return upright[:number] + upright[len(upright) - number :]


def _stand_apart(lines: list[Line], body: float) -> list[Line]:
    """The first and the last line of a page, if they are far from the text and no title."""
    upright = sorted((line for line in lines if line.turn <= 1), key=lambda line: -line.base)
    if len(upright) < _FEW_LINES:
        return []
    return [
        line
        for line, other in ((upright[0], upright[1]), (upright[-1], upright[-2]))
        if abs(line.base - other.base) > _APART * body and line.size <= 1.05 * body
    ]


def _near(heights: dict[int, list[int]], height: int, number: int) -> int:
    """How many pages nearby have something at a height."""
    on = {page for near in (-1, 0, 1) for page in heights.get(height + near, ())}
    return sum(abs(page - number) <= _NEAR for page in on)


def _key(line: Line) -> tuple[str, int]:
    return _OWN_NUMBER.sub("#", line.text).casefold(), _height(line)


def _height(line: Line) -> int:
    return round(line.base / _TOLERANCE)


def _repeats(
    places: dict[tuple[str, int], list[int]], key: tuple[str, int], number: int, pages: int
) -> bool:
    """Whether the same text stands at the same height on pages nearby."""
    text, height = key
    on = {page for near in (-1, 0, 1) for page in places.get((text, height + near), ())}
    least = 2 if pages <= _FEW_PAGES else 3
    return sum(abs(page - number) <= _NEAR for page in on) >= least


def _has_number(line: Line, number: int, label: str) -> bool:
    """Whether a line is the number of its page, or begins or ends with it."""
    words = line.text.casefold().split()
    names = {str(number + 1), label.casefold()} - {""}
    if words[0].strip("-–—|[]()") in names or words[-1].strip("-–—|[]()") in names:
        return True
    return bool(_PAGE_NUMBER.fullmatch(line.text))


def _stands(heights: dict[int, list[int]], line: Line, number: int, pages: int) -> bool:
    """Whether pages nearby have their numbers at the height of a line, too."""
    least = 2 if pages <= _FEW_PAGES else 3
    return _near(heights, _height(line), number) >= least
