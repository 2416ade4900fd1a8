"""Facts of tables: the cells of a row, about the one in its key column."""

from collections.abc import Iterator

from memnet.errors import Problem
from memnet.ingest.formats import ParsedFacts, PlacedFact
from memnet.loaders.document import Block, ParsedDocument, one_line
from memnet.types import Fact

# Columns that a problem names.
_MAX_NAMED = 20


def table_facts(
    document: ParsedDocument, key: str | None, max_characters: int
) -> Iterator[ParsedFacts | Problem]:
    """The facts of all tables, as one source; and a problem for what makes none.

    The subject of a row is its cell in the column ``key``, the relations are the headers of the
    other columns, the objects their cells. Each fact has the span of its row. Rows without a key,
    cells without a header and tables without the column make no facts.

    Args:
        document: with rows that have cells.
        key: header of the column of subjects, in any case; None for the first column of each table.
        max_characters: of a subject, a relation or an object; longer ones are left out.
    """
    facts: list[PlacedFact] = []
    headers: dict[str, None] = {}
    has_key = False
    too_long = 0
    for rows in _tables(document):
        names = dict.fromkeys(cell.header for row in rows for cell in row.cells if cell.header)
        headers.update(names)
        column = _subject_column(rows, names, key)
        if column is None or not names:
            continue
        has_key = True
        for row in rows:
            text = document.text[row.start : row.end]
            for fact in _facts(document.text, row, column):
                if max(map(len, (fact.subject, fact.relation, fact.object))) > max_characters:
                    too_long += 1
                else:
                    facts.append(PlacedFact(fact, text, row.start, row.end))
    if too_long:
        yield Problem(
            document.name,
            f"has {too_long:,} table cell{'s' * (too_long != 1)} of more than "
            f"{max_characters:,} characters, which make no facts; shorten them",
        )
    if facts:
        yield ParsedFacts(document.name, tuple(facts), document.origin)
    elif not headers:
        yield Problem(
            document.name,
            "has no table whose first row names its columns, expected one to make facts of; add "
            "such a row, or read it without --facts",
        )
    elif not has_key:
        known = ", ".join(repr(name) for name in list(headers)[:_MAX_NAMED])
        yield Problem(document.name, f"has no column {key!r}, expected one of {known}")
    elif not too_long:
        yield Problem(
            document.name, "has no row with a key and another cell, expected some; fill them"
        )


def _tables(document: ParsedDocument) -> Iterator[list[Block]]:
    """The rows of each table, without those of its headers.

    A table ends where something else follows, or rows that share no column with it.
    """
    rows: list[Block] = []
    seen: set[str] = set()
    for block in document.blocks:
        headers = {cell.header for cell in block.cells}
        other = block.kind != "row" or block.opens or headers.isdisjoint(seen)
        if other and rows:
            yield rows
            rows, seen = [], set()
        if block.kind == "row" and block.cells:
            rows.append(block)
            seen |= headers
    if rows:
        yield rows


def _subject_column(rows: list[Block], names: dict[str, None], key: str | None) -> str | None:
    """The header of the column of subjects; None if the table does not have it."""
    if key is None:
        # Empty cells are left out of a row: the fullest row shows which column is the first.
        return max(rows, key=lambda row: len(row.cells)).cells[0].header
    wanted = one_line(key).casefold()
    return next((name for name in names if name.casefold() == wanted), None)


def _facts(text: str, row: Block, column: str) -> Iterator[Fact]:
    subject = next((cell for cell in row.cells if cell.header == column), None)
    if subject is None:
        return
    for cell in row.cells:
        if cell.header and cell.header != column:
            yield Fact(
                subject=text[subject.start : subject.end],
                relation=cell.header,
                object=text[cell.start : cell.end],
            )
