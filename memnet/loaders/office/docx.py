"""Word documents (.docx, .docm, .dotx): made plain, then HTML by mammoth.

mammoth reads runs, links, tables, changes and text in controls. It reads nothing of headers, text
boxes, charts, formulas and outline levels, gathers notes at the end, and knows no numbers of
lists. So these are first written as paragraphs of the main part, in styles that it is told of.
"""

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement
from zipfile import ZipFile

import mammoth

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.markup import PRIVATE, Cell, drawn_rows, names_columns
from memnet.loaders.office.numbering import Numbering, Styles, heading_level, is_on
from memnet.loaders.package import (
    OfficePackage,
    R,
    attribute,
    child,
    children,
    integer,
    local,
    value,
)
from memnet.loaders.web import html

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_DEPTH = 9  # levels of lists
_LIST = [" > ".join(["ul", "li"] * level + ["ul", "li:fresh"]) for level in range(_DEPTH)]
_STYLE_MAP = "\n".join(
    [
        *(f"p.h{level} => h{level}:fresh" for level in range(1, 7)),
        *(f"p.item{level} => {path}" for level, path in enumerate(_LIST)),
        r"p.code => pre:separator('\n')",
        "p.quote => blockquote > p:fresh",
        "r[style-name='Strong'] =>",
    ]
)
_CODE_STYLES = frozenset({"code", "source code", "preformatted text", "macro text", "macro"})
_QUOTE_STYLES = frozenset({"quote", "intense quote", "block text"})
_UNTITLED = frozenset({"word document", "document", "untitled", "dokument", "document1"})
_DROPPED = frozenset(
    "proofErr bookmarkStart bookmarkEnd lastRenderedPageBreak commentRangeStart commentRangeEnd "
    "sectPr tblGrid tblPrEx del moveFrom instrText delText".split()
)
_PROPERTIES = frozenset({"rPr", "pPr", "tcPr", "trPr"})
_READ = frozenset("pStyle numPr outlineLvl rPr b del vertAlign gridSpan vMerge tblHeader".split())
# Of an item of a list that is typed in.
_BULLET = re.compile(r"\s*[-–—•*▪●■◦‣·➢✓\uf0b7\uf0a7\uf0a8\uf0d8][ \t]+(?=\S)")
_MARKER = re.compile(r"<li>((?:<[^<>]*>)*)\ue000([^\ue001]*)\ue001")


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The body with its lists, tables, notes, comments and boxes, between headers and footers."""
    package = OfficePackage(file.data)
    package.check_size()
    part, root = package.main("document", "a Word document")
    plain = _Plain(package, part)
    plain.rewrite(root)
    result = mammoth.convert_to_html(
        _package(root, plain.links),
        style_map=_STYLE_MAP,
        include_embedded_style_map=False,
        include_default_style_map=False,
        convert_image=lambda _image: [],
    )
    markup = _MARKER.sub(lambda found: f'<li data-marker="{found[2]}">{found[1]}', result.value)
    markup = PRIVATE.sub("", markup).replace("\u2011", "-")
    builder = DocumentBuilder()
    html.add(builder, markup, whole=True, max_heading=file.max_title)
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    metadata = package.properties()
    given = metadata.pop("title", "")
    if given.lower() in _UNTITLED or given.startswith("Microsoft Word - "):
        given = ""
    title = one_line(plain.title or given or plain.opening or file.title)
    yield builder.build(file.name, title[: file.max_title], metadata=metadata)
    yield from (Problem(file.name, problem) for problem in plain.problems)


def _package(root: Element, links: dict[str, str]) -> BytesIO:
    """A package of the main part, as rewritten, and the addresses that it links to."""
    relations = Element(f"{_RELATIONS}Relationships")
    for identifier, target in links.items():
        values = {"Id": identifier, "Type": f"{R[1:-1]}/hyperlink", "Target": target}
        SubElement(relations, f"{_RELATIONS}Relationship", values)
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", ElementTree.tostring(root))
        archive.writestr("word/_rels/document.xml.rels", ElementTree.tostring(relations))
    return file


class _Plain:
    """Rewrites the main part of a document as paragraphs that mammoth reads."""

    def __init__(self, package: OfficePackage, part: str) -> None:
        self.title = ""  # of a paragraph in the style of titles
        self.opening: str | None = None  # the heading that the body begins with; else empty
        self._plain = 0  # open parts in which headings are texts: tables of data, notes
        self.problems: list[str] = []
        self._package = package
        self._relations = package.relations(part)
        relations = self._relations.items()
        self.links = {name: one.target for name, one in relations if one.kind == "hyperlink"}
        # For each field that is open whether its result has begun; before it stands its code.
        self._fields: list[bool] = []

        def linked(kind: str) -> list[Element]:
            found = map(package.xml_if_sound, dict.fromkeys(package.related(part, kind)))
            return [root for root in found if root is not None]

        self._styles = Styles(linked("styles"))
        self._numbering = Numbering(linked("numbering"), self._styles)
        self._notes = {
            f"{kind}Reference": {
                attribute(note, "id"): note for root in linked(f"{kind}s") for note in root
            }
            for kind in ("footnote", "endnote", "comment")
        }
        self._around = linked("header"), linked("footer")

    def rewrite(self, root: Element) -> None:
        """Rewrite the document in place."""
        for body in children(root, "body"):
            self._rewrite_children(body)
            headers, footers = (list(self._foreign(parts)) for parts in self._around)
            body[:] = [*headers, *body, *footers]

    def _rewrite_children(self, parent: Element) -> None:
        parent[:] = self._all_rewritten(parent)

    def _all_rewritten(self, elements: Iterable[Element]) -> list[Element]:
        return [new for old in list(elements) for new in self._rewritten(old)]

    def _rewritten(self, element: Element) -> list[Element]:
        """What stands for an element; nothing for what says nothing, as it costs time."""
        match local(element):
            case name if name in _DROPPED:
                return []
            case name if name in _PROPERTIES:
                element[:] = [each for each in element if local(each) in _READ]
                return [element] if len(element) else []
            case "AlternateContent":
                return self._all_rewritten(_newest(element))
            case "drawing" | "pict" | "object":
                return _floating(self._drawn(element))
            case "footnoteReference" | "endnoteReference" | "commentReference" as kind:
                note = self._notes[kind].pop(attribute(element, "id"), _new("none"))
                return _floating(self._note(note))
            case "oMath":
                return [_run(_formula(element))]
            case "ruby":
                return children(child(element, "rubyBase"))
            case "r" if any(
                is_on(child(element, "rPr", name)) for name in ("vanish", "strike", "dstrike")
            ):
                return []  # hidden, or no longer valid
            case "sdt":
                gallery = value(element, "sdtPr", "docPartObj", "docPartGallery")
                is_hint = is_on(child(element, "sdtPr", "showingPlcHdr"))
                if is_hint or gallery == "Table of Contents":
                    return []
                return self._all_rewritten(children(child(element, "sdtContent")))
            case "altChunk":
                self.problems.append("holds another file as a part, which is not read")
            case "fldSimple" | "dir" | "bdo" | "oMathPara":
                return self._all_rewritten(element)
            case "hyperlink":
                element.attrib.pop(f"{_W}anchor", None)
                if attribute(element, "id") not in self.links:
                    element.attrib.clear()
            case "fldChar":
                mark = attribute(element, "fldCharType")
                if mark == "begin":
                    self._fields.append(False)
                elif self._fields and mark == "separate":
                    self._fields[-1] = True
                elif self._fields and mark == "end":
                    self._fields.pop()
                return []
            case "t":
                return [element] if all(self._fields) else []
            case "p":
                return self._paragraph(element)
            case "tbl":
                rows = [list(_within(row, "tc")) for row in _within(element, "tr")]
                is_layout = all(sum(bool(_text(c).strip()) for c in row) < 2 for row in rows)
                is_layout |= any(child(cell, "tbl") is not None for row in rows for cell in row)
                self._plain += not is_layout
                self._rewrite_children(element)
                self._plain -= not is_layout
                return [*self._mark_headers(element), element]
        self._rewrite_children(element)
        if local(element) in ("r", "tr"):
            element.attrib.clear()
        return [element]

    def _paragraph(self, element: Element) -> list[Element]:
        properties = child(element, "pPr")
        style = value(properties, "pStyle")
        chain = self._styles.chain(style)
        name = chain[0].name
        if name == "toc heading" or name.startswith("toc "):
            return []  # a table of contents says nothing that the headings don't
        self._rewrite_children(element)
        words = one_line(_text(element))
        marker, depth = self._numbering.next(properties, style) if words else ("", 0)
        level = heading_level(chain)
        if child(properties, "outlineLvl") is not None:
            level = integer(value(properties, "outlineLvl"), default=9)
        is_heading = bool(words) and level < _DEPTH and not self._plain
        if words and self.opening is None:
            self.opening = words if is_heading else ""
        kind = ""
        if is_heading:
            if name == "title":
                self.title = self.title or words
            kind = f"h{min(level + 1, 6)}"
            marker = marker.removeprefix("-")
            _insert(element, f"{marker} " if marker else "")
        elif name in _CODE_STYLES:
            kind = "code"
        elif name in _QUOTE_STYLES and not marker:
            kind = "quote"
        else:
            typed = _BULLET.match("".join(_characters(part) for part in element.iter()))
            if typed and not marker:
                _cut(element, typed.end())
                marker = "-"
            if marker:
                kind = f"item{min(depth, _DEPTH - 1)}"
                _insert(element, f"\ue000{marker}\ue001")
        of_end = children(properties, "rPr")  # whether it is deleted
        named = [Element(f"{_W}pStyle", {f"{_W}val": kind})] if kind else []
        content = [each for each in element if local(each) != "pPr"]
        return [_new("p", _new("pPr", *named, *of_end), *content)]

    def _mark_headers(self, table: Element) -> list[Element]:
        """Mark the row of headers, where the document does not and it looks like one.

        Returns:
            Paragraphs of rows above it that are titles over all columns, which it takes out.
        """
        rows = [row for row in _within(table, "tr") if child(row, "trPr", "del") is None]
        if len(rows) < 2 or is_on(child(rows[0], "trPr", "tblHeader")):
            return []
        titles: list[Element] = []
        look = child(table, "tblPr", "tblLook")
        flags = attribute(look, "val")
        is_flagged = re.fullmatch("[0-9A-Fa-f]{1,8}", flags) and int(flags, 16) & 0x20
        first = attribute(look, "firstRow") or ("1" if is_flagged else "0")
        styled = self._styles.chain(value(table, "tblPr", "tblStyle"))
        if first not in ("1", "true", "on") or not any(style.first_row for style in styled):
            cells = [[_cell(cell) for cell in _within(row, "tc")] for row in rows]
            while len(cells) > 2 and sum(bool(cell.text) for cell in cells[0]) == 1:
                titles += [part for cell in _within(rows[0], "tc") for part in children(cell, "p")]
                table[:] = [row for row in table if row is not rows[0]]
                rows, cells = rows[1:], cells[1:]
            if not names_columns(cells):
                return titles
        properties = children(child(rows[0], "trPr"))
        rows[0].insert(0, _new("trPr", *properties, _new("tblHeader")))  # the first one counts
        return titles

    def _drawn(self, drawing: Iterable[Element]) -> Iterator[Element]:
        """Paragraphs of text boxes, charts and diagrams; no text of a box is read twice."""
        for element in drawing:
            match local(element):
                case "txbxContent":
                    self._rewrite_children(element)
                    yield from element
                case "AlternateContent":
                    yield from self._drawn(_newest(element))
                case "chart" | "relIds" as name:
                    identifier = attribute(element, "id" if name == "chart" else "dm")
                    if relation := self._relations.get(identifier):
                        root = self._package.xml_if_sound(relation.target)
                        yield from _table([] if root is None else drawn_rows(root))
                case _:
                    yield from self._drawn(element)

    def _note(self, note: Element) -> list[Element]:
        """Paragraphs of a note or a comment, which follow the one that refers to it first."""
        content = list(self._foreign([note]))
        if local(note) == "comment" and content:
            author = attribute(note, "author")
            _insert(content[0], f"Comment ({author}): " if author else "Comment: ")
        return content

    def _foreign(self, parents: Iterable[Element]) -> Iterator[Element]:
        """The content of other parts, whose links have ids of their own."""
        seen: set[str] = set()
        for parent in parents:
            for element in parent.iter():
                element.attrib.pop(f"{R}id", None)
            self._plain += 1
            self._rewrite_children(parent)
            self._plain -= 1
            for element in parent:
                words = one_line(_text(element))
                if any(map(str.isalpha, words)) and words not in seen:
                    seen.add(words)
                    yield element


def _new(name: str, *content: Element) -> Element:
    element = Element(f"{_W}{name}")
    element[:] = content
    return element


def _run(text: str) -> Element:
    run = _new("r", _new("t"))
    run[0].text = text
    return run


def _insert(paragraph: Element, text: str) -> None:
    if text:
        paragraph.insert(int(child(paragraph, "pPr") is not None), _run(text))


def _characters(part: Element) -> str:
    """What an element within a run writes itself."""
    return (part.text or "") if local(part) == "t" else "\t" if local(part) == "tab" else ""


def _cut(paragraph: Element, length: int) -> None:
    """Remove characters at the start of a paragraph."""
    for part in paragraph.iter():
        text = _characters(part)
        if local(part) == "t":
            part.text = text[length:]
        length = max(0, length - len(text))


def _newest(element: Element) -> list[Element]:
    """Of contents for several versions the newest."""
    return children(next((e for e in element if local(e) in ("Choice", "Fallback")), None))


def _text(element: Element) -> str:
    """All texts within an element, but not those that float beside it."""
    parts: list[str] = []
    pending = [element]
    while pending:
        current = pending.pop()
        name = local(current)
        if name == "t":
            parts.append(current.text or "")
        elif name in ("tab", "br", "p", "cr"):
            parts.append(" ")
        if name not in ("pict", "del", "moveFrom", "instrText", "pPr"):
            pending += reversed(current)
    return "".join(parts)


def _floating(content: Iterable[Element]) -> list[Element]:
    """What follows the paragraph that it stands in."""
    box = _new("pict", *content)
    return [box] if len(box) else []


def _table(rows: list[list[str]]) -> Iterator[Element]:
    """The rows of a chart: titles as paragraphs, the values as a table with headers."""
    lines: list[Element] = []
    for first, *others in rows:
        if others:
            cells = [_new("tc", _new("p", _run(text))) for text in (first, *others)]
            marks = [] if lines or first else [_new("trPr", _new("tblHeader"))]
            lines.append(_new("tr", *marks, *cells))
        else:
            yield _new("p", _run(first))
    if lines:
        yield _new("tbl", *lines)


def _cell(cell: Element) -> Cell:
    """The text of a cell, and whether all of it is bold."""
    runs = [run for run in cell.iter(f"{_W}r") if _text(run).strip()]
    bold = bool(runs) and all(is_on(child(run, "rPr", "b")) for run in runs)
    return Cell(one_line(_text(cell)), bold)


def _formula(element: Element) -> str:
    if local(element) == "t":
        return element.text or ""
    if local(element) == "f":
        return "/".join(map(_formula, children(element, "num") + children(element, "den")))
    return "".join(map(_formula, element))


def _within(parent: Element, name: str) -> Iterator[Element]:
    """Children with a name, also those in marks of insertion."""
    for element in parent:
        if local(element) == name:
            yield element
        elif local(element) in ("customXml", "ins", "moveTo"):
            yield from _within(element, name)
