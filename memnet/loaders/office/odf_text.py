"""Texts, lists and tables of OpenDocument files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from memnet.loaders.document import BlockKind, one_line
from memnet.loaders.office.docx_styles import integer
from memnet.loaders.office.odf_styles import OdfStyles
from memnet.loaders.office.ooxml import attribute, child
from memnet.loaders.office.pieces import BULLET, Piece, Table, TableCell, link_names, tidy
from memnet.loaders.package import local

_CONTAINERS = frozenset(
    """section frame text-box custom-shape rect ellipse circle line connector polygon polyline
    path g caption regular-polygon measure numbered-paragraph note-body index-body index-title
    alphabetical-index bibliography user-index a""".split()
)
"""Elements whose texts stand where they stand; a table of contents is not among them."""
_DRAWINGS = _CONTAINERS - {"a"}
"""Those that float beside the paragraph in which they are anchored."""
_DROPPED = frozenset({"annotation", "ruby-text", "script", "tracked-changes", "title", "desc"})
_ROW_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})
_MAX_REPEATED = 100
"""Times that a row or a cell with text may say that it is repeated."""


@dataclass
class _Line:
    """A paragraph while it is read."""

    parts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    after: list[Element] = field(default_factory=list)
    """Notes and frames, which follow it."""

    @property
    def text(self) -> str:
        return tidy("".join(self.parts))


class OdfText:
    """Reads the elements of a body in order."""

    def __init__(self, styles: OdfStyles) -> None:
        self.title = ""
        """Of a paragraph in the style of titles."""
        self._styles = styles
        self._numbers: dict[str, dict[int, int]] = {}
        """By the style and by the id of a list how far it has counted on each level."""

    def content(self, parent: Iterable[Element]) -> Iterator[Piece | Table]:
        """Texts and tables of a part of the document."""
        for element in parent:
            name = local(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "h":
                yield from self._heading(element, None)
            elif name == "list":
                yield from self._outer_list(element)
            elif name == "table":
                yield self._table(element)
            elif name in _CONTAINERS and attribute(element, "display") != "none":
                yield from self.content(element)

    def _paragraph(self, element: Element) -> Iterator[Piece | Table]:
        line = self._line(element)
        names = self._styles.names(attribute(element, "style-name") or "")
        text, links = line.text, tuple(line.links)
        if "title" in names and text:
            self.title = self.title or one_line(text)
            yield Piece("heading", text, 1, links)
        elif "preformatted text" in names:
            yield Piece("code", "".join(line.parts).rstrip())
        elif typed := BULLET.match(text):
            yield Piece("item", f"- {text[typed.end() :]}", 0, links)
        else:
            kind: BlockKind = "quote" if "quotations" in names else "paragraph"
            yield Piece(kind, text, 0, links, "table heading" in names)
        yield from self._following(line)

    def _following(self, line: _Line) -> Iterator[Piece | Table]:
        for element in line.after:
            yield from self.content([element])

    def _heading(self, element: Element, marker: str | None) -> Iterator[Piece | Table]:
        line = self._line(element)
        level = max(1, min(integer(attribute(element, "outline-level")), 10))
        if line.text:
            unnumbered = attribute(element, "is-list-header") == "true"
            number = marker or (None if unnumbered else self._styles.heading_number(level))
            text = line.text if number in (None, "-") else f"{number} {line.text}"
            yield Piece("heading", text, level, tuple(line.links))
        yield from self._following(line)

    def _outer_list(self, element: Element) -> Iterator[Piece | Table]:
        """A list that stands in no other; all those within it count together."""
        style = attribute(element, "style-name") or ""
        before = attribute(element, "continue-list")
        if before is None and attribute(element, "continue-numbering") == "true":
            before = style
        numbers = self._numbers.get(before, {}) if before is not None else {}
        self._numbers[style] = self._numbers[attribute(element, "id") or ""] = numbers
        yield from self._list(element, style, 0, numbers)

    def _list(
        self, element: Element, style: str, level: int, numbers: dict[int, int]
    ) -> Iterator[Piece | Table]:
        style = attribute(element, "style-name") or style
        for item in element:
            yield from self._item(item, style, level, numbers)

    def _item(
        self, item: Element, style: str, level: int, numbers: dict[int, int]
    ) -> Iterator[Piece | Table]:
        """One item with the paragraphs and lists that stand in it."""
        lines: list[str] = []
        links: list[str] = []
        after: list[_Line] = []
        pending = local(item) == "list-item"
        marker: str | None = None

        def finished() -> Iterator[Piece | Table]:
            text = "\n".join(lines)
            if text and marker:
                yield Piece("item", f"{marker} {text}", level, tuple(links))
            elif text:
                yield Piece("paragraph", text, 0, tuple(links))
            lines.clear()
            links.clear()
            for line in after:
                yield from self._following(line)
            after.clear()

        for element in item:
            name = local(element)
            if name in ("p", "h") and pending:
                start = attribute(item, "start-value")
                marker = self._styles.marker(
                    style, level, numbers, None if start is None else integer(start)
                )
                pending = False
            if name == "p":
                line = self._line(element)
                if line.text:
                    lines.append(line.text)
                links += line.links
                after.append(line)
                continue
            yield from finished()
            if name == "h":
                yield from self._heading(element, marker)
            elif name == "list":
                yield from self._list(element, style, level + 1, numbers)
            else:
                yield from self.content([element])
            marker = None if name == "h" else marker
        yield from finished()

    def _line(self, element: Element) -> _Line:
        line = _Line()
        self._inline(element, line)
        return line

    def _inline(self, parent: Element, line: _Line) -> None:
        """The text of an element, whose line breaks are blanks."""
        parts = line.parts
        if parent.text:
            parts.append(parent.text.replace("\n", " "))
        for element in parent:
            name = local(element)
            if name == "s":
                parts.append(" " * max(1, min(integer(attribute(element, "c")), 100)))
            elif name == "tab":
                parts.append("\t")
            elif name == "line-break":
                parts.append("\n")
            elif name == "note":
                body = child(element, "note-body")
                if body is not None:
                    line.after.append(body)
            elif name in _DRAWINGS:
                line.after.append(element)
            elif name not in _DROPPED:
                if name == "a":
                    line.links += link_names(attribute(element, "href") or "")
                self._inline(element, line)
            if element.tail:
                parts.append(element.tail.replace("\n", " "))

    def _table(self, element: Element) -> Table:
        table = Table()
        hanging: dict[int, tuple[int, TableCell]] = {}
        """By column the cells that reach down, and the rows that are left to them."""
        headers = 0
        for row, is_header in _rows(element, False):
            cells = list(self._cells(row, hanging))
            filled = any(cell.text for cell in cells)
            repeated = integer(attribute(row, "number-rows-repeated")) if filled else 1
            table.rows += [cells] * max(1, min(repeated, _MAX_REPEATED))
            headers += is_header
        if 0 < headers < len(table.rows):
            table.headers = headers
        return table

    def _cells(
        self, row: Element, hanging: dict[int, tuple[int, TableCell]]
    ) -> Iterator[TableCell]:
        column = 0
        for element in row:
            name = local(element)
            if name not in ("table-cell", "covered-table-cell"):
                continue
            repeated = max(1, integer(attribute(element, "number-columns-repeated")))
            if name == "covered-table-cell":
                for covered in range(column, column + min(repeated, _MAX_REPEATED)):
                    left, above = hanging.pop(covered, (0, None))
                    if above is not None:
                        yield above
                        if left > 1:
                            hanging[covered] = (left - 1, above)
                column += repeated
                continue
            content = list(self.content(element))
            span = max(1, min(integer(attribute(element, "number-columns-spanned")), 1000))
            down = integer(attribute(element, "number-rows-spanned"))
            # Empty cells to the end of a sheet of a thousand columns are no cells.
            cell = TableCell(content, span)
            for _ in range(min(repeated, _MAX_REPEATED)):
                yield cell
                if down > 1:
                    hanging[column] = (down - 1, cell)
                # The columns that it covers follow as covered cells.
                column += 1


def _rows(table: Element, header: bool) -> Iterator[tuple[Element, bool]]:
    """All rows, each with whether it is one of the headers."""
    for element in table:
        name = local(element)
        if name == "table-row":
            yield element, header
        elif name in _ROW_GROUPS:
            yield from _rows(element, header or name == "table-header-rows")
