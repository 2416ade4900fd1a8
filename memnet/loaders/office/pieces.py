"""What office documents consist of before it becomes blocks: texts, and tables of texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from memnet.loaders.document import BlockKind, DocumentBuilder, one_line
from memnet.loaders.office.symbol_fonts import without_private_use

_BLANKS = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r" ?\n\s*")
_NUMERIC = re.compile(r"[\s\d.,:;%$€£¥+\-–−/()]*\d[\s\d.,:;%$€£¥+\-–−/()]*")
BULLET = re.compile(r"[-–—•*▪●■◦‣·➢✓] +(?=\S)")
"""Before an item of a list that is none to the program."""
_MAX_HEADER_CELL = 60
"""Characters: a longer text names no column."""


class Piece(NamedTuple):
    """A text that becomes a block."""

    kind: BlockKind
    text: str
    level: int = 0
    links: tuple[str, ...] = ()
    bold: bool = False
    """Whether all of it is."""


class TableCell(NamedTuple):
    """A cell with what stands in it."""

    content: Sequence["Piece | Table"]
    span: int = 1
    """Columns that it covers."""

    @property
    def text(self) -> str:
        """All its texts."""
        return " ".join(piece.text for piece in self.content if isinstance(piece, Piece))

    @property
    def bold(self) -> bool:
        """Whether it has text, all of it bold."""
        texts = [piece for piece in self.content if isinstance(piece, Piece) and piece.text]
        return bool(texts) and all(piece.bold for piece in texts)

    @property
    def nested(self) -> bool:
        """Whether a table stands in it."""
        return any(isinstance(piece, Table) for piece in self.content)


@dataclass
class Table:
    """A table, in whose rows the cells that reach down from a row above are repeated."""

    rows: list[list[TableCell]] = field(default_factory=list)
    headers: int | None = None
    """Rows at its top that name the columns; None if the document does not say."""


Content: TypeAlias = Iterable[Piece | Table]


def tidy(text: str) -> str:
    """A text with single spaces and line breaks, and none at its ends."""
    return _BREAKS.sub("\n", _BLANKS.sub(" ", without_private_use(text))).strip()


def link_names(target: str) -> tuple[str, ...]:
    """The name of the file that a link leads to; none if it leads out or into the same file."""
    try:
        address = urlsplit(target.replace("\\", "/"))
    except ValueError:
        return ()
    drive = len(address.scheme) == 1  # "C:"
    if (address.scheme and address.scheme != "file" and not drive) or not address.path:
        return ()
    stem = PurePosixPath(unquote(address.path)).stem
    return (stem,) if stem else ()


def opening_heading(content: Sequence[Piece | Table]) -> str:
    """The text of the heading that a document begins with; empty if it begins otherwise."""
    first = next((piece for piece in content if isinstance(piece, Table) or piece.text), None)
    return one_line(first.text) if isinstance(first, Piece) and first.kind == "heading" else ""


def add_content(builder: DocumentBuilder, content: Content, max_title: int) -> None:
    """Add texts and tables as blocks.

    Args:
        builder: of the document.
        content: in the order in which it is read.
        max_title: characters; a longer heading is a paragraph.
    """
    for piece in joined_code(content):
        if isinstance(piece, Table):
            _add_table(builder, piece, max_title)
        elif piece.kind == "heading":
            text = one_line(piece.text)
            kind: BlockKind = "heading" if len(text) <= max_title else "paragraph"
            builder.add(kind, text, level=piece.level, links=piece.links)
        else:
            builder.add(piece.kind, piece.text, level=piece.level, links=piece.links)


def joined_code(content: Content) -> Iterator[Piece | Table]:
    """The same with one piece in the place of lines of code, which are a paragraph each."""
    lines: list[str] = []
    for piece in content:
        if isinstance(piece, Piece) and piece.kind == "code":
            lines.append(piece.text)
            continue
        if lines:
            yield Piece("code", "\n".join(lines))
            lines = []
        yield piece
    if lines:
        yield Piece("code", "\n".join(lines))


def _add_table(builder: DocumentBuilder, table: Table, max_title: int) -> None:
    """Add its rows; what only arranges texts side by side is no table, but these texts."""
    columns = max((sum(bool(cell.text) for cell in row) for row in table.rows), default=0)
    if columns <= 1 or any(cell.nested for row in table.rows for cell in row):
        for row in table.rows:
            for cell in row:
                add_content(builder, cell.content, max_title)
        return
    rows = table.rows
    while table.headers is None and len(rows) > 2 and sum(bool(c.text) for c in rows[0]) == 1:
        for cell in rows[0]:  # a title over all columns
            add_content(builder, cell.content, max_title)
        rows = rows[1:]
    header_rows = _guess_headers(rows) if table.headers is None else table.headers
    names = _column_names(rows[:header_rows])
    for number, row in enumerate(rows):
        cells: list[tuple[str, str, str]] = []
        column = 0
        for cell in row:
            name = names[column] if number >= header_rows and column < len(names) else ""
            cells.append((name, cell.text, ""))
            column += cell.span
        links = dict.fromkeys(
            link
            for cell in row
            for piece in cell.content
            if isinstance(piece, Piece)
            for link in piece.links
        )
        builder.add_row(cells, header=number < header_rows, links=links)


def _column_names(rows: list[list[TableCell]]) -> list[str]:
    """For each column what the rows of headers say of it, from the top down."""
    names: list[list[str]] = []
    for row in rows:
        column = 0
        for cell in row:
            text = one_line(cell.text)
            names += [[] for _ in range(column + cell.span - len(names))]
            for name in names[column : column + cell.span]:
                if text and text not in name:
                    name.append(text)
            column += cell.span
    return [" ".join(name) for name in names]


def _guess_headers(rows: list[list[TableCell]]) -> int:
    """Whether the first row names the columns (1) or not (0).

    It must have a short text in each cell but the corner. What then speaks for it: that it alone is
    bold, that no other row has three columns or more without numbers in it, or a column of numbers
    below a word.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    texts = [one_line(cell.text) for cell in rows[0]]
    filled = texts[1:]
    if not all(filled) or any(
        len(text) > _MAX_HEADER_CELL or _NUMERIC.fullmatch(text) for text in filled
    ):
        return 0
    if all(cell.bold for cell in rows[0] if cell.text):
        return int(not all(cell.bold for cell in rows[1] if cell.text))
    below = [[one_line(cell.text) for cell in row] for row in rows[1:]]
    numbers = any(
        all(len(row) > column and _NUMERIC.fullmatch(row[column]) for row in below)
        for column in range(1, len(texts))
    )
    return int(numbers or (len(texts) >= 3 and len(set(filled)) == len(filled)))
