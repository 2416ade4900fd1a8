"""Spreadsheets of Excel and OpenDocument: the tables that stand in their sheets.

A number is shown as its cell's format does, as far as that changes what it says: percent, signs and
units around it, digits, times and durations. Dates are read as such.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache, partial
from io import BytesIO
from itertools import groupby
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar
from zipfile import ZipFile

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
)

from memnet.errors import InputError, Problem, first_line
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.package import (
    PROTECTED,
    OfficePackage,
    attribute,
    check_not_encrypted,
    child,
    children,
    integer,
    local,
    open_document_properties,
)
from memnet.loaders.tables.data_tables import Row, TableWriter, kind_of

# Formats that files name by number alone (ECMA-376 part 1, 18.8.30), but those of dates.
BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    20: "h:mm",
    21: "h:mm:ss",
    45: "mm:ss",
    46: "[h]:mm:ss",
    **dict.fromkeys((5, 6), '"$"#,##0'),
    **dict.fromkeys((7, 8), '"$"#,##0.00'),
    **dict.fromkeys((37, 38, 41), "#,##0;(#,##0)"),
    **dict.fromkeys((39, 40, 43), "#,##0.00;(#,##0.00)"),
    42: '"$"#,##0;("$"#,##0)',
    44: '"$"#,##0.00;("$"#,##0.00)',
}
_MAX_FORMAT = 255  # characters, as in Excel
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^]-]*)[^]]*\]|\[(?P<bracket>[^]]*)\]'
    r"|(?P<space>[_*].)|(?P<digits>[0#?.][0#?.,]*|General)|(?P<end>;)|(?P<other>.)",
    re.DOTALL,
)
_COLOUR = re.compile(
    r"(?:black|blue|cyan|green|magenta|red|white|yellow|color ?\d+)", re.IGNORECASE
)
_CLOCK = re.compile(
    r"(?=.*:)(?:(?P<hours>\[h+\]|hh?):)?(?P<minutes>\[m+\]|mm?)(?::(?P<seconds>ss))?(?:;@)?",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[-(\u2212]")


class _Section(NamedTuple):
    before: str
    digits: str  # placeholders: "#,##0.00", or "General"
    after: str
    scale: int  # power of ten that the number is shown in: 2 for percent

    def show(self, number: Decimal) -> str:
        """A number without its sign. Raises InvalidOperation if it has too many digits."""
        number = number.scaleb(self.scale)
        if self.digits == "General":
            return f"{self.before}{number.normalize():f}{self.after}"
        whole, _, decimals = self.digits.partition(".")
        rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
        shown, _, rest = f"{rounded:f}".partition(".")
        kept = len(decimals.rstrip("#?"))
        rest = rest[:kept] + rest[kept:].rstrip("0")
        shown = shown.lstrip("0").zfill(whole.count("0"))
        if "," in whole and shown.isdigit():
            shown = f"{int(shown):,}".zfill(len(shown))
        return f"{self.before}{shown}{'.' if rest else ''}{rest}{self.after}"


def show(number: float, code: str) -> str | None:
    """What a cell with a format shows for a number; None if the format is not covered."""
    sections = _sections(code)
    which = 1 if number < 0 else 2 if number == 0 else 0
    section = sections[which if which < len(sections) else 0]
    if section is None or not isfinite(number):
        return None
    try:
        text = section.show(abs(Decimal(format(number, ".15g")))).strip()
    except InvalidOperation:
        return None
    # A format that shows negative numbers by their colour alone must not lose their sign.
    has_sign = which < len(sections) and _SIGN.search(section.before + section.after)
    return f"-{text}" if which == 1 and not has_sign and re.search("[1-9]", text) else text


def show_time(seconds: int, code: str) -> str | None:
    """What a cell with a format shows for a time or a duration; None if it is not covered."""
    found = _CLOCK.fullmatch(code)
    parts: list[str] = []
    for name, one, all_of_them in (
        ("hours", 3600, 86400),
        ("minutes", 60, 3600),
        ("seconds", 1, 60),
    ):
        if found and found[name]:
            whole = abs(seconds) if "[" in found[name] else abs(seconds) % all_of_them
            parts.append(f"{whole // one:0{len(found[name].strip('[]'))}}")
    return "-" * (seconds < 0) + ":".join(parts) if parts else None


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[_Section | None, ...]:
    """The parts for positive numbers, negative ones and zero, as many as there are."""
    parts: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code[:_MAX_FORMAT]):
        if token["end"]:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(map(_section, parts[:3]))


def _section(tokens: list[re.Match[str]]) -> _Section | None:
    digits, scale, around = "", 0, ["", ""]
    for token in tokens:
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        if kind == "digits":
            if digits:  # "000-000"
                return None
            digits = text
        elif kind == "bracket":
            if not _COLOUR.fullmatch(text):
                return None
        elif kind == "other" and (text.isalnum() or text in "/@"):
            return None
        elif kind != "space":
            scale += 2 * (kind == "other" and text == "%")
            around[bool(digits)] += text
    whole, _, decimals = digits.partition(".")
    if "0" not in digits and "#" not in digits and digits != "General":
        return None
    # Commas behind the digits show thousands or millions.
    scale -= 3 * (len(whole) - len(whole.rstrip(",")) + decimals.count(","))
    decimals = decimals.replace(",", "")
    digits = whole.rstrip(",") + (f".{decimals}" if decimals else "")
    return _Section(around[0], digits, around[1], scale)


Result = TypeVar("Result")

_BEFORE_XML = b"\xef\xbb\xbf \t\r\n"
# The start of a cell of .xlsx with its place and its style; a whole tree of it would be too large.
_CELL = re.compile(rb"<(?:\w{1,20}:)?c\s[^<>]*>")
_PLACE = re.compile(rb"""\sr\s?=\s?["']([A-Z]{1,3})(\d{1,7})["']""")
_STYLE = re.compile(rb"""\ss\s?=\s?["'](\d{1,6})["']""")
# A number of OpenDocument with its text, as the sheet shows it: "72 %" of 0.72
_SHOWN = re.compile(
    rb"""<table:table-cell\b[^<>]{0,500}?\soffice:value-type=["'](?:percentage|currency)["']"""
    # Neither "1.5E+03" nor the "-" of an amount of 0
    rb"""[^<>]{0,500}>\s{0,20}<text:p\b[^<>]{0,200}>(?=[^<>]{0,40}\d)(?![^<>]{0,40}\dE[+-])"""
)
_NUMBER = re.compile(rb"""\soffice:value=["'][^"'<>]{0,100}["']""")
_TYPE = re.compile(rb"""office:value-type=["']\w{1,20}["']""")
_MAX_PRINTED = 1e15  # spreadsheets show 15 digits; larger numbers are written with an exponent
# Characters of a merged cell that is taken as the name of its rows, not as a remark on them.
_MAX_REPEATED = 80
_MAX_MERGED = 10_000  # cells into which the text of merged ones is repeated
_NAMING = 2  # Cells at the start of a row that say what a comment on it is about
# What Excel writes before a comment for its older versions
_THREADED = re.compile(r"\A\[Threaded comment\].*?Comment:\s", re.DOTALL)
_MAX_REGION = 100_000  # rows between empty ones that are looked at together for tables side by side


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """All sheets, with a block for each row that names its columns."""
    data, metadata, formats = _workbook(file.data)
    workbook = _read(partial(CalamineWorkbook.from_filelike, BytesIO(data)))
    builder = DocumentBuilder()
    problems: list[Problem] = []
    for about in workbook.sheets_metadata:
        if about.typ != SheetTypeEnum.WorkSheet:
            continue  # a chart, or macros
        name = about.name
        try:
            sheet = _read(partial(workbook.get_sheet_by_name, name))
        except InputError as error:
            problems.append(Problem(f"{file.name}, sheet {name!r}", str(error)))
            continue
        if sheet.start is not None:
            rows = _rows(sheet, sheet.start[1], formats.of_sheet(name))
            comments = formats.comments(name)
            _add_sheet(builder, name, rows, sheet.start[1], file.max_characters, comments)
    if not len(builder):
        if problems:
            raise InputError(f"has no sheet that can be read: {problems[0].what}")
        raise InputError("holds no cells with text; expected a workbook with some")
    yield file.document(builder, metadata.pop("title", "")[: file.max_title], metadata)
    yield from problems


def _read(call: Callable[[], Result]) -> Result:
    """What a call of the library gives. A panic of it is a BaseException that can't be imported."""
    try:
        return call()
    except PasswordError as error:
        raise InputError(PROTECTED) from error
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"
        if not panic and not isinstance(error, (CalamineError, OSError, ValueError)):
            raise
        raise InputError(
            f"is not a readable workbook ({first_line(error)}): damaged, of a program before Excel "
            "97, or protected with a password; save it again as .xlsx"
        ) from None


class _Formats:
    """The number formats of the cells of a workbook and their comments, which the library omits.

    Known of .xlsx alone; there are none of a damaged part.
    """

    def __init__(self, package: OfficePackage | None = None) -> None:
        self._package = package
        self._sheets: dict[str, str] = {}  # parts by the names of sheets
        self._codes: list[str] = []  # by style
        if package is not None:
            with suppress(InputError):
                self._read(package)

    def _read(self, package: OfficePackage) -> None:
        main = next(iter(package.related("", "officeDocument")), "")
        relations = package.relations(main)
        for sheet in children(child(package.xml(main), "sheets")):
            relation = relations.get(attribute(sheet, "id"))
            if relation is not None:
                self._sheets[sheet.get("name", "")] = relation.target
        for part in package.related(main, "styles"):
            styles = package.xml(part)
            codes = BUILT_IN | {
                integer(each.get("numFmtId", "")): each.get("formatCode", "")
                for each in children(child(styles, "numFmts"))
            }
            self._codes = [
                codes.get(integer(each.get("numFmtId", "")), "")
                for each in children(child(styles, "cellXfs"))
            ]

    def of_sheet(self, name: str) -> Iterator[tuple[int, dict[int, str]]]:
        """The rows of a sheet, each with the formats of its columns; all from 0."""
        if self._package is None or not any(self._codes):
            return
        with suppress(InputError):
            part = self._package.read(self._sheets.get(name, ""))
            for row, cells in groupby(self._cells(part or b""), itemgetter(0)):
                yield row, {column: code for _, column, code in cells}

    def comments(self, name: str) -> dict[int, list[tuple[int, str]]]:
        """The comments on the cells of a sheet, by row, each with its column; all from 0."""
        found: dict[int, list[tuple[int, str]]] = {}
        package, part = self._package, self._sheets.get(name)
        roots = (
            map(package.xml_if_sound, package.related(part, "comments")) if package and part else ()
        )
        for root in roots:
            for comment in children(child(root, "commentList")):
                at = re.fullmatch(r"([A-Z]{1,3})(\d{1,7})", comment.get("ref", ""))
                said = "".join(one.text or "" for one in comment.iter() if local(one) == "t")
                said = " ".join(_THREADED.sub("", said).split())
                if at is not None and said:
                    found.setdefault(int(at[2]) - 1, []).append((_column_number(at[1]), said))
        return found

    def _cells(self, markup: bytes) -> Iterator[tuple[int, int, str]]:
        for cell in _CELL.finditer(markup):
            place, style = _PLACE.search(cell[0]), _STYLE.search(cell[0])
            number = int(style[1]) if style else 0
            if place and number < len(self._codes) and self._codes[number]:
                yield int(place[2]) - 1, _column_number(place[1].decode()), self._codes[number]


def _workbook(data: bytes) -> tuple[bytes, dict[str, Any], _Formats]:
    """A workbook as the library takes it, its metadata, and its number formats.

    Files of OpenDocument are packed again with nothing but their content, as some have no sign of
    what they are, and the flat ones are not packed at all.
    """
    if not data.startswith(b"PK"):
        if not data[:100].lstrip(_BEFORE_XML).startswith(b"<"):
            check_not_encrypted(data)
            return data, {}, _Formats()
        return _packed(data), {}, _Formats()
    package = OfficePackage(data)
    if "content.xml" not in package:
        formats = _Formats(package)
        try:
            return data, package.properties(), formats
        except InputError:
            return data, {}, formats
    if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
        raise InputError(PROTECTED)
    content = package.read("content.xml") or b""
    metadata = open_document_properties(package.xml_if_sound("meta.xml"))
    return _packed(content), metadata, _Formats()


def _packed(content: bytes) -> bytes:
    if b"spreadsheet" not in content:
        raise InputError(
            "is an OpenDocument file, but not a spreadsheet; give it the suffix of what it is"
        )
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest:manifest/>")
        shown = _SHOWN.sub(_as_shown, content)
        archive.writestr("content.xml", shown)
    return packed.getvalue()


def _as_shown(cell: re.Match[bytes]) -> bytes:
    """The start of a cell with a number, as one with the text that shows it."""
    return _TYPE.sub(rb'office:value-type="string"', _NUMBER.sub(b"", cell[0]))


def _rows(
    sheet: CalamineSheet, left: int, formats: Iterator[tuple[int, dict[int, str]]]
) -> Iterator[Row]:
    """Its rows as they are shown, with the text of merged cells in each cell that they cover.

    One that covers several columns is repeated only below texts of their own: above them it is a
    title, or groups the headers below it.
    """
    down, across = _merged(sheet.merged_cell_ranges or (), left)
    above: dict[int, str] = {}
    named: set[int] = set()  # columns with a text since the last empty row
    formatted = next(formats, None)
    for number, values in enumerate(sheet.iter_rows()):
        while formatted is not None and formatted[0] < number:
            formatted = next(formats, None)
        codes = formatted[1] if formatted is not None and formatted[0] == number else {}
        row = [cell_text(value, codes.get(column, "")) for column, value in enumerate(values, left)]
        for column in down.get(number, ()):
            _repeat(row, column, above.get(column, ""))
        several = sum(map(bool, row)) > 1  # else it is a title of rows
        for first, column in across.get(number, ()):
            if several and column in named and first < len(row):
                _repeat(row, column, row[first])
        above = {column: text for column, text in enumerate(row) if text}
        named = {*named, *above} if above else set()
        yield number, row


def _repeat(row: list[str], column: int, text: str) -> None:
    if column < len(row) and not row[column] and len(text) <= _MAX_REPEATED:
        row[column] = text


def _merged(
    ranges: Iterable[Any], left: int
) -> tuple[dict[int, list[int]], dict[int, list[tuple[int, int]]]]:
    """By row the columns of cells that belong to one above, and to the first one of the row."""
    down: dict[int, list[int]] = {}
    across: dict[int, list[tuple[int, int]]] = {}
    cells = 0
    for (top, first), (bottom, last) in ranges:
        area = (bottom - top + 1) * (last - first + 1)
        if cells + area > _MAX_MERGED:
            continue
        cells += area
        for row in range(top, bottom + 1):
            if row > top:
                down.setdefault(row, []).append(first - left)
            for column in range(first + 1, last + 1):
                across.setdefault(row, []).append((first - left, column - left))
    return down, across


def cell_text(value: Any, code: str = "") -> str:
    """A value as people read it; of a number or a time as its format ``code`` shows it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if code and isinstance(value, (int, float)) and (shown := show(value, code)) is not None:
        return shown
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < _MAX_PRINTED
        return str(int(value)) if whole else format(value, ".15g")
    if isinstance(value, datetime):
        day = value.date().isoformat()
        return day if value.time() == time() else f"{day} {cell_text(value.time())}"
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return show_time(seconds, code) or value.isoformat("seconds" if value.second else "minutes")
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return show_time(seconds, code) or show_time(seconds, "[h]:mm:ss") or ""
    return str(value)


def _add_sheet(
    builder: DocumentBuilder,
    name: str,
    rows: Iterator[Row],
    left: int,
    max_characters: int,
    comments: Mapping[int, Sequence[tuple[int, str]]],
) -> None:
    """Add a sheet: its name as a heading, its tables, and the comments on their cells.

    ``left`` is its first column. A comment stands behind its cell, and the first ones of the row,
    which say what it is about.
    """
    about: dict[tuple[int, int], list[str]] = {}

    def place(row: int, first: int, last: int) -> str:
        at = f"{name}!{column_name(first)}{row + 1}"
        return at if first == last else f"{at}:{column_name(last)}{row + 1}"

    def seen(rows: Iterator[Row]) -> Iterator[Row]:
        for order, (number, row) in enumerate(rows):
            for column, _ in comments.get(number, ()):
                own = row[column - left : column - left + 1] if column >= left else []
                names = [text for text in row if text][:_NAMING] if order else []  # else headers
                about[number, column] = list(dict.fromkeys(filter(None, (*names, *own))))
            yield number, row

    writer = TableWriter(builder, place, max_characters)
    for number, region in enumerate(_regions(seen(rows))):
        if number == 0:
            builder.open(name)
            builder.add("heading", name, level=1)
        for first, table in _side_by_side(region):
            writer.table(table, left + first)
    for number, own in comments.items():
        for column, said in own:
            named = ", ".join(about.get((number, column), ()))
            text = f"{named}: {said}" if named else said
            builder.add("paragraph", text, place=place(number, column, column))


def _regions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows between empty ones."""
    region: list[Row] = []
    for number, row in rows:
        filled = any(row)
        if region and (not filled or number != region[-1][0] + 1 or len(region) == _MAX_REGION):
            yield region
            region = []
        if filled:
            region.append((number, row))
    if region:
        yield region


def _side_by_side(region: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    """The tables of a region that empty columns divide, each with its first column.

    A gap divides tables if what follows it begins with a column of names; a column that is left
    empty between others for the looks divides nothing.
    """
    width = max(len(row) for _, row in region)
    used = [any(column < len(row) and row[column] for _, row in region) for column in range(width)]
    starts = [0]
    for column in range(1, width - 1):
        opens = used[column] and not used[column - 1] and used[column + 1]
        if opens and sum(used[starts[-1] : column]) >= 2 and _names(region, column):
            starts.append(column)
    for first, end in zip(starts, [*starts[1:], width], strict=True):
        yield first, [(number, row[first:end]) for number, row in region]


def _names(region: list[Row], column: int) -> bool:
    kinds = [kind_of(row[column]) for _, row in region if column < len(row) and row[column]]
    return len(kinds) > 1 and all(kind == "text" for kind in kinds)


def _column_number(name: str) -> int:
    number = 0
    for letter in name:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def column_name(column: int) -> str:
    """0 as A, 25 as Z, 26 as AA."""
    before, letter = divmod(column, 26)
    return (column_name(before - 1) if before else "") + chr(ord("A") + letter)
