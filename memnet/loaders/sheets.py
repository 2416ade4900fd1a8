"""Workbooks of Excel and OpenDocument (.xlsx, .xlsm, .xlsb, .xls, .ods): sheet after sheet."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import partial
from io import BytesIO
from typing import Any, TypeVar
from zipfile import ZipFile

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from memnet.errors import InputError, Problem, first_line
from memnet.loaders.data_tables import Row, TableWriter, kind_of
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.ooxml import OfficePackage
from memnet.loaders.package import (
    PROTECTED,
    Package,
    check_not_encrypted,
    check_not_encrypted_odf,
    is_zip,
)

Result = TypeVar("Result")

_MAX_PRINTED = 1e15
"""Spreadsheets show 15 digits; larger numbers are written with an exponent."""
_MAX_REGION = 100_000
"""Rows between empty ones; of longer regions only the first are looked at for columns apart."""
_INDENT = re.compile(rb">\s+<")
_MAX_MERGED = 10_000
"""Cells into which the text of merged ones is repeated."""


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """All sheets, with a block for each row that names its columns."""
    workbook = _open(file.data)
    builder = DocumentBuilder()
    problems: list[Problem] = []
    for name in workbook.sheet_names:
        try:
            sheet = _read(partial(workbook.get_sheet_by_name, name))
        except InputError as error:
            problems.append(Problem(f"{file.name}, sheet {name!r}", str(error)))
            continue
        if sheet.start is not None:
            _add_sheet(builder, name, sheet, file.max_characters)
    if not len(builder):
        if problems:
            raise InputError(f"has no sheet that can be read: {problems[0].what}")
        raise InputError("holds no cells with text; expected a workbook with some")
    metadata = _properties(file.data)
    title = metadata.pop("title", "") or file.title
    yield builder.build(file.name, title[: file.max_title], metadata=metadata)
    yield from problems


def _open(data: bytes) -> CalamineWorkbook:
    check_not_encrypted(data)
    try:
        return _read(lambda: CalamineWorkbook.from_filelike(BytesIO(data)))
    except InputError:
        if not is_zip(data):
            raise
    package = Package(data)
    content = package.read("content.xml")
    if content is None:
        return _read(lambda: CalamineWorkbook.from_filelike(BytesIO(data)))
    check_not_encrypted_odf(package)
    # The library takes blanks between the elements of a sheet for text; some programs indent them.
    plain = BytesIO()
    with ZipFile(plain, "w") as archive:
        archive.writestr("mimetype", package.read("mimetype") or b"")
        archive.writestr("META-INF/manifest.xml", package.read("META-INF/manifest.xml") or b"")
        archive.writestr("content.xml", _INDENT.sub(b"><", content))
    return _read(lambda: CalamineWorkbook.from_filelike(plain))


def _read(call: Callable[[], Result]) -> Result:
    """What a call of the library gives.

    Raises:
        InputError: it fails, be it by a panic, which is no Exception and has no name to import.
    """
    try:
        return call()
    except PasswordError as error:
        raise InputError(PROTECTED) from error
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"
        if not panic and not isinstance(error, (CalamineError, OSError, ValueError)):
            raise
        raise InputError(
            f"is no workbook that can be read ({first_line(error)}): damaged, of a program before "
            "Excel 97, or protected with a password; save it anew as .xlsx or .ods"
        ) from None


def _properties(data: bytes) -> dict[str, Any]:
    """Of a package in the format of Office; nothing of others."""
    try:
        return OfficePackage(data).properties()
    except InputError:
        return {}


def _add_sheet(builder: DocumentBuilder, name: str, sheet: Any, max_characters: int) -> None:
    def place(row: int, first: int, last: int) -> str:
        at = f"{name}!{column_name(first)}{row + 1}"
        return at if first == last else f"{at}:{column_name(last)}{row + 1}"

    left = sheet.start[1]
    builder.open(name)
    builder.add("heading", name, level=1)
    writer = TableWriter(builder, place, max_characters)
    for region in _regions(sheet, left):
        for first, rows in _side_by_side(region):
            writer.table(rows, left + first)


def _regions(sheet: Any, left: int) -> Iterator[list[Row]]:
    """Rows between empty ones, with the text of merged cells in each cell of the first column."""
    merged = _merged(sheet.merged_cell_ranges or (), left)
    region: list[Row] = []
    above: dict[int, str] = {}
    for number, values in enumerate(sheet.iter_rows()):
        row = [cell_text(value) for value in values]
        for column in merged.get(number, ()):
            if column < len(row) and not row[column]:
                row[column] = above.get(column, "")
        if not any(row):
            if region:
                yield region
            region, above = [], {}
            continue
        above = {column: text for column, text in enumerate(row) if text}
        region.append((number, row))
        if len(region) == _MAX_REGION:
            yield region
            region = []
    if region:
        yield region


def _merged(ranges: Iterable[Any], left: int) -> dict[int, list[int]]:
    """By row the columns of cells that belong to one above, which is one column wide."""
    found: dict[int, list[int]] = {}
    cells = 0
    for (top, first), (bottom, last) in ranges:
        cells += bottom - top
        if first == last and cells <= _MAX_MERGED:
            for row in range(top + 1, bottom + 1):
                found.setdefault(row, []).append(first - left)
    return found


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
    kinds = [kind_of(row[column]) for _, row in region if row[column]]
    return len(kinds) > 1 and all(kind == "text" for kind in kinds)


def column_name(column: int) -> str:
    """0 as A, 25 as Z, 26 as AA."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def cell_text(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < _MAX_PRINTED
        return str(int(value)) if whole else format(value, ".15g")
    if isinstance(value, datetime):
        day = value.date().isoformat()
        return day if value.time() == time() else f"{day} {cell_text(value.time())}"
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(value)
