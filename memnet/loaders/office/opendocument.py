"""OpenDocument texts and presentations (.odt, .ott, .odp, .otp, and flat ones)."""

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.odf_package import read_metadata, read_parts, style_groups
from memnet.loaders.office.odf_styles import OdfStyles
from memnet.loaders.office.odf_text import OdfText
from memnet.loaders.office.ooxml import attribute, child, children
from memnet.loaders.office.pieces import Content, Piece, add_content, opening_heading
from memnet.loaders.package import local

_DROPPED_CLASSES = frozenset({"date-time", "header", "footer", "page-number", "page"})
"""Of frames of a slide: what stands on each alike."""


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text with its lists, tables and notes; of a presentation a slide after the other."""
    content, styles, meta = read_parts(file.data)
    body = child(content, "body")
    builder = DocumentBuilder()
    text = child(body, "text")
    slides = child(body, "presentation")
    reader = OdfText(OdfStyles([*style_groups(styles), *style_groups(content)]))
    metadata = read_metadata(meta)
    given = metadata.pop("title", "")
    if text is not None:
        pieces = list(reader.content(text))
        add_content(builder, pieces, file.max_title)
        shown = reader.title or given or opening_heading(pieces)
    elif slides is not None:
        shown = _add_slides(builder, reader, slides, file.max_title) or given
    else:
        kinds = "" if body is None else ", ".join(map(local, body))
        raise InputError(
            f"holds {kinds or 'nothing'}, expected an OpenDocument text or presentation; give it "
            "the suffix of what it is"
        )
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    title = one_line(shown or file.title)[: file.max_title]
    yield builder.build(file.name, title, metadata=metadata)


def _add_slides(builder: DocumentBuilder, reader: OdfText, slides: Element, max_title: int) -> str:
    """Add all slides; gives the title of the first."""
    first = ""
    for number, page in enumerate(children(slides, "page"), start=1):
        builder.open(f"slide {number}")
        title, content = _slide(reader, page)
        if title:
            builder.add("heading", title, level=2)
        add_content(builder, content, max_title)
        if number == 1:
            first = title
    return first


def _slide(reader: OdfText, page: Element) -> tuple[str, Content]:
    title = ""
    content: list[Any] = []
    for shape in page:
        role = attribute(shape, "class") or ""
        if role in _DROPPED_CLASSES or attribute(shape, "placeholder") == "true":
            continue
        if local(shape) == "notes":
            lines = [
                piece.text
                for frame in shape
                if attribute(frame, "class") == "notes"
                and attribute(frame, "placeholder") != "true"
                for piece in reader.content([frame])
                if isinstance(piece, Piece)
            ]
            if lines:
                content.append(Piece("paragraph", "Notes: " + "\n".join(lines)))
            continue
        pieces = list(reader.content([shape]))
        if role == "title" and not title:
            title = one_line(
                " ".join(p.text.removeprefix("- ") for p in pieces if isinstance(p, Piece))
            )
        elif role == "subtitle":
            content += [
                p._replace(kind="paragraph", text=p.text.removeprefix("- "))
                if isinstance(p, Piece) and p.kind == "item"
                else p
                for p in pieces
            ]
        else:
            content += pieces
    return title, content
