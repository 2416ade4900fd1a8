"""PowerPoint presentations (.pptx, .ppsx, .pptm): a slide after the other."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.docx_styles import integer
from memnet.loaders.office.list_numbers import letters, roman
from memnet.loaders.office.ooxml import (
    OfficePackage,
    R,
    Relation,
    alternative,
    attribute,
    child,
    children,
    drawing_texts,
)
from memnet.loaders.office.pieces import (
    BULLET,
    Piece,
    Table,
    TableCell,
    add_content,
    link_names,
    tidy,
)
from memnet.loaders.package import local

_DROPPED = frozenset({"dt", "ftr", "sldNum", "hdr"})
"""Placeholders of what stands on each slide alike."""
_TITLES = frozenset({"title", "ctrTitle"})
_LISTS = frozenset({"", "body", "obj"})
"""Placeholders whose paragraphs have bullets unless they say otherwise."""
_UNTITLED = frozenset({"powerpoint presentation", "powerpoint-präsentation", "presentation"})
_TITLE_HEIGHT = 1_200_000
"""In units of 1/914,400 inch from the top of a slide, which is 6,858,000 high."""
_MAX_TITLE = 80
"""Characters of a text that is taken as the title of a slide without one."""
_SECTION_LAYOUTS = frozenset({"title", "secHead"})


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """Titles, texts, tables, diagrams and notes of all slides, in the order they are shown."""
    package = OfficePackage(file.data)
    part, root = package.main("presentation", "a PowerPoint presentation")
    relations = package.relations(part)
    builder = DocumentBuilder()
    problems: list[Problem] = []
    title = ""
    slides = child(root, "sldIdLst")
    for number, entry in enumerate(slides if slides is not None else (), start=1):
        relation = relations.get(entry.get(f"{R}id", ""))
        try:
            slide = package.xml(relation.target) if relation else None
            if relation is None or slide is None:
                raise InputError("is not in the file")
            builder.open(f"slide {number}")
            heading = _Slide(package, relation.target, slide).add(builder, file.max_title)
        except InputError as error:
            problems.append(Problem(f"{file.name}, slide {number}", str(error)))
            continue
        if number == 1:
            title = heading
    if not len(builder):
        if problems:
            raise InputError(f"has no slide that can be read: {problems[0].what}")
        raise InputError("holds no text; expected slides with some")
    metadata = package.properties()
    given = metadata.pop("title", "")
    if given.lower() in _UNTITLED:
        given = ""
    name = title or given or file.title
    yield builder.build(file.name, name[: file.max_title], metadata=metadata)
    yield from problems


@dataclass
class _Counts:
    """Numbers of the list items of a shape, by level."""

    counts: dict[int, int] = field(default_factory=dict)

    def next(self, level: int, kind: str, start: int) -> str:
        """What stands before the next item of a kind such as "arabicPeriod"."""
        for deeper in [other for other in self.counts if other > level]:
            del self.counts[deeper]
        count = self.counts[level] = self.counts.get(level, start - 1) + 1
        number = str(count)
        if kind.startswith("alpha"):
            number = letters(count)
        elif kind.startswith("roman"):
            number = roman(count)
        if "Uc" in kind:
            number = number.upper()
        if kind.endswith("ParenBoth"):
            return f"({number})"
        if kind.endswith("ParenR"):
            return f"{number})"
        return number if kind.endswith("Plain") else f"{number}."

    def end(self, level: int) -> None:
        """A paragraph without a number ends the lists of its level and below."""
        for other in [other for other in self.counts if other >= level]:
            del self.counts[other]


class _Slide:
    """Reads the shapes of a slide."""

    def __init__(self, package: OfficePackage, part: str, root: Element) -> None:
        self._package = package
        self._root = root
        self._relations = package.relations(part)

    def add(self, builder: DocumentBuilder, max_title: int) -> str:
        """Add its title as a heading, then the rest; gives the title."""
        shapes = list(_shapes(child(self._root, "cSld", "spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title, of_title = "", None
        for of_title in [*titles, *_topmost(shapes)]:
            texts = [piece.text for piece in self._texts(child(of_title, "txBody"), "title")]
            title = one_line(" ".join(texts))
            if title:
                break
        if len(title) > _MAX_TITLE and not titles:
            title = ""
        content: list[Piece | Table] = []
        for shape in shapes:
            if not title or shape is not of_title:
                content += self._shape(shape, _placeholder(shape))
        if title:
            content.insert(0, Piece("heading", title, 1 if self._opens_section() else 2))
        content += self._notes()
        add_content(builder, content, max_title)
        return title

    def _opens_section(self) -> bool:
        layout = self._related("slideLayout")
        root = self._package.xml(layout.target) if layout else None
        return attribute(root, "type") in _SECTION_LAYOUTS

    def _related(self, kind: str) -> Relation | None:
        found = (r for r in self._relations.values() if r.kind == kind and not r.external)
        return next(found, None)

    def _notes(self) -> Iterator[Piece]:
        notes = self._related("notesSlide")
        root = self._package.xml(notes.target) if notes else None
        lines = [
            piece.text
            for shape in _shapes(child(root, "cSld", "spTree"))
            if _placeholder(shape) == "body"
            for piece in self._texts(child(shape, "txBody"), "notes")
        ]
        if lines:
            yield Piece("paragraph", "Notes: " + "\n".join(lines))

    def _shape(self, shape: Element, placeholder: str | None) -> Iterator[Piece | Table]:
        if placeholder in _DROPPED:
            return
        if local(shape) == "graphicFrame":
            yield from self._graphic(child(shape, "graphic", "graphicData"))
            return
        # An empty type is that of a placeholder which says no more than its number.
        is_placeholder = child(_nonvisual(shape), "nvPr", "ph") is not None
        role = (placeholder or "") if is_placeholder else "box"
        yield from self._texts(child(shape, "txBody"), role)

    def _graphic(self, data: Element | None) -> Iterator[Piece | Table]:
        for element in data if data is not None else ():
            match local(element):
                case "tbl":
                    yield self._table(element)
                case "chart" | "relIds" as name:
                    relation = self._relations.get(
                        attribute(element, "id" if name == "chart" else "dm") or ""
                    )
                    if relation and not relation.external:
                        for line in drawing_texts(self._package, relation.target):
                            yield Piece("paragraph", line)

    def _table(self, element: Element) -> Table:
        table = Table()
        above: dict[int, TableCell] = {}
        for row in children(element, "tr"):
            cells: list[TableCell] = []
            for column, tag in enumerate(children(row, "tc")):
                if attribute(tag, "hMerge") in ("1", "true"):
                    continue
                if attribute(tag, "vMerge") in ("1", "true") and column in above:
                    cell = above[column]
                else:
                    span = max(1, min(integer(attribute(tag, "gridSpan")), 1000))
                    cell = TableCell(list(self._texts(child(tag, "txBody"), "cell")), span)
                above[column] = cell
                cells.append(cell)
            table.rows.append(cells)
        if attribute(child(element, "tblPr"), "firstRow") in ("1", "true") and len(table.rows) > 1:
            table.headers = 1
        return table

    def _texts(self, body: Element | None, role: str) -> Iterator[Piece]:
        """The paragraphs of a shape.

        Args:
            body: of its text.
            role: the type of its placeholder, or "box", "cell", "title" or "notes".
        """
        counts = _Counts()
        for paragraph in [] if body is None else children(body, "p"):
            properties = child(paragraph, "pPr")
            level = integer(attribute(properties, "lvl"))
            text, links = self._inline(paragraph, "\n" if role != "title" else " ")
            numbered = child(properties, "buAutoNum")
            if not text:
                continue
            if numbered is not None:
                start = integer(attribute(numbered, "startAt")) or 1
                marker = counts.next(level, attribute(numbered, "type") or "", start)
                yield Piece("item", f"{marker} {text}", level, links)
                continue
            counts.end(level)
            typed = BULLET.match(text)
            bulleted = child(properties, "buChar") is not None or (
                role in _LISTS and child(properties, "buNone") is None
            )
            if bulleted or typed:
                yield Piece("item", f"- {text[typed.end() if typed else 0 :]}", level, links)
            else:
                yield Piece("paragraph", text, 0, links)

    def _inline(self, paragraph: Element, line_break: str) -> tuple[str, tuple[str, ...]]:
        parts: list[str] = []
        links: list[str] = []
        for element in _inline_elements(paragraph):
            name = local(element)
            if name == "br":
                parts.append(line_break)
            elif name == "fld" and attribute(element, "type") == "slidenum":
                continue
            else:
                parts += [
                    (text.text or "").replace("\n", " ")
                    for text in element.iter()
                    if local(text) == "t"
                ]
                target = attribute(child(element, "rPr", "hlinkClick"), "id")
                relation = self._relations.get(target or "")
                if relation and relation.external:
                    links += link_names(relation.target)
        return tidy("".join(parts).replace("\v", line_break)), tuple(links)


def _inline_elements(paragraph: Element) -> Iterator[Element]:
    for element in paragraph:
        if local(element) == "AlternateContent":
            yield from _inline_elements(alternative(element))
        elif local(element) not in ("pPr", "endParaRPr"):
            yield element


def _shapes(tree: Element | None) -> Iterator[Element]:
    """All shapes, those of groups in the place of the groups."""
    for element in tree if tree is not None else ():
        match local(element):
            case "grpSp":
                yield from _shapes(element)
            case "AlternateContent":
                yield from _shapes(alternative(element))
            case "sp" | "cxnSp" | "graphicFrame":
                yield element


def _topmost(shapes: list[Element]) -> list[Element]:
    """The shape that stands highest, if it is in the place of titles: one of a slide without."""
    places: list[tuple[int, Element]] = []
    for shape in shapes:
        top = attribute(child(shape, "spPr", "xfrm", "off"), "y")
        if top is not None and child(shape, "txBody") is not None:
            places.append((integer(top), shape))
    places.sort(key=lambda place: place[0])
    return [shape for top, shape in places[:1] if top < _TITLE_HEIGHT]


def _placeholder(shape: Element) -> str | None:
    """The type of the placeholder that a shape is."""
    return attribute(child(_nonvisual(shape), "nvPr", "ph"), "type")


def _nonvisual(shape: Element) -> Element | None:
    """The properties of a shape that tell its role."""
    return next((e for e in shape if local(e).startswith("nv")), None)
