"""OpenDocument texts and presentations (.odt, .ott, .odp, .otp, and flat ones)."""

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.odf_styles import OdfStyles
from memnet.loaders.odf_text import OdfText
from memnet.loaders.ooxml import attribute, child, children, keyword_list
from memnet.loaders.package import (
    Package,
    check_not_encrypted_odf,
    check_not_legacy,
    local,
    parse_xml,
)
from memnet.loaders.pieces import Content, Piece, add_content, opening_heading

_DROPPED_CLASSES = frozenset({"date-time", "header", "footer", "page-number", "page"})
"""Of frames of a slide: what stands on each alike."""
_METADATA = {
    "title": "title",
    "initial-creator": "author",
    "subject": "subject",
    "description": "description",
    "language": "language",
    "creation-date": "created",
    "date": "modified",
}
"""Names in ``metadata`` of the elements of the metadata."""


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text with its lists, tables and notes; of a presentation a slide after the other."""
    content, styles, meta = _roots(file.data)
    body = child(content, "body")
    builder = DocumentBuilder()
    text = child(body, "text")
    slides = child(body, "presentation")
    reader = OdfText(OdfStyles([*_style_groups(styles), *_style_groups(content)]))
    metadata = _metadata(meta)
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


def _roots(data: bytes) -> tuple[Element, Element | None, Element | None]:
    """The roots of the content, the styles and the metadata; in a flat document all one."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        root = parse_xml(data, "document")
        return root, root, root
    check_not_legacy(data)
    package = Package(data)
    content = package.read("content.xml")
    if content is None:
        raise InputError(
            "is a zip package without a content.xml, expected an OpenDocument text or "
            "presentation; give it the suffix of what it is"
        )
    check_not_encrypted_odf(package)
    return (
        parse_xml(content, "content.xml"),
        package.xml_if_sound("styles.xml"),
        package.xml_if_sound("meta.xml"),
    )


def _style_groups(root: Element | None) -> Iterator[Element]:
    for element in root if root is not None else ():
        if local(element) in ("styles", "automatic-styles"):
            yield element


def _metadata(root: Element | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    keywords: list[str] = []
    meta = child(root, "meta")
    for element in meta if meta is not None else ():
        text = one_line(element.text or "")
        name = _METADATA.get(local(element))
        if name and text:
            found[name] = text
        elif local(element) == "keyword":
            keywords += keyword_list(text)
        elif local(element) == "creator" and text:
            found.setdefault("author", text)
    if keywords:
        found["keywords"] = list(dict.fromkeys(keywords))
    return found


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
