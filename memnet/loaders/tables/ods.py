"""OpenDocument spreadsheets (.ods, .ots, .fods): a sheet after the other."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.docx_styles import integer
from memnet.loaders.office.odf_package import read_metadata, read_parts
from memnet.loaders.office.odf_styles import OdfStyles
from memnet.loaders.office.odf_text import OdfText
from memnet.loaders.office.ooxml import attribute, child, children
from memnet.loaders.office.pieces import Piece
from memnet.loaders.package import local
from memnet.loaders.tables.data_tables import Row
from memnet.loaders.tables.grids import add_sheet

_MAX_REPEATED = 100  # times that a row or a cell with text may say that it is repeated
# Characters of a merged cell that is taken as the name of its rows, not as a remark on them.
_MAX_HANGING = 80
_MAX_EMPTY = 1000  # empty cells, after which no more are looked for in a row
_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """All sheets, with a block for each row that names its columns."""
    content, _, meta = read_parts(file.data)
    spreadsheet = child(content, "body", "spreadsheet")
    if spreadsheet is None:
        raise InputError(
            "is not a spreadsheet, expected one in the format of OpenDocument; give it the suffix "
            "of what it is"
        )
    builder = DocumentBuilder()
    reader = OdfText(OdfStyles(()))
    for sheet in children(spreadsheet, "table"):
        name = attribute(sheet, "name") or ""
        add_sheet(builder, name, _rows(reader, sheet), file.max_characters)
    if not len(builder):
        raise InputError("holds no cells with text; expected a workbook with some")
    metadata = read_metadata(meta)
    title = metadata.pop("title", "") or file.title
    yield builder.build(file.name, title[: file.max_title], metadata=metadata)


def _rows(reader: OdfText, sheet: Element) -> Iterator[Row]:
    """Its rows that are not empty, with the text of merged cells in each row that they cover."""
    number = 0
    # By column the rows that are left to a cell which reaches down, and its text.
    hanging: dict[int, tuple[int, str]] = {}
    for element in _row_elements(sheet):
        repeated = max(1, integer(attribute(element, "number-rows-repeated")))
        row = _row(reader, element, hanging)
        if any(row):
            for again in range(min(repeated, _MAX_REPEATED)):
                yield number + again, row
        number += repeated


def _row_elements(table: Element) -> Iterator[Element]:
    for element in table:
        if local(element) == "table-row":
            yield element
        elif local(element) in _GROUPS:
            yield from _row_elements(element)


def _row(reader: OdfText, element: Element, hanging: dict[int, tuple[int, str]]) -> list[str]:
    row: list[str] = []
    empty = 0  # cells since the last one with text: those at the end of a row are thousands
    for cell in element:
        name = local(cell)
        if name not in ("table-cell", "covered-table-cell"):
            continue
        repeated = max(1, integer(attribute(cell, "number-columns-repeated")))
        column = len(row) + empty
        text = _text(reader, cell)
        if name == "covered-table-cell":
            left, above = hanging.pop(column, (0, ""))
            text = above
            if left > 1:
                hanging[column] = (left - 1, above)
        down = integer(attribute(cell, "number-rows-spanned"))
        if down > 1 and 0 < len(text) <= _MAX_HANGING:
            hanging[column] = (down - 1, text)
        if text:
            row += [""] * empty + [text] * min(repeated, _MAX_REPEATED)
            empty = 0
        else:
            empty += repeated
            if empty > _MAX_EMPTY:
                break
    return row


def _text(reader: OdfText, cell: Element) -> str:
    """What is shown in a cell; of a date the same in any language."""
    day = attribute(cell, "date-value")
    if day:
        return day.removesuffix("T00:00:00").replace("T", " ")[:19]
    pieces = reader.content(cell)
    return one_line(" ".join(piece.text for piece in pieces if isinstance(piece, Piece)))
