"""Tables of AsciiDoc."""

import csv
import re
from collections.abc import Iterator, Sequence

_CELL = re.compile(
    r"(?:(?<=\s)|^)(?:(\d{1,3})\*|(\d{1,3})?(?:\.\d{1,3})?\+)?[<^>.]{0,4}[aehlmdsv]?$"
)
_REPEATED = re.compile(r"(\d{1,3})\*")
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|'([^']*)'|([^,\]]*))")
_MAX_COLUMNS = 200

Row = tuple[list[str], bool]


def table_rows(lines: Sequence[str], separator: str, style: str) -> Iterator[Row]:
    """Rows of a table, each with whether it is one of the header.

    Args:
        lines: between its delimiters.
        separator: first character of the delimiter.
        style: what stands between brackets above it.
    """
    content = [line for line in lines if not line.startswith("//")]
    filled = [number for number, line in enumerate(content) if line]
    if not filled:
        return
    implicit = len(filled) > 1 and filled[0] == 0 and filled[1] > 1
    has_header = "header" in style or (implicit and "noheader" not in style)
    if separator in ",:" or "format=csv" in style or "format=dsv" in style:
        delimiter = ":" if separator == ":" or "format=dsv" in style else ","
        rows: Iterator[list[str]] = _separated(content, delimiter)
    else:
        mark = "!" if separator == "!" else "|"
        columns = _column_count(style) or max(len(_cells([content[filled[0]]], mark)), 1)
        rows = _grouped(_cells(content, mark), columns)
    for number, row in enumerate(rows):
        yield row, has_header and number == 0


def _separated(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    try:
        for row in csv.reader(filter(None, lines), delimiter=delimiter):
            yield [cell.strip() for cell in row]
    except csv.Error:
        return


def _column_count(style: str) -> int:
    found = _COLUMNS.search(style)
    if found is None:
        return 0
    count = 0
    for part in re.split(r"[,;]", found[1] or found[2] or found[3] or ""):
        repeated = _REPEATED.match(part.strip())
        count += int(repeated[1]) if repeated else 1
    return min(count, _MAX_COLUMNS)


def _cells(lines: Sequence[str], mark: str) -> list[str]:
    """Texts of the cells; one that spans several columns is followed by empty ones."""
    cells: list[str] = []
    pieces = re.split(rf"(?<!\\){re.escape(mark)}", "\n".join(lines))
    repeat = 1
    for number, piece in enumerate(pieces):
        spec = _CELL.search(piece[-20:]) if number + 1 < len(pieces) else None
        text = piece if spec is None else piece[: len(piece) - len(spec[0])]
        text = text.replace(f"\\{mark}", mark).strip()
        if number:
            cells += [text]
            cells += [text if repeat < 0 else ""] * (abs(repeat) - 1)
        repeat = 1
        if spec is not None and spec[1]:
            repeat = -min(int(spec[1]) or 1, _MAX_COLUMNS)
        elif spec is not None and spec[2]:
            repeat = min(int(spec[2]) or 1, _MAX_COLUMNS)
    return cells


def _grouped(cells: Sequence[str], columns: int) -> Iterator[list[str]]:
    for start in range(0, len(cells), columns):
        yield list(cells[start : start + columns])
