"""Presentations (.pptx, .ppsx, .pptm), read with python-pptx: one slide after the other."""

import re
from collections.abc import Iterator
from html import escape
from io import BytesIO
from typing import Any
from xml.parsers import expat
from zipfile import ZipFile

from pptx.package import Package as Presentation
from pptx.parts.slide import SlidePart

from memnet.errors import InputError, Problem, first_line
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.markup import BULLET, PRIVATE, drawn_rows, list_item, table_markup
from memnet.loaders.office.numbering import written
from memnet.loaders.package import OfficePackage, R, integer, parse_xml
from memnet.loaders.web import html

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_EMPTY = b"""<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main">
<p:cSld><p:spTree/></p:cSld></p:sld>"""
_DROPPED = ("dt", "ftr", "sldNum", "hdr")  # placeholders of what stands on each slide alike
_TITLES = ("title", "ctrTitle")
_LISTS = ("", "body", "obj")  # placeholders whose paragraphs have bullets unless they say otherwise
_SECTION_LAYOUTS = ("title", "secHead")
_UNTITLED = ("powerpoint presentation", "powerpoint-präsentation", "presentation")
_TITLE_HEIGHT = 1_200_000  # from the top of a slide that is 6,858,000 units high
_MAX_TITLE = 80  # characters of a text that is taken as the title of a slide without one
_SHOWN = re.compile("/(slides|notesSlides|charts|diagrams)/")  # parts whose damage is told


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """Titles, texts, tables, charts, diagrams and notes of all slides, as they are shown."""
    package = OfficePackage(file.data)
    package.main("presentation", "a PowerPoint presentation")
    parts, damaged = _sound_parts(package)
    try:
        main = Presentation.open(parts).presentation_part
        identifiers = [entry.rId for entry in main.presentation.slides.element]
    except (KeyError, ValueError, AttributeError, SyntaxError) as error:  # lxml's is a SyntaxError
        raise InputError(
            f"has parts that don't belong together ({first_line(error)}); save it again"
        ) from error
    builder = DocumentBuilder()
    problems: list[Problem] = []
    title = ""
    for number, identifier in enumerate(identifiers, start=1):
        try:
            builder.open(f"slide {number}")
            part = main.related_part(identifier)
            if problem := damaged.get(str(part.partname).lstrip("/")):
                raise problem
            if not isinstance(part, SlidePart):
                raise InputError("is not a slide")
            heading, markup = _slide(part.slide)
        except (KeyError, AttributeError, ValueError, SyntaxError, InputError) as error:
            problems.append(Problem(f"{file.name}, slide {number}", first_line(error)))
            continue
        html.add(builder, PRIVATE.sub("", markup), whole=True, max_heading=file.max_title)
        title = heading if number == 1 else title
    if not len(builder):
        if problems:
            raise InputError(f"has no slide that can be read: {problems[0].what}")
        raise InputError("holds no text; expected slides with some")
    metadata = package.properties()
    given = metadata.pop("title", "")
    name = title or ("" if given.lower() in _UNTITLED else given) or file.title
    yield builder.build(file.name, name[: file.max_title], metadata=metadata)
    yield from problems


def _sound_parts(package: OfficePackage) -> tuple[BytesIO, dict[str, InputError]]:
    """A package with empty parts where pictures and damaged parts are; what is wrong with these."""
    damaged: dict[str, InputError] = {}
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name in package:
            data = b""
            if name.endswith((".xml", ".rels")):
                try:
                    data = package.markup(name) or b""
                    expat.ParserCreate(namespace_separator=" ").Parse(data, True)
                    if _SHOWN.search(name):
                        parse_xml(data, name)
                except (InputError, expat.ExpatError, ValueError, LookupError) as error:
                    damaged[name] = InputError(f"has a damaged part ({first_line(error)})")
                    data = _EMPTY
            archive.writestr(name, data)
    return file, damaged


def _slide(slide: Any) -> tuple[str, str]:
    """The title of a slide, and its HTML."""
    shapes = list(_shapes(slide.shapes))
    titled = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    named = ((one_line(shape.text_frame.text), shape) for shape in [*titled, *_topmost(shapes)])
    title, of_title = next((found for found in named if found[0]), ("", None))
    if len(title) > _MAX_TITLE and not titled:
        title = ""
    level = 1 if slide.slide_layout.element.get("type") in _SECTION_LAYOUTS else 2
    parts = [f"<h{level}>{escape(title)}</h{level}>"] if title else []
    parts += [_shape(shape) for shape in shapes if not title or shape is not of_title]
    for newest in slide.shapes.element.xpath("./*[local-name()='AlternateContent']/*[1]"):
        parts.append(_paragraphs(slide.part, newest))  # such as a formula
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        lines = [one_line(each.text) for each in slide.notes_slide.notes_text_frame.paragraphs]
        if any(lines):
            parts.append(f"<p>Notes: {'<br>'.join(escape(line) for line in lines if line)}</p>")
    return title, "".join(parts)


def _shapes(shapes: Any) -> Iterator[Any]:
    """All shapes, those of groups in the place of the groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _placeholder(shape: Any) -> str | None:
    """The type of the placeholder that a shape is, empty for the common one; None for a box."""
    found = shape.element.xpath(".//p:nvPr/p:ph")
    return (found[0].get("type") or "") if found else None


def _topmost(shapes: list[Any]) -> list[Any]:
    """The shape that stands highest, if it is in the place of titles: one of a slide without."""
    placed = [shape for shape in shapes if shape.has_text_frame and shape.top is not None]
    highest = min(placed, key=lambda shape: shape.top, default=None)
    return [highest] if highest and highest.top < _TITLE_HEIGHT else []


def _shape(shape: Any) -> str:
    role = _placeholder(shape)
    if role in _DROPPED:
        return ""
    if shape.has_text_frame:
        return _paragraphs(shape.part, shape.element, has_bullets=role in _LISTS)
    if getattr(shape, "has_table", False):
        return _table(shape)
    parts = []
    for element in shape.element.iter("{*}chart", "{*}relIds"):
        if identifier := element.get(f"{R}id") or element.get(f"{R}dm"):
            part = shape.part.related_part(identifier)
            parts.append(table_markup(drawn_rows(parse_xml(part.blob, str(part.partname)))))
    return "".join(parts)


def _table(shape: Any) -> str:
    rows = list(shape.element.iter(f"{_A}tr"))
    parts = []
    for row in rows:
        tag = "th" if shape.table.first_row and row is rows[0] and len(rows) > 1 else "td"
        parts.append("<tr>")
        for cell in row.iterchildren(f"{_A}tc"):
            if not {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}:
                spans = cell.get("gridSpan", "1"), cell.get("rowSpan", "1")
                parts.append(f'<{tag} colspan="{escape(spans[0])}" rowspan="{escape(spans[1])}">')
                parts.append(f"{_paragraphs(shape.part, cell)}</{tag}>")
        parts.append("</tr>")
    return f"<table>{''.join(parts)}</table>"


def _paragraphs(part: Any, parent: Any, *, has_bullets: bool = False) -> str:
    """The paragraphs of a shape, or of a cell of its table."""
    parts = []
    counts: dict[int, int] = {}
    for paragraph in parent.iter(f"{_A}p"):
        properties = paragraph.find(f"{_A}pPr")
        marks = {} if properties is None else {child.tag: child for child in properties}
        level = 0 if properties is None else integer(properties.get("lvl", ""))
        markup = "".join(_run(part, run) for run in paragraph)
        if not markup.strip():
            continue
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if (numbered := marks.get(f"{_A}buAutoNum")) is not None:
            start = integer(numbered.get("startAt", ""), default=1)
            counts[level] = counts.get(level, start - 1) + 1
            marker = _number(counts[level], numbered.get("type", ""))
            parts.append(list_item(marker, markup, level))
            continue
        counts.pop(level, None)
        typed = BULLET.match(markup)
        is_item = f"{_A}buChar" in marks or (has_bullets and f"{_A}buNone" not in marks)
        if typed or is_item:
            parts.append(list_item("-", markup[typed.end() if typed else 0 :], level))
        else:
            parts.append(f"<p>{markup}</p>")
    return "".join(parts)


def _run(part: Any, run: Any) -> str:
    """What an element of a paragraph shows, and where it links to."""
    if run.tag == f"{_A}br":
        return "<br>"
    if run.tag in (f"{_A}pPr", f"{_A}endParaRPr") or run.get("type") == "slidenum":
        return ""
    text = "".join(str(each.text or "") for each in run.iter() if str(each.tag).endswith("}t"))
    markup = escape(text).replace("\v", "<br>")
    for link in run.iter(f"{_A}hlinkClick"):
        relation = part.rels.get(link.get(f"{R}id"))
        if relation is not None and relation.is_external:
            return f'<a href="{escape(relation.target_ref)}">{markup}</a>'
    return markup


def _number(count: int, kind: str) -> str:
    """What stands before an item of a kind such as "arabicPeriod"."""
    number = written(count, kind)
    if kind.endswith("ParenBoth"):
        return f"({number})"
    if kind.endswith("ParenR"):
        return f"{number})"
    return number if kind.endswith("Plain") else f"{number}."
