"""Columns of text told from tables, and tables found by cells that stand under each other."""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from memnet.loaders.document import one_line
from memnet.loaders.pdf.lines import Cell, Line
from memnet.loaders.pdf.paragraphs import Part, Words, join_lines

# So many lines with a gap at the same place are two columns of text, if both are long.
_COLUMN_LINES = 10
_COLUMN_TEXT = 22  # characters of a line in a column of text, on average
_CELL_LINES = 12  # a cell of more lines is a column of text
_ALIGNED = 0.6  # em by which the cells of a column begin or end at different places, at most
_LOOSE = 1.3  # em times 1.2: the lines of a cell are no further apart
_DIGIT = re.compile(r"\d")


class _Row(NamedTuple):
    cells: list[list[Line]]  # the lines of each cell
    bounds: list[tuple[float, float]]  # left and right of each cell
    lines: int  # how many lines of the page it takes


def split_columns(lines: list[Line]) -> list[Line]:
    """Lines column by column, if each reaches over two columns of text."""
    split = [line for line in lines if len(line.cells) == 2]
    middles = [(line.cells[0].right + line.cells[1].left) / 2 for line in split]
    border = median(middles or [0.0])
    split = [line for line in split if line.cells[0].right < border < line.cells[1].left]
    least = max(_COLUMN_LINES, sum(line.left < border < line.right for line in lines) // 2)
    texts = ["".join(line.cells[side].text for line in split) for side in (0, 1)]
    if len(split) < least or min(map(len, texts)) <= _COLUMN_TEXT * len(split):
        return lines
    both = set(map(id, split))
    ordered: list[Line] = []
    sides: tuple[list[Line], list[Line]] = ([], [])
    for line in lines:
        if id(line) in both:
            for side, cell in zip(sides, line.cells, strict=True):
                side.append(_part_of(line, cell))
        elif line.right < border or line.left > border:
            sides[line.left > border].append(line)
        else:
            ordered += [*sides[0], *sides[1], line]
            sides = ([], [])
    return ordered + sides[0] + sides[1]


def _part_of(line: Line, cell: Cell) -> Line:
    hyphen = line.hyphen and cell is line.cells[-1]
    return replace(line, text=cell.text, left=cell.left, right=cell.right, hyphen=hyphen, cells=())


def find_tables(lines: Sequence[Line], words: Words) -> list[Part | list[Line]]:
    """The tables among lines, and the lines between them."""
    found: list[Part | list[Line]] = []
    index = 0
    while index < len(lines):
        rows, end = _rows(lines, index)
        if _is_table(rows):
            found.append(_table(rows, lines[index:end], words))
            index = end
            continue
        between = found[-1] if found else None
        if not isinstance(between, list):
            found.append(between := [])
        between.append(lines[index])
        index += 1
    return found


def _is_table(rows: list[_Row]) -> bool:
    broken = any(len(cell) > 1 for row in rows for cell in row.cells)
    return len(rows) > 2 or (len(rows) == 2 and (broken or all(len(row.cells) > 2 for row in rows)))


def _rows(lines: Sequence[Line], start: int) -> tuple[list[_Row], int]:
    """Rows with cells that stand under each other, from a line on, and where they end."""
    rows: list[_Row] = []
    index = start
    while index < len(lines) and (row := _row(lines, index)):
        if rows and not _fits(rows[-1], row):
            break
        rows.append(row)
        index += row.lines
    return rows, index


def _row(lines: Sequence[Line], start: int) -> _Row | None:
    first = lines[start]
    if first.mono or first.entry or first.turn % 90:
        return None
    if not first.cells and not _may_be_cells(first, lines, start):
        return None
    cells = [[_part_of(first, cell)] for cell in first.cells] or [[first]]
    index = start + 1
    while index < len(lines):
        line = lines[index]
        if line.mono or line.entry or line.turn != first.turn:
            break
        column = _column(cells, line)
        if column is None:
            break
        pieces = [_part_of(line, cell) for cell in line.cells] or [line]
        if column == len(cells):
            cells += [[piece] for piece in pieces]
        elif len(pieces) == 1 and len(cells[column]) < _CELL_LINES:
            cells[column].append(line)
        else:
            break
        index += 1
    if len(cells) < 2:
        return None
    bounds = [(min(x.left for x in cell), max(x.right for x in cell)) for cell in cells]
    return _Row(cells, bounds, index - start)


def _may_be_cells(first: Line, lines: Sequence[Line], start: int) -> bool:
    """Whether soon after a line another stands beside it: most lines are told at once."""
    for line in lines[start + 1 : start + 1 + _CELL_LINES]:
        if line.left > first.right and line.base > first.base - 0.5 * first.size:
            return True
        if line.base > first.base or line.left > first.right or line.right < first.left:
            return False
    return False


def _column(cells: list[list[Line]], line: Line) -> int | None:
    """The cell of a row that a line goes on with; their number for a new one at the right."""
    top = cells[0][0].base
    last = cells[-1][-1]
    right = max(other.right for other in cells[-1])
    if line.left > right + 0.5 * line.size and line.base > last.base - 0.3 * line.size:
        if abs(line.base - top) < 0.9 * line.size or line.base > last.base + 0.5 * line.size:
            return len(cells) if line.base < top + 0.9 * line.size else None
        return None
    for number, cell in enumerate(cells):
        left = min(other.left for other in cell) - 0.5 * line.size
        following = cells[number + 1] if number + 1 < len(cells) else []
        limit = min((other.left for other in following), default=float("inf"))
        if left <= line.left and line.right < limit:
            distance = cell[-1].base - line.base
            near = 0.5 * line.size < distance < _LOOSE * 1.2 * line.size
            # Beside it, the first cell has nothing: else a row of its own begins.
            return number if near and (number or len(cells) == 1) else None
    return None


def _fits(above: _Row, row: _Row) -> bool:
    """Whether a row stands under the one before, with two cells at least at the same places."""
    size = row.cells[0][0].size
    bottom = min(cell[-1].base for cell in above.cells)
    if not 0 < bottom - row.cells[0][0].base < 3.5 * size:
        return False
    near = _ALIGNED * size
    aligned = sum(
        any(
            abs(left - other_left) < near
            or abs(right - other_right) < near
            or abs(left + right - other_left - other_right) < 2 * near
            for other_left, other_right in above.bounds
        )
        for left, right in row.bounds
    )
    return aligned >= 2


def _table(rows: list[_Row], lines: Sequence[Line], words: Words) -> Part:
    columns = _columns(rows)
    part = Part("table", list(lines))
    for row in rows:
        texts = [""] * len(columns)
        for cell, (left, right) in zip(row.cells, row.bounds, strict=True):
            best = max(
                range(len(columns)),
                key=lambda number: min(right, columns[number][1]) - max(left, columns[number][0]),
            )
            text = one_line(join_lines(cell, words))
            texts[best] = f"{texts[best]} {text}".strip()
        part.rows.append(texts)
    bold = [all(line.bold for cell in row.cells for line in cell) for row in rows[:2]]
    part.header = bold == [True, False] or _names_numbers(part.rows)
    return part


def _names_numbers(rows: list[list[str]]) -> bool:
    """Whether the first row has no number, and those below it have most of a column's."""
    head, body = rows[0], rows[1:]
    if len(body) < 2 or any(_DIGIT.search(text) for text in head):
        return False
    return any(
        name and 5 * sum(_DIGIT.search(row[number]) is not None for row in body) >= 4 * len(body)
        for number, name in enumerate(head)
        if number
    )


def _columns(rows: list[_Row]) -> list[tuple[float, float]]:
    """Left and right of each column: what of all cells lies over each other."""
    most = max(len(row.bounds) for row in rows)
    spans = sorted(bounds for row in rows if len(row.bounds) == most for bounds in row.bounds)
    columns = [spans[0]]
    for left, right in spans[1:]:
        if left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    size = rows[0].cells[0][0].size
    for row in rows:  # cells that stand beside all of them
        for left, right in row.bounds:
            distances = [max(other[0] - right, left - other[1]) for other in columns]
            if (nearest := min(distances)) >= 0:
                if nearest < size and len(row.bounds) <= len(columns):
                    near = columns.pop(distances.index(nearest))
                    left, right = min(left, near[0]), max(right, near[1])
                columns.append((left, right))
    return sorted(columns)
