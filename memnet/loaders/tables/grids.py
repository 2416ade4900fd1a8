"""Sheets of cells, whatever program they are of: the tables that stand in them."""

from collections.abc import Iterable, Iterator

from memnet.loaders.document import DocumentBuilder
from memnet.loaders.tables.data_tables import Row, TableWriter, kind_of

_MAX_REGION = 100_000  # rows between empty ones that are looked at together for tables side by side


def add_sheet(
    builder: DocumentBuilder, name: str, rows: Iterable[Row], max_characters: int, left: int = 0
) -> None:
    """Add a sheet: its name as a heading, then its tables.

    Args:
        builder: of the document.
        name: of the sheet.
        rows: from the top down; empty ones may be left out.
        max_characters: of the whole text.
        left: the column that the rows begin with.

    Raises:
        InputError: the text becomes longer than ``max_characters``.
    """

    def place(row: int, first: int, last: int) -> str:
        at = f"{name}!{column_name(first)}{row + 1}"
        return at if first == last else f"{at}:{column_name(last)}{row + 1}"

    opened = False
    writer = TableWriter(builder, place, max_characters)
    for region in _regions(rows):
        if not opened:
            builder.open(name)
            builder.add("heading", name, level=1)
            opened = True
        for first, table in _side_by_side(region):
            writer.table(table, left + first)


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


def column_name(column: int) -> str:
    """0 as A, 25 as Z, 26 as AA."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name
