"""Spreadsheets of Excel (.xlsx, .xlsm, .xlsb, .xls), and the way to those of OpenDocument."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import partial
from io import BytesIO
from typing import Any, TypeVar

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
from memnet.loaders.office.odf_package import is_open_document
from memnet.loaders.office.ooxml import OfficePackage
from memnet.loaders.package import PROTECTED, check_not_encrypted
from memnet.loaders.tables import ods
from memnet.loaders.tables.data_tables import Row
from memnet.loaders.tables.grids import add_sheet

Result = TypeVar("Result")

_MAX_PRINTED = 1e15  # spreadsheets show 15 digits; larger numbers are written with an exponent
# Characters of a merged cell that is taken as the name of its rows, not as a remark on them.
_MAX_REPEATED = 80
_MAX_MERGED = 10_000  # cells into which the text of merged ones is repeated


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """All sheets, with a block for each row that names its columns."""
    if is_open_document(file.data):
        yield from ods.load(file)
        return
    check_not_encrypted(file.data)
    workbook = _read(partial(CalamineWorkbook.from_filelike, BytesIO(file.data)))
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
            left = sheet.start[1]
            add_sheet(builder, name, _rows(sheet, left), file.max_characters, left)
    if not len(builder):
        if problems:
            raise InputError(f"has no sheet that can be read: {problems[0].what}")
        raise InputError("holds no cells with text; expected a workbook with some")
    metadata = _properties(file.data)
    title = metadata.pop("title", "") or file.title
    yield builder.build(file.name, title[: file.max_title], metadata=metadata)
    yield from problems


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
            "Excel 97, or protected with a password; save it anew as .xlsx"
        ) from None


def _properties(data: bytes) -> dict[str, Any]:
    """Of a package in the format of Office; nothing of others."""
    try:
        return OfficePackage(data).properties()
    except InputError:
        return {}


def _rows(sheet: CalamineSheet, left: int) -> Iterator[Row]:
    """Its rows, with the text of merged cells in each of those that stand below each other."""
    merged = _merged(sheet.merged_cell_ranges or (), left)
    above: dict[int, str] = {}
    for number, values in enumerate(sheet.iter_rows()):
        row = [cell_text(value) for value in values]
        for column in merged.get(number, ()):
            text = above.get(column, "")
            if column < len(row) and not row[column] and len(text) <= _MAX_REPEATED:
                row[column] = text
        above = {column: text for column, text in enumerate(row) if text}
        yield number, row


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
