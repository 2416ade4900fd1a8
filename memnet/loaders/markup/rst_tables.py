"""Tables of reStructuredText: grids, columns under "====", CSV and lists."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

GRID = re.compile(r"\+(?:[-=]+\+)+$")
SIMPLE = re.compile(r"=+(?: +=+)+$")
_SPAN = re.compile(r"-+(?: +-+)*$")
_MAX_COLUMNS = 500

Row = tuple[list[str], bool]
"""The cells of a row, and whether it is one of the header."""


def grid_rows(lines: Sequence[str]) -> Iterator[Row]:
    """Rows of a table that is drawn with "+---+" and "|"."""
    borders = [at for at, character in enumerate(lines[0]) if character == "+"][:_MAX_COLUMNS]
    header_end = next((n for n, line in enumerate(lines) if n and re.match(r"\+=", line)), 0)
    cells: list[list[str]] = [[] for _ in borders[1:]]
    for number, line in enumerate(lines[1:], start=1):
        if line.startswith("+") and GRID.match(line):
            if any(map(any, cells)):
                yield [" ".join(parts) for parts in cells], number <= header_end
            cells = [[] for _ in borders[1:]]
            continue
        start = 0
        for column, (_, right) in enumerate(pairwise(borders)):
            if right < len(line) and line[right] not in "|+":
                continue  # a cell that spans the next column too
            text = line[borders[start] + 1 : right]
            if not re.fullmatch(r"[-=+]+", text):
                cells[start].append(text.strip(" |"))
            start = column + 1


def simple_rows(lines: Sequence[str]) -> Iterator[Row]:
    """Rows of a table whose columns are marked by "=====  ====="."""
    columns = [found.span() for found in re.finditer("=+", lines[0])][:_MAX_COLUMNS]
    marks = [number for number, line in enumerate(lines) if SIMPLE.match(line)]
    header_end = marks[1] if len(marks) > 2 else 0
    row: list[str] | None = None
    row_at = 0
    for number, line in enumerate(lines):
        if not line.strip() or SIMPLE.match(line) or _SPAN.match(line):
            if row is not None:
                yield row, row_at < header_end
            row = None
            continue
        cells = _cells(columns, line)
        if row is not None and not cells[0]:
            row = [f"{above} {cell}".strip() for above, cell in zip(row, cells, strict=True)]
        else:
            if row is not None:
                yield row, row_at < header_end
            row, row_at = cells, number
    if row is not None:
        yield row, row_at < header_end


def _cells(columns: Sequence[tuple[int, int]], line: str) -> list[str]:
    """Texts of the columns; one that reaches over a gap takes the next column too."""
    cells = [""] * len(columns)
    first = 0
    for column, (_, end) in enumerate(columns):
        is_last = column + 1 == len(columns)
        if is_last or not line[end : columns[column + 1][0]].strip():
            cells[first] = line[columns[first][0] : None if is_last else end].strip()
            first = column + 1
    return cells


def csv_rows(lines: Sequence[str], header: str, header_rows: int) -> Iterator[Row]:
    """Rows of a csv-table directive."""
    if header:
        yield next(csv.reader([header], skipinitialspace=True), []), True
    try:
        for number, row in enumerate(csv.reader(lines, skipinitialspace=True)):
            yield row, number < header_rows
    except csv.Error:
        return
