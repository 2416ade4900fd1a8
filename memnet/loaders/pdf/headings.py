"""Headings of a PDF by outline and fonts; running headers, footers and page numbers."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from statistics import median

import pypdfium2 as pdfium

from memnet.loaders.pdf.lines import Entry, Line
from memnet.loaders.pdf.paragraphs import Part

_MAX_ENTRIES = 50_000
_MAX_DEPTH = 15
_MAX_LINES = 3  # a heading has no more lines
_MAX_LENGTH = 200  # characters of a heading that is known by its font alone
_MORE = 20  # characters by which a heading is longer than its entry in the outline, at most
_LARGER = 1.1  # times the body's size: a larger font is a heading's
_LEVELS = 6
_NOT_WORD = re.compile(r"[\W_]+")
_PAGE = re.compile(r"\s+\d+$")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(
    r"^(?:(?:chapter|section|appendix|part|kapitel|chapitre)\s+)?"
    r"(?:[0-9]+(?:[.:-][0-9]+)*|[a-z](?:[.:-][0-9]+)*|[ivxlc]+)[.):]*\s+",
    re.IGNORECASE,
)
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


def read_outline(document: pdfium.PdfDocument) -> dict[int, list[Entry]]:
    """Entries of a document's outline by the page they lead to."""
    entries: dict[int, list[Entry]] = {}
    # A damaged outline is left out.
    with suppress(pdfium.PdfiumError, UnicodeDecodeError):
        for bookmark in islice(document.get_toc(max_depth=_MAX_DEPTH), _MAX_ENTRIES):
            destination = bookmark.get_dest()
            page = destination.get_index() if destination else None
            title = bookmark.get_title().strip()
            if page is not None and title:
                entries.setdefault(page, []).append(Entry(title, bookmark.level + 1))
    return entries


def match_outline(lines: Sequence[Line], entries: Sequence[Entry]) -> None:
    """Find the lines of a page that are the headings of the entries that lead to it."""
    longest = max(len(entry.title) for entry in entries) + _MORE
    short = [line.text if len(line.text) <= longest else "" for line in lines]
    keys = [_normal(text) for text in short]
    plain_keys = [_normal(_NUMBER.sub("", text)) for text in short]
    for entry in entries:
        wanted = tuple({_normal(entry.title), _normal(_NUMBER.sub("", entry.title))} - {""})
        best: tuple[float, int, int] | None = None
        for start, line in enumerate(lines):
            if not keys[start] or line.entry:
                continue
            joined, plain = keys[start], plain_keys[start]
            for end in range(start + 1, min(start + _MAX_LINES, len(lines)) + 1):
                if joined in wanted or plain in wanted:
                    rank = line.size + 0.5 * line.bold
                    if best is None or rank > best[0]:
                        best = rank, start, end
                    break
                if end == len(lines) or not any(key.startswith((joined, plain)) for key in wanted):
                    break
                joined, plain = joined + keys[end], plain + keys[end]
        if best:
            for line in lines[best[1] : best[2]]:
                line.entry = entry


def _normal(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def body_size(pages: Sequence[list[Line]]) -> float:
    """The font size of most of the text."""
    sizes: Counter[float] = Counter()
    for line in chain.from_iterable(pages):
        sizes[_size(line)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def mark_headings(pages: Sequence[list[Part]], entries: Iterable[Entry], body: float) -> None:
    """Give headings their levels, and find those that the outline does not name.

    ``entries`` are all of the outline, ``body`` is the font size of most of the text.
    """
    known: dict[tuple[float, bool], Counter[int]] = {}
    guessed: list[Part] = []
    for part in chain.from_iterable(pages):
        if entry := part.lines[0].entry:
            part.kind, part.level = "heading", min(entry.level, _LEVELS)
            known.setdefault(_style(part), Counter())[part.level] += 1
        elif _looks_like_heading(part, body):
            guessed.append(part)
    titles = [part.lines[0].text for part in guessed] + [entry.title for entry in entries]
    named = set(map(_normal, titles))
    guessed = [part for part in guessed if not _is_entry(part, named)]
    levels = {style: counts.most_common(1)[0][0] for style, counts in known.items()}
    styles = Counter(_style(part) for part in guessed)
    for style in sorted({*styles} - {*levels}, reverse=True):
        larger = [level for other, level in levels.items() if other > style]
        levels[style] = min(max(larger, default=0) + 1, _LEVELS)
    for part in guessed:
        part.kind, part.level = "heading", levels[_style(part)]


def _looks_like_heading(part: Part, body: float) -> bool:
    if part.kind not in ("paragraph", "item") or len(part.lines) > _MAX_LINES:
        return False
    text = part.lines[-1].text
    if sum(len(line.text) for line in part.lines) > _MAX_LENGTH or part.lines[0].turn > 1:
        return False
    if not any(_LETTERS.search(line.text) for line in part.lines) or text.endswith((".", ",", ";")):
        return False
    if part.lines[0].text[:1].islower() or "\u2026" in text or ". . ." in text or "...." in text:
        return False
    if part.kind == "item" and not part.label[:1].isdigit():
        return False
    size, bold = _style(part)
    return size >= _LARGER * body or (bold and size >= 0.95 * body and not text.endswith(":"))


def _is_entry(part: Part, named: set[str]) -> bool:
    """Whether a part is an entry of a table of contents: a heading with its page."""
    found = _PAGE.search(part.lines[-1].text)
    return found is not None and _normal(part.lines[0].text[: found.start()]) in named


def _style(part: Part) -> tuple[float, bool]:
    return _size(part.lines[0]), all(line.bold for line in part.lines)


def _size(line: Line) -> float:
    return round(line.size * 2) / 2


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
    """What of the lines from an edge of a page on is not text.

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
