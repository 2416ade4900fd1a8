"""Word documents (.docx, .docm, .dotx)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.docx_styles import BODY_LEVEL, Numbering, Styles, integer, number
from memnet.loaders.office.ooxml import (
    OfficePackage,
    R,
    alternative,
    attribute,
    child,
    children,
    drawing_texts,
    is_on,
)
from memnet.loaders.office.pieces import (
    BULLET,
    Content,
    Piece,
    Table,
    TableCell,
    add_content,
    link_names,
    opening_heading,
    tidy,
)
from memnet.loaders.office.symbol_fonts import symbol
from memnet.loaders.package import local

_DROPPED = frozenset({"del", "moveFrom", "rPr", "pPr", "rt", "instrText", "delText", "sectPr"})
"""Deleted text, properties, readings above characters, and the code of fields."""
_CODE_STYLES = frozenset({"code", "source code", "preformatted text", "macro text", "macro"})
_UNTITLED = frozenset({"word document", "document", "untitled", "dokument", "document1"})
"""Titles that programs give."""


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text of the body with its lists, tables, notes and text boxes."""
    package = OfficePackage(file.data)
    part, root = package.main("document", "a Word document")
    reader = _Reader(package, part)
    content = list(reader.content(body)) if (body := child(root, "body")) is not None else []
    builder = DocumentBuilder()
    add_content(builder, content, file.max_title)
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    metadata = package.properties()
    title = _title(reader.title, metadata, content) or file.title
    yield builder.build(file.name, title[: file.max_title], metadata=metadata)
    for problem in reader.problems:
        yield Problem(file.name, problem)


def _title(shown: str, metadata: dict[str, Any], content: list[Piece | Table]) -> str:
    given = metadata.pop("title", "")
    generic = given.lower() in _UNTITLED or given.startswith("Microsoft Word - ")
    return shown or ("" if generic else given) or opening_heading(content)


@dataclass
class _Text:
    """A paragraph while it is read."""

    parts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    after: list[Element] = field(default_factory=list)
    """Text boxes and notes, which follow the paragraph."""
    drawings: list[str] = field(default_factory=list)
    bold: int = 0
    plain: int = 0
    """Characters that are bold and that are not."""


class _Reader:
    """Reads the elements of the main part in order."""

    def __init__(self, package: OfficePackage, part: str) -> None:
        self.title = ""
        """Of a paragraph in the style of titles."""
        self.problems: list[str] = []
        self._package = package
        self._relations = package.relations(part)

        def linked(kind: str) -> Element | None:
            found = [r.target for r in self._relations.values() if r.kind == kind]
            return package.xml_if_sound(found[0]) if found else None

        self._styles = Styles(linked("styles"))
        self._numbering = Numbering(linked("numbering"), self._styles)
        self._notes = {
            kind: {attribute(note, "id"): note for note in linked(f"{kind}s") or ()}
            for kind in ("footnote", "endnote")
        }
        self._fields: list[bool] = []
        """For each field that is open, whether its result has begun; before it stands its code."""
        self._carried: _Text | None = None
        """The text of a paragraph whose end is deleted: it goes on with the next."""
        self._notes_read: set[int] = set()

    def content(self, parent: Element) -> Iterator[Piece | Table]:
        """Texts and tables of a part of the document."""
        for element in parent:
            match local(element):
                case "p":
                    yield from self._paragraph(element)
                case "tbl":
                    yield self._table(element)
                case "sdt":
                    gallery = child(element, "sdtPr", "docPartObj", "docPartGallery")
                    if attribute(gallery, "val") != "Table of Contents" and not _is_hint(element):
                        yield from self.content(element)
                case "AlternateContent":
                    yield from self.content(alternative(element))
                case "altChunk":
                    self.problems.append("holds another file as a part, which is not read")
                case "sdtContent" | "customXml" | "ins" | "moveTo" | "smartTag" | "txbxContent":
                    yield from self.content(element)

    def _paragraph(self, element: Element) -> Content:
        properties = child(element, "pPr")
        text, self._carried = self._carried or _Text(), None
        self._inline(element, text)
        if child(properties, "rPr", "del") is not None:
            self._carried = text
            return
        style = attribute(child(properties, "pStyle"), "val") or ""
        chain = self._styles.chain(style)
        words = tidy("".join(text.parts))
        marker, depth = self._number(properties, style)
        bold = bool(text.bold or chain[0].bold) and not text.plain
        level = number(child(properties, "outlineLvl"))
        if level is None:
            level = self._styles.heading_level(chain)
        name = chain[0].name
        if not words or name == "toc heading" or name.startswith("toc "):
            pass  # a table of contents says nothing that the headings don't
        elif level is not None and level < BODY_LEVEL:
            if name == "title" and not self.title:
                self.title = one_line(words)
            heading = words if marker in (None, "-") else f"{marker} {words}"
            yield Piece("heading", heading, level + 1, tuple(text.links), bold)
        elif name in _CODE_STYLES:
            yield Piece("code", "".join(text.parts).rstrip())
        elif not marker and (bullet := BULLET.match(words)):  # typed in
            yield Piece("item", f"- {words[bullet.end() :]}", 0, tuple(text.links), bold)
        elif marker:
            yield Piece("item", f"{marker} {words}", depth, tuple(text.links), bold)
        else:
            quoted = name in ("quote", "intense quote", "block text")
            kind: BlockKind = "quote" if quoted else "paragraph"
            yield Piece(kind, words, 0, tuple(text.links), bold)
        for line in text.drawings:
            yield Piece("paragraph", line)
        for following in text.after:
            yield from self.content(following)

    def _number(self, properties: Element | None, style: str) -> tuple[str | None, int]:
        """What stands before a paragraph of a list, and the level of the list."""
        given = child(properties, "numPr")
        number_id = attribute(child(given, "numId"), "val")
        level = number(child(given, "ilvl"))
        chain = self._styles.chain(style)
        if number_id is None:
            of_style = next((found for found in chain if found.number_id is not None), None)
            if of_style is None:
                return None, 0
            number_id = of_style.number_id or ""
            if level is None:
                level = self._numbering.level_of_style(number_id, style)
            if level is None:
                level = of_style.number_level
        level = level or 0
        return self._numbering.next(number_id, level), level

    def _inline(self, parent: Element, text: _Text) -> None:
        for element in parent:
            name = local(element)
            if name == "r":
                self._run(element, text)
            elif name == "hyperlink":
                relation = self._relations.get(element.get(f"{R}id", ""))
                if relation:
                    text.links += link_names(relation.target)
                self._inline(element, text)
            elif name == "t":  # of a formula
                text.parts.append(element.text or "")
            elif name == "f":  # a fraction
                self._inline_joined(children(element, "num") + children(element, "den"), text)
            elif name == "AlternateContent":
                self._inline(alternative(element), text)
            elif name == "sdt":
                if not _is_hint(element):
                    self._inline(element, text)
            elif name not in _DROPPED:
                self._inline(element, text)

    def _inline_joined(self, parts: list[Element], text: _Text) -> None:
        for number_, part in enumerate(parts):
            if number_:
                text.parts.append("/")
            self._inline(part, text)

    def _run(self, run: Element, text: _Text) -> None:
        properties = child(run, "rPr")
        if is_on(child(properties, "vanish")):
            return
        before = len(text.parts)
        self._run_content(run, text)
        length = sum(len(part.strip()) for part in text.parts[before:])
        if is_on(child(properties, "b")):
            text.bold += length
        else:
            text.plain += length

    def _run_content(self, run: Element, text: _Text) -> None:
        for element in run:
            name = local(element)
            if name == "fldChar":
                self._field(attribute(element, "fldCharType"))
            elif not all(self._fields):
                continue
            elif name == "t":
                text.parts.append((element.text or "").replace("\n", " "))
            elif name in ("tab", "ptab"):
                text.parts.append("\t")
            elif name in ("br", "cr"):
                text.parts.append("\n")
            elif name == "noBreakHyphen":
                text.parts.append("-")
            elif name == "sym":
                text.parts.append(
                    symbol(attribute(element, "font") or "", attribute(element, "char") or "")
                )
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._notes[name.removesuffix("Reference")].get(attribute(element, "id"))
                if note is not None and id(note) not in self._notes_read:
                    self._notes_read.add(id(note))  # a note that refers to itself ends here
                    text.after.append(note)
            elif name == "AlternateContent":
                self._run_content(alternative(element), text)
            elif name == "ruby":
                self._inline(element, text)
            elif name in ("drawing", "pict", "object"):
                self._drawing(element, text)

    def _field(self, mark: str | None) -> None:
        if mark == "begin":
            self._fields.append(False)
        elif mark == "separate" and self._fields:
            self._fields[-1] = True
        elif mark == "end" and self._fields:
            self._fields.pop()

    def _drawing(self, drawing: Element, text: _Text) -> None:
        """Text boxes, charts and diagrams; no text of a box within another is read twice."""
        for element in drawing:
            name = local(element)
            if name == "txbxContent":
                text.after.append(element)
            elif name == "AlternateContent":
                self._drawing(alternative(element), text)
            elif name in ("chart", "relIds"):
                identifier = attribute(element, "id" if name == "chart" else "dm") or ""
                relation = self._relations.get(identifier)
                if relation and not relation.external:
                    text.drawings += drawing_texts(self._package, relation.target)
            else:
                self._drawing(element, text)

    def _table(self, element: Element) -> Table:
        properties = child(element, "tblPr")
        table = Table()
        above: dict[int, TableCell] = {}
        marked = 0
        for row in _rows(element):
            row_properties = child(row, "trPr")
            if child(row_properties, "del") is not None:
                continue
            before = integer(attribute(child(row_properties, "gridBefore"), "val"))
            cells: list[TableCell] = [TableCell((), before)] if 0 < before < 100 else []
            column = before
            for tag in _wrapped(row, "tc"):
                cell_properties = child(tag, "tcPr")
                span = max(1, min(number(child(cell_properties, "gridSpan")) or 1, 1000))
                merge = child(cell_properties, "vMerge")
                if merge is not None and attribute(merge, "val") != "restart" and column in above:
                    cell = above[column]
                else:
                    cell = TableCell(list(self.content(tag)), span)
                    self._carried = None
                above[column] = cell
                cells.append(cell)
                column += span
            if is_on(child(row_properties, "tblHeader")) and marked == len(table.rows):
                marked += 1
            table.rows.append(cells)
        if marked and marked < len(table.rows):
            table.headers = marked
        elif len(table.rows) > 1 and self._first_row_differs(properties):
            table.headers = 1
        return table

    def _first_row_differs(self, properties: Element | None) -> bool:
        """Whether the table's style sets its first row off, as it does headers."""
        look = child(properties, "tblLook")
        first = attribute(look, "firstRow")
        if first is None:
            try:
                first = str(int(attribute(look, "val") or "0", 16) >> 5 & 1)
            except ValueError:
                return False
        style = attribute(child(properties, "tblStyle"), "val") or ""
        chain = self._styles.chain(style) if style else []
        return first in ("1", "true", "on") and any(found.first_row for found in chain)


def _is_hint(control: Element) -> bool:
    """Whether a content control shows what to fill in."""
    return is_on(child(control, "sdtPr", "showingPlcHdr"))


def _rows(table: Element) -> Iterator[Element]:
    return _wrapped(table, "tr")


def _wrapped(parent: Element, name: str) -> Iterator[Element]:
    """Children of a name, also those in content controls and marks of insertion."""
    for element in parent:
        found = local(element)
        if found == name:
            yield element
        elif found == "AlternateContent":
            yield from _wrapped(alternative(element), name)
        elif found in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _wrapped(element, name)
