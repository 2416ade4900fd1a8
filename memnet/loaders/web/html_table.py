"""Tables of a page: which are tables, and their rows with cells that span put where they belong."""

from collections.abc import Iterator
from typing import NamedTuple

from memnet.loaders.document import DocumentBuilder, one_line
from memnet.loaders.tables.data_tables import SAMPLE, header_rows, names_of
from memnet.loaders.web.html_tree import (
    HOLDS_BLOCKS,
    HOLDS_HEADER_CELL,
    HOLDS_HEADING,
    HOLDS_TABLE,
    Element,
    flat_text,
)

_MAX_COLUMNS = 1000
_LONG_CELL = 1500  # characters: with more, a table without headers is the layout of a page
_LONG_REPEAT = 200  # characters of a cell over several rows that each of them repeats
_LONG_HEADER = 200


class _Cell(NamedTuple):
    text: str
    names_column: bool
    is_bold: bool
    repeats: bool  # whether it stands here as it spans from the left


class _Row(NamedTuple):
    cells: dict[int, _Cell]
    in_head: bool
    links: list[str]

    def names_columns(self) -> bool:
        """Whether it holds the headers of columns."""
        named = [cell for cell in self.cells.values() if cell.text and not cell.repeats]
        return len(named) > 1 and (self.in_head or all(cell.names_column for cell in named))


class Table:
    """Collects the rows of a table."""

    def __init__(self, budget: int) -> None:
        # Characters that spanning cells may still repeat: spans of a few bytes could ask for
        # gigabytes.
        self.budget = budget
        self._rows: list[_Row] = []
        # By column, a cell that spans further rows, and how many.
        self._below: dict[int, tuple[int, _Cell]] = {}

    def open_row(self, *, in_head: bool) -> None:
        """Start a row."""
        cells: dict[int, _Cell] = {}
        still: dict[int, tuple[int, _Cell]] = {}
        for column, (rows, cell) in self._below.items():
            self.budget -= len(cell.text) + 1
            if self.budget < 0:
                break
            cells[column] = cell
            if rows > 1:
                still[column] = rows - 1, cell
        self._below = still
        self._rows.append(_Row(cells, in_head, []))

    def add_cell(self, element: Element, text: str, links: list[str]) -> None:
        """Add a cell to the row."""
        if not self._rows:
            self.open_row(in_head=False)
        row = self._rows[-1]
        column = 0
        while column in row.cells:
            column += 1
        rows = _span(element, "rowspan")
        bold = sum(child.text for child in element.elements() if child.tag in ("b", "strong"))
        for offset in range(min(_span(element, "colspan"), _MAX_COLUMNS - column)):
            if column + offset in row.cells:
                break
            self.budget -= offset > 0
            if offset and self.budget < 0:
                break
            cell = _Cell(text, element.tag == "th", 0 < element.text == bold, offset > 0)
            row.cells[column + offset] = cell
            if rows > 1:
                shown = cell if len(text) <= _LONG_REPEAT else cell._replace(text="")
                self._below[column + offset] = rows - 1, shown
        row.links.extend(links)

    def write(self, builder: DocumentBuilder) -> None:
        """Add the rows that hold text."""
        rows = [row for row in self._rows if any(cell.text for cell in row.cells.values())]
        cells = [cell for row in rows for cell in row.cells.items()]
        columns = sorted({column for column, cell in cells if cell.text and not cell.repeats})
        first_is_header = len(rows) > 1 and all(
            cell.is_bold for cell in rows[0].cells.values() if cell.text
        )
        headers: list[_Row] = []
        names: dict[int, str] = {}
        texts = [
            [cell.text if (cell := row.cells.get(column)) else "" for column in columns]
            for row in rows[:SAMPLE]
        ]
        if len(rows) > 2 and not rows[1].names_columns() and header_rows(texts) == 2:
            named = {
                column: _Cell(name, names_column=True, is_bold=True, repeats=False)
                for column, name in zip(columns, names_of(texts[:2], len(columns)), strict=True)
            }
            rows[:2] = [_Row(named, in_head=True, links=[*rows[0].links, *rows[1].links])]
        for number, row in enumerate(rows):
            if row.names_columns() or (number == 0 and first_is_header and len(columns) > 1):
                headers.append(row)
                continue
            if headers:
                names = _write_header(builder, headers, columns)
                headers = []
            self._write_row(builder, row, names, columns)
        if headers:
            _write_header(builder, headers, columns)

    def _write_row(
        self, builder: DocumentBuilder, row: _Row, names: dict[int, str], columns: list[int]
    ) -> None:
        cells = [row.cells.get(column) for column in columns]
        filled = [cell for cell in cells if cell is not None and cell.text and not cell.repeats]
        links = dict.fromkeys(row.links)
        if not names and len(filled) == 2 and filled[0].names_column and not filled[1].names_column:
            # Its header stands beside it, not above.
            pair = [(filled[0].text.rstrip(": ")[:_LONG_HEADER], filled[1].text, "")]
            builder.add_row(pair, labelled=True, links=links)
            return
        if len(filled) == 1:  # a title of the rows below it, or the name of a row without values
            cells = cells[: cells.index(filled[0]) + 1]
        written = []
        for column, cell in zip(columns, cells, strict=False):
            text = "" if cell is None else cell.text
            if cell is not None and cell.repeats:
                self.budget -= len(text)
                text = text if len(text) <= _LONG_REPEAT and self.budget >= 0 else ""
            written.append((names.get(column, "")[:_LONG_HEADER], text, ""))
        builder.add_row(written, links=links)


def is_data_table(table: Element) -> bool:
    """Whether a table shows data, and does not place the parts of a page."""
    if table.get("role").lower() in ("presentation", "none") or not table.text:
        return False
    if table.holds & (HOLDS_HEADING | HOLDS_TABLE):
        return False
    widest = rows = 0
    for row in rows_of(table):
        cells = [cell for cell in row.elements() if not cell.dropped]
        filled = sum(cell.text > 0 for cell in cells)
        widest, rows = max(widest, filled), rows + (filled > 0)
        if not table.holds & HOLDS_HEADER_CELL and any(map(_is_layout, cells)):
            return False
    # A single row is data if it is written as such: with headers or paragraphs in its cells.
    return widest > 1 and (rows > 1 or bool(table.holds & (HOLDS_HEADER_CELL | HOLDS_BLOCKS)))


def _is_layout(cell: Element) -> bool:
    """Whether a cell can't be one of data: it is long, or a bracket of a formula or signature."""
    return cell.text > _LONG_CELL or (cell.text == 1 and flat_text(cell).strip() in "()[]{}")


def is_line(part: Element) -> bool:
    """Whether a row of a layout, or all of it, reads as one line."""
    return not any(inner.holds & HOLDS_BLOCKS for inner in part.elements())


def rows_of(table: Element) -> Iterator[Element]:
    """The rows of a table, not those of tables in it."""
    for part in table.elements():
        if part.tag == "tr":
            yield part
        elif part.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in part.elements() if row.tag == "tr")


def _span(element: Element, name: str) -> int:
    value = element.get(name).strip()
    # More digits than any table needs could cost more than the table.
    return max(1, int(value)) if value.isascii() and value.isdigit() and len(value) < 6 else 1


def _write_header(
    builder: DocumentBuilder, headers: list[_Row], columns: list[int]
) -> dict[int, str]:
    """Write rows of headers as one; gives what they say of each column, one below the other."""
    names: dict[int, str] = {}
    row: list[tuple[str, str, str]] = []
    written = ""
    for column in columns:
        cells = [given.cells[column] for given in headers if column in given.cells]
        names[column] = name = one_line(" ".join(dict.fromkeys(cell.text for cell in cells)))
        spans = all(cell.repeats for cell in cells)
        row.append(("", "" if spans and name == written else name, ""))
        written = name
    links = [link for given in headers for link in given.links]
    builder.add_row(row, header=True, links=dict.fromkeys(links))
    return names
