"""The lines of a PDF page, each with its place on the page and its font.

PDFium's text comes without places, and a call for the place of each character costs twice as much
as the text itself. Calls are therefore made for three characters of a line, and for those beside
its spaces where the line is wider than its text.
"""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from statistics import median
from typing import Any, NamedTuple, TypeAlias
from unicodedata import normalize

import pypdfium2 as pdfium
import pypdfium2.raw as raw

# The text of a line without space around it. For a hyphen at the end of a line PDFium writes U+FFFE
# in the place of the line break.
_PIECE = re.compile(r"([^\s\ufffe](?:[^\r\n\ufffe]*[^\s\ufffe])?)[^\S\r\n]*(\ufffe?)")
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

# Codes of TeX's text fonts, which PDFium gives where a file does not say what they mean.
_TEX_LIGATURES = {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}
_TEX_LIGATURE = re.compile("(?<=[a-z])[\x1b-\x1f]|[\x1b-\x1f](?=[a-z])", re.IGNORECASE)
_TEX_BULLET = re.compile("^\x88(?= )")
# Control characters, hyphenation points, marks without width, glyphs without a meaning.
_DROPPED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060\ufeff\ufff0-\uffff\ue000-\uf8ff]"
    "|[\ud800-\udfff\U000f0000-\U0010ffff]"
)
# Bullets of the fonts Symbol and Wingdings, as word processors write them.
_SYMBOL_BULLET = re.compile("^[\uf0a7\uf0b7\uf0d8\uf0fc\uf076\uf02d](?=\\s|$)")
_LIGATURES = {code: normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_LIGATURES |= {ord("\u00a0"): " ", ord("\t"): " "}
_ACCENTS = str.maketrans(
    "\u00b4\u00a8\u02c6\u02dc\u02c7\u02d8\u02da\u02d9\u02dd\u00af\u00b8\u02db",
    "\u0301\u0308\u0302\u0303\u030c\u0306\u030a\u0307\u030b\u0304\u0327\u0328",
)
# A letter with its accent before it, as TeX's old fonts print it: "Poincar´e"; not "it´s".
_ACCENTED = re.compile(
    "(?<=[^\\W\\d_])(?!\u00b4[lmst]\\b)([\u00b4\u00a8\u02c6\u02dc\u02c7\u02d8\u02da\u02d9\u02dd\u00af\u00b8\u02db])([A-Za-z\u0131])"
    "|(?<![^\\W_])([\u00b4\u00a8\u02c7\u02da\u02d9\u02dd\u00b8])([A-Z])(?=[^\\W\\d_])"
)
# Texts that need no cleaning: most.
_PLAIN = re.compile(
    "[ -~\u00a1-\u00a7\u00a9-\u00ac\u00ae\u00b0-\u00b3\u00b5-\u00b7\u00b9-\u02c5\u0391-\u03ff"
    "\u2010-\u2027\u2030-\u205f]*"
)

_Gap: TypeAlias = tuple[float, float, float, re.Match[str]]  # width, left, right, the space


class Entry(NamedTuple):
    """An entry of the outline of a document."""

    title: str
    level: int  # from 1


class Cell(NamedTuple):
    """A part of a line between wide spaces."""

    text: str
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """A line of text as it is printed.

    Coordinates are points from the lower left corner of the page, turned so that the text is
    upright; x grows in the direction in which it is written.
    """

    text: str
    left: float
    right: float
    base: float  # height of the baseline
    size: float  # of its font, in points
    bold: bool
    mono: bool
    # Degrees by which it is turned against most of its page's text: 0, 90, 180, 270; +1 for writing
    # from right to left.
    turn: int
    hyphen: bool  # whether it ends with a hyphen that may have been put there to break a word
    cells: tuple[Cell, ...] = ()  # two or more, or none
    edge: float = 0.0  # right edge of its column
    leading: float = 0.0  # usual distance between lines of its font size
    entry: Entry | None = None  # of which it is the heading, or a part of that
    margin: float = 0.0  # share of the page between it and the top or the bottom, what is nearer

    @property
    def advance(self) -> float:
        """Width of a character."""
        return (self.right - self.left) / max(1, len(self.text))


class LineReader:
    """Reads the lines of pages, one page after the other."""

    def __init__(self) -> None:
        # By name and flags of a font whether it is bold, and of fixed width.
        self._fonts: dict[tuple[bytes, int], tuple[bool, bool]] = {}
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = raw.FS_RECTF()
        self._matrix = raw.FS_MATRIX()
        self._page: Any = None
        self._bounds = (0.0, 0.0, 0.0, 0.0)  # left, bottom, right, top of the page
        self._index: Callable[[int], int] = int  # of a character of the page by that of its text

    def read(self, page: pdfium.PdfPage) -> list[Line]:
        """The lines of a page, in the order of the file; turned ones come after the others.

        PDFium finds the order of lines by where they stand on the page as it is shown. A page is
        therefore turned for each direction of its text, so that this is upright.
        """
        self._bounds = page.get_bbox()
        lines = self._read(page)
        lengths: Counter[int] = Counter()
        for line in lines:
            lengths[_direction(line)] += len(line.text)
        turns = [turn for turn, _ in lengths.most_common()]
        if turns not in ([], [page.get_rotation()]):
            found = []
            for turn in turns:
                page.set_rotation(turn)
                found += [line for line in self._read(page) if _direction(line) == turn]
            # Not if a part of a line that has two directions would be lost.
            if _count_letters(found) == _count_letters(lines):
                lines = found
        for line in lines:
            line.turn = (line.turn - turns[0]) % 360
        return lines

    def _read(self, page: pdfium.PdfPage) -> list[Line]:
        with closing(page.get_textpage()) as text_page:
            count = text_page.count_chars()
            if count <= 0:
                return []
            text = text_page.get_text_range()
            self._page, self._index = text_page, int
            # Some characters of the page are not in its text, or the opposite.
            if len(text) != count:
                self._index = lambda position: max(
                    0, raw.FPDFText_GetCharIndexFromTextIndex(text_page, position)
                )
            found = ((self._line(text, piece), piece) for piece in _PIECE.finditer(text))
            pieces = [(line, piece) for line, piece in found if line]
            self._find_all_cells(pieces)
        lines: list[Line] = []
        for line, _ in pieces:
            if line.turn % 90:
                line.left, line.right, line.cells = -line.right, -line.left, ()
            if lines and (joined := same_line(lines[-1], line)):
                lines[-1] = joined
            else:
                lines.append(line)
        return lines

    def _find_all_cells(self, pieces: list[tuple[Line, re.Match[str]]]) -> None:
        """Find the cells of lines that are short or wide, and of those beside a line with cells."""
        ratios = [line.advance / line.size for line, _ in pieces if len(line.text) >= _SHORT]
        wide = min(_WIDE, _WIDER * median(ratios)) if ratios else _WIDE
        seen = [len(line.text) < _SHORT or line.advance > wide * line.size for line, _ in pieces]
        for piece in compress(pieces, seen):
            self._find_cells(*piece)
        numbers = range(len(pieces))
        for order in (numbers, reversed(numbers)):
            for before, number in pairwise(order):
                if pieces[before][0].cells and not seen[number]:
                    seen[number] = True
                    self._find_cells(*pieces[number])

    def _line(self, text: str, found: re.Match[str]) -> Line | None:
        cleaned = clean(found[1])
        if not cleaned:
            return None
        start, end = found.start(1), found.end(1) - 1
        middle = (start + end) // 2
        if word := _WORD.search(text, middle, end):  # no exponent, no small capitals
            middle = word.start()
        elif text[middle].isspace():
            middle += 1
        first, last, centre = (self._index(at) for at in (start, end, middle))
        raw.FPDFText_GetMatrix(self._page, centre, self._matrix)
        matrix = self._matrix
        size = raw.FPDFText_GetFontSize(self._page, centre) * math.hypot(matrix.c, matrix.d)
        if not 0.1 < abs(size) < 10_000:
            size = 10.0
        turn = 0
        if (matrix.b or matrix.a < 0) and math.isfinite(matrix.a + matrix.b):
            turn = round(math.degrees(math.atan2(matrix.b, matrix.a)) / 90) * 90 % 360
        fonts = [self._font(at) for at in {first, centre, last}]
        raw.FPDFText_GetCharOrigin(self._page, centre, self._x, self._y)
        base, height = self._rotate(self._x.value, self._y.value, turn)[1:]
        lefts, rights = zip(*(self._span(at, turn) for at in {first, last}), strict=True)
        left, right = min(lefts), max(rights)
        if not math.isfinite(left + right + base):  # of a damaged file: nowhere
            left = right = base = 0.0
        bold, mono = map(all, zip(*fonts, strict=True))
        line = Line(cleaned, left, right, base, abs(size), bold, mono, turn, bool(found[2]))
        line.margin = min(base, height - base) / height if height > 0 else 0.0
        if not cleaned.isascii() and _RIGHT_TO_LEFT.search(cleaned):
            line.turn += 1
        return line

    def _find_cells(self, line: Line, found: re.Match[str]) -> None:
        """Look at the width of each space; in code, write as many spaces as fill it."""
        text, start = found[1], found.start(1)
        turn = line.turn // 90 * 90
        gaps: list[_Gap] = []
        for space in _SPACES.finditer(text):
            before = self._span(self._index(start + space.start() - 1), turn)[1]
            after = self._span(self._index(start + space.end()), turn)[0]
            gaps.append((after - before, before, after, space))
        if not gaps:
            return
        if line.mono:
            left, right = self._span(self._index(start), turn)
            line.text = _spaced(text, gaps, right - left)
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

    def _font(self, index: int) -> tuple[bool, bool]:
        raw.FPDFText_GetFontInfo(self._page, index, self._name, 128, self._flags)
        key = self._name.value, self._flags.value
        if key not in self._fonts:
            name = key[0].decode("utf-8", "replace")
            bold = key[1] & _FORCE_BOLD or _BOLD.search(name)
            mono = key[1] & _FIXED_PITCH or _MONO.search(name)
            self._fonts[key] = bool(bold), bool(mono)
        return self._fonts[key]

    def _span(self, index: int, turn: int) -> tuple[float, float]:
        box = self._box
        raw.FPDFText_GetLooseCharBox(self._page, index, box)
        corners = (box.left, box.bottom), (box.right, box.top)
        left, right = sorted(self._rotate(*corner, turn)[0] for corner in corners)
        return left, right

    def _rotate(self, x: float, y: float, turn: int) -> tuple[float, float, float]:
        """A place on the page when that is turned, and the height of the page then."""
        left, bottom, right, top = self._bounds
        if turn == 0:
            return x - left, y - bottom, top - bottom
        if turn == 90:
            return y - bottom, right - x, right - left
        if turn == 180:
            return right - x, top - y, top - bottom
        return top - y, x - left, right - left


_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_TICKED = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


class _Field(NamedTuple):
    """A field of a form: its box in points, and what it holds."""

    left: float
    bottom: float
    right: float
    top: float
    value: str
    checked: bool | None  # None of a field that is not to be ticked


def fill_in(lines: list[Line], page: pdfium.PdfPage, forms: pdfium.PdfFormEnv) -> bool:
    """Write what the fields of a form hold behind their labels, and ticks beside theirs.

    PDFium gives no text of fields; where their page is flattened, it all comes at the end. What it
    returns is whether the page has annotations with text that are no fields, such as stamps.
    """
    fields: list[_Field] = []
    others = False
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        kind, box = raw.FPDFAnnot_GetSubtype(annotation), raw.FS_RECTF()
        seen = not raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN
        others |= seen and kind in (raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP)
        if seen and kind == raw.FPDF_ANNOT_WIDGET and raw.FPDFAnnot_GetRect(annotation, box):
            ticked = raw.FPDFAnnot_GetFormFieldType(forms, annotation) in _TICKED
            checked = bool(raw.FPDFAnnot_IsChecked(forms, annotation)) if ticked else None
            value = "" if ticked else _value_of(annotation, forms)
            fields.append(_Field(box.left, box.bottom, box.right, box.top, value, checked))
        raw.FPDFPage_CloseAnnot(annotation)
    for field in sorted(fields, key=lambda one: (-one.bottom, one.left)):
        _fill_in(lines, field)
    return others


def _fill_in(lines: list[Line], field: _Field) -> None:
    """Write what a field holds at the part of a line that is its label."""
    beside = [
        (line, number, cell)
        for line in lines
        if not line.turn and field.bottom - 2 <= line.base <= field.top
        for number, cell in enumerate(line.cells or (Cell(line.text, line.left, line.right),))
    ]
    before = [one for one in beside if one[2].right <= field.left + 2]
    after = [one for one in beside if one[2].left >= field.right - 2]
    left = max(before, key=lambda one: one[2].right, default=None)
    right = min(after, key=lambda one: one[2].left, default=None)
    if field.checked is not None:
        mark = f"[{'x' if field.checked else ' '}]"
        far = right is None or (
            left is not None and right[2].left - field.right > field.left - left[2].right
        )
        if not far and right is not None:
            _set_cell(right, Cell(f"{mark} {right[2].text}", field.left, right[2].right))
        elif left is not None:
            _set_cell(left, Cell(f"{left[2].text} {mark}", left[2].left, field.right))
    elif left is not None and field.value:
        _set_cell(left, Cell(f"{left[2].text} {field.value}", left[2].left, field.right))
    elif field.value:
        height = field.top - field.bottom
        size, base = max(4.0, min(12.0, 0.6 * height)), field.bottom + 0.3 * height
        line = Line(field.value, field.left, field.right, base, size, False, False, 0, False)
        below = (place for place, one in enumerate(lines) if not one.turn and one.base < base)
        lines.insert(next(below, len(lines)), line)


def _set_cell(place: tuple[Line, int, Cell], cell: Cell) -> None:
    """Replace a cell of a line, or its whole text."""
    line, number, _ = place
    if line.cells:
        line.cells = (*line.cells[:number], cell, *line.cells[number + 1 :])
        line.text = " ".join(one.text for one in line.cells)
    else:
        line.text = cell.text
    line.left, line.right = min(line.left, cell.left), max(line.right, cell.right)


def _value_of(annotation: Any, forms: pdfium.PdfFormEnv) -> str:
    length = raw.FPDFAnnot_GetFormFieldValue(forms, annotation, None, 0)
    buffer = ctypes.create_string_buffer(length)
    place = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
    raw.FPDFAnnot_GetFormFieldValue(forms, annotation, place, length)
    return " ".join(clean(buffer.raw.decode("utf-16-le", "replace").rstrip("\0")).split())


def _direction(line: Line) -> int:
    return line.turn - line.turn % 90


def _count_letters(lines: Iterable[Line]) -> int:
    return sum(len(line.text) - line.text.count(" ") for line in lines)


def _spaced(text: str, gaps: list[_Gap], width: float) -> str:
    """A line of code with the spaces that are seen on the page."""
    parts, position = [], 0
    for gap, _, _, space in gaps:
        number = round(gap / width) if 0 < width < gap < 80 * width else 1
        parts += [text[position : space.start()], " " * number]
        position = space.end()
    return clean("".join([*parts, text[position:]]), strip=False)


def same_line(line: Line, other: Line) -> Line | None:
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
    return replace(
        main,
        text=line.text + space + other.text,
        left=min(line.left, other.left),
        right=max(line.right, other.right),
        bold=line.bold and other.bold,
        mono=line.mono and other.mono,
        hyphen=other.hyphen,
        cells=cells,
    )


def _accented(found: re.Match[str]) -> str:
    """A letter with its accent, if there is such a letter."""
    accent, letter = found[1] or found[3], found[2] or found[4]
    composed = normalize("NFC", letter.replace("\u0131", "i") + accent.translate(_ACCENTS))
    return composed if len(composed) == 1 else found[0]


def clean(text: str, strip: bool = True) -> str:
    """A text without control characters, with ligatures taken apart."""
    if not _PLAIN.fullmatch(text):
        text = _SYMBOL_BULLET.sub("\u2022", text)
        text = _TEX_BULLET.sub("\u2022", text)
        text = _TEX_LIGATURE.sub(lambda found: _TEX_LIGATURES[found[0]], text)
        text = _ACCENTED.sub(_accented, text)
        text = _DROPPED.sub("", text).translate(_LIGATURES)
    return text.strip() if strip else text.rstrip()
