"""The lines of a PDF page, each with its place on the page and its font.

PDFium's text comes without places, and a call for the place of each character costs twice as much
as the text itself. Calls are therefore made for three characters of a line, and for those beside
its spaces where the line is wider than its text.
"""

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from memnet.loaders.pdf.characters import clean

# What PDFium writes for a hyphen at the end of a line, in the place of the line break.
SOFT_HYPHEN = "\ufffe"

_PIECE = re.compile(r"[^\r\n\ufffe]*[^\s\ufffe][^\r\n\ufffe]*")
_SPACES = re.compile(r"(?<=\S)\s+(?=\S)")
_WORD = re.compile(r"[^\W\d_A-Z]{4}")
_BOLD = re.compile(r"bold|black|heavy|demi|semib|cmbx|cmb1|sfbx|bx\d|-bd|medi$", re.IGNORECASE)
_MONO = re.compile(
    r"mono|cour|consol|menlo|cmtt|cmsltt|cmitt|sftt|ectt|txtt|typewriter|inconsolata|lucidacon"
    r"|anonymous|terminal|nimbusmon|fixed|beramono|code$",
    re.IGNORECASE,
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18  # flags of a font descriptor (ISO 32000-1, table 123)

_GAP = 1.0  # em: wider space separates the cells of a row
_SPACE = 0.12  # em: narrower space separates no words
_WIDE = 0.53  # em: in a line whose characters are wider on average there are wide spaces
_WIDER = 1.08  # times the average of the page: the same
_SHORT = 30  # characters: of so short a line the width says little


def _index(page: pdfium.PdfTextPage, position: int) -> int:
    """The index of a character on its page by that in its text."""
    index: int = raw.FPDFText_GetCharIndexFromTextIndex(page, position)
    return max(0, index)


_IDENTITY: Callable[[int], int] = int


class Cell(NamedTuple):
    """A part of a line between wide spaces."""

    text: str
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """A line of text as it is printed.

    Coordinates are points in a frame in which the text reads from left to right and y grows
    upwards: those of the page, unless the text is turned or written from the right.
    """

    text: str
    left: float
    right: float
    base: float  # height of the baseline
    size: float  # of its font, in points
    bold: bool
    mono: bool
    turn: int  # degrees by which it is turned: 0, 90, 180, 270; +1 for writing from right to left
    hyphen: bool  # whether it ends with a hyphen that may have been put there to break a word
    cells: tuple[Cell, ...] = ()  # two or more, or none
    edge: float = 0.0  # right edge of its column

    @property
    def advance(self) -> float:
        """Width of a character."""
        return (self.right - self.left) / max(1, len(self.text))


class _Font(NamedTuple):
    bold: bool
    mono: bool


class LineReader:
    """Reads the lines of pages."""

    def __init__(self) -> None:
        self._fonts: dict[tuple[bytes, int], _Font] = {}
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = raw.FS_RECTF()
        self._matrix = raw.FS_MATRIX()

    def read(self, text_page: pdfium.PdfTextPage) -> list[Line]:
        """The lines of a page, in the order of the file."""
        count = text_page.count_chars()
        if count <= 0:
            return []
        text = text_page.get_text_range()
        # Some characters of the page are not in its text, some of the text not on the page.
        index = _IDENTITY if len(text) == count else partial(_index, text_page)
        pieces = [
            (line, found)
            for found in _PIECE.finditer(text)
            if (line := self._line(text_page, text, found, index))
        ]
        self._find_all_cells(text_page, pieces, index)
        lines: list[Line] = []
        for line, _ in pieces:
            if line.turn % 90:
                line.left, line.right, line.cells = -line.right, -line.left, ()
            joined = _same_line(lines[-1], line) if lines else None
            if joined is None:
                lines.append(line)
            else:
                lines[-1] = joined
        return lines

    def _find_all_cells(
        self,
        page: pdfium.PdfTextPage,
        pieces: list[tuple[Line, re.Match[str]]],
        index: Callable[[int], int],
    ) -> None:
        """Find the cells of lines that are short or wide, and of those beside a line with cells."""
        ratios = [line.advance / line.size for line, _ in pieces if len(line.text) >= _SHORT]
        wide = min(_WIDE, _WIDER * median(ratios)) if ratios else _WIDE
        seen = [len(line.text) < _SHORT or line.advance > wide * line.size for line, _ in pieces]
        for number, (line, found) in enumerate(pieces):
            if seen[number]:
                self._find_cells(page, line, found, index)
        numbers = range(len(pieces))
        for order in (numbers, reversed(numbers)):
            before: Line | None = None
            for number in order:
                line, found = pieces[number]
                if before and before.cells and not seen[number]:
                    seen[number] = True
                    self._find_cells(page, line, found, index)
                before = line

    def _line(
        self,
        page: pdfium.PdfTextPage,
        text: str,
        found: re.Match[str],
        index: Callable[[int], int],
    ) -> Line | None:
        piece = found[0].strip()
        hyphen = text.startswith(SOFT_HYPHEN, found.end())
        cleaned = clean(piece)
        if not cleaned:
            return None
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        end = start + len(piece) - 1
        middle = (start + end) // 2
        if word := _WORD.search(text, middle, end):  # no exponent, no small capitals
            middle = word.start()
        elif text[middle].isspace():
            middle += 1
        first, last, centre = index(start), index(end), index(middle)
        raw.FPDFText_GetMatrix(page, centre, self._matrix)
        matrix = self._matrix
        size = raw.FPDFText_GetFontSize(page, centre) * math.hypot(matrix.c, matrix.d)
        turn = 0
        if (matrix.b or matrix.a < 0) and math.isfinite(matrix.a + matrix.b):
            turn = round(math.degrees(math.atan2(matrix.b, matrix.a)) / 90) * 90 % 360
        if not 0.1 < abs(size) < 10_000:
            size = 10.0
        font, other = self._font(page, centre), self._font(page, first)
        ending = font if first == last else self._font(page, last)
        raw.FPDFText_GetCharOrigin(page, centre, self._x, self._y)
        base = _rotate(self._x.value, self._y.value, turn)[1]
        left, right = self._span(page, first, turn)
        if last != first:
            other_left, other_right = self._span(page, last, turn)
            left, right = min(left, other_left), max(right, other_right)
        if not math.isfinite(left + right + base):  # of a damaged file: nowhere
            left = right = base = 0.0
        line = Line(
            cleaned,
            left,
            right,
            base,
            abs(size),
            font.bold and other.bold and ending.bold,
            font.mono and other.mono and ending.mono,
            turn,
            hyphen,
        )
        if not cleaned.isascii() and _RIGHT_TO_LEFT.search(cleaned):
            line.turn += 1
        return line

    def _find_cells(
        self,
        page: pdfium.PdfTextPage,
        line: Line,
        found: re.Match[str],
        index: Callable[[int], int],
    ) -> None:
        """Look at the width of each space; in code, write as many spaces as fill it."""
        text = found[0].strip()
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        turn = line.turn // 90 * 90
        gaps: list[tuple[float, float, float, re.Match[str]]] = []
        for space in _SPACES.finditer(text):
            before = self._span(page, index(start + space.start() - 1), turn)[1]
            after = self._span(page, index(start + space.end()), turn)[0]
            gaps.append((after - before, before, after, space))
        if not gaps:
            return
        if line.mono:
            character = self._span(page, index(start), turn)
            line.text = _spaced(text, gaps, character[1] - character[0])
            return
        narrow = min(gap[0] for gap in gaps)  # of a stretched line all spaces are wide
        least = max(_GAP * line.size, min(1.8 * narrow, 1.6 * _GAP * line.size))
        cells: list[Cell] = []
        position, left = 0, line.left
        for width, before, after, space in gaps:
            if width >= least:
                cells.append(Cell(clean(text[position : space.start()]), left, before))
                position, left = space.end(), after
        cells.append(Cell(clean(text[position:]), left, line.right))
        cells = [cell for cell in cells if cell.text]
        if len(cells) > 1:
            line.cells = tuple(cells)

    def _font(self, page: pdfium.PdfTextPage, index: int) -> _Font:
        raw.FPDFText_GetFontInfo(page, index, self._name, 128, self._flags)
        key = self._name.value, self._flags.value
        font = self._fonts.get(key)
        if font is None:
            name = key[0].decode("utf-8", "replace")
            font = _Font(
                bool(key[1] & _FORCE_BOLD or _BOLD.search(name)),
                bool(key[1] & _FIXED_PITCH or _MONO.search(name)),
            )
            self._fonts[key] = font
        return font

    def _span(self, page: pdfium.PdfTextPage, index: int, turn: int) -> tuple[float, float]:
        box = self._box
        raw.FPDFText_GetLooseCharBox(page, index, box)
        if not turn:
            return box.left, box.right
        one = _rotate(box.left, box.bottom, turn)[0]
        other = _rotate(box.right, box.top, turn)[0]
        return min(one, other), max(one, other)


def _rotate(x: float, y: float, turn: int) -> tuple[float, float]:
    if turn == 0:
        return x, y
    return {90: (y, -x), 180: (-x, -y), 270: (-y, x)}[turn]


def _spaced(text: str, gaps: list[tuple[float, float, float, re.Match[str]]], width: float) -> str:
    """A line of code with as many spaces as are seen."""
    parts, position = [], 0
    for gap, _, _, space in gaps:
        number = round(gap / width) if 0 < width < gap < 80 * width else 1
        parts += [text[position : space.start()], " " * number]
        position = space.end()
    return clean("".join([*parts, text[position:]]), strip=False)


def _same_line(line: Line, other: Line) -> Line | None:
    """One line of two, if the second goes on where the first ends, such as after an exponent."""
    if line.turn != other.turn or line.hyphen:
        return None
    size = max(line.size, other.size)
    small = min(line.size, other.size) < 0.85 * size
    gap = other.left - line.right
    if abs(line.base - other.base) > (0.6 if small else 0.25) * size or gap < -0.3 * size:
        return None
    wide = gap > _GAP * size
    if wide and small and line.base != other.base:
        return None
    main = other if len(other.text) > len(line.text) else line
    own = line.cells or (Cell(line.text, line.left, line.right),)
    more = other.cells or (Cell(other.text, other.left, other.right),)
    space = " " if gap > _SPACE * size else ""
    cells: tuple[Cell, ...] = ()
    if wide:
        cells = own + more
    elif line.cells or other.cells:
        both = Cell(own[-1].text + space + more[0].text, own[-1].left, more[0].right)
        cells = (*own[:-1], both, *more[1:])
    return Line(
        line.text + space + other.text,
        min(line.left, other.left),
        max(line.right, other.right),
        main.base,
        main.size,
        line.bold and other.bold,
        line.mono and other.mono,
        line.turn,
        other.hyphen,
        cells,
    )
