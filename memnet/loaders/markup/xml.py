"""XML of documents and records: known vocabularies by their readers, others as they are nested."""

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from operator import attrgetter
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile, format_by_name
from memnet.loaders.package import children, local, parse_xml
from memnet.loaders.web import html

_FORMATS = {"FictionBook": "fb2", "document": "opendocument", "html": "html"}  # by root elements
_DOCBOOK = frozenset("article book chapter part reference refentry section set".split())
_HEADINGS = frozenset("caption head heading title".split())
_PARAGRAPHS = frozenset("p par para".split())
_MAX_CELL = 100  # characters of a cell of a table; longer ones are paragraphs
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\dA-Za-z_]+")


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The document of a file, in the vocabulary that its root element tells."""
    root = parse_xml(file.data, file.name)
    known = _format_of(root)
    if known is not None:
        yield from format_by_name(known).loader()(file)
        return
    builder = DocumentBuilder()
    page = html.add(builder, "".join(_html(root, 0)), whole=True, max_heading=file.max_title)
    if not len(builder):
        raise InputError("holds no text between its tags; expected a document or records")
    yield file.document(builder, page.title[: file.max_title])


def _format_of(root: Element) -> str | None:
    """The name of the format whose vocabulary a document is of; None for any other."""
    name = local(root)
    if name == "article" and children(root, "front"):
        return "jats"
    if name in _DOCBOOK:
        return "docbook" if any(local(one) == "para" for one in root.iter()) else None
    if name == "document" and not root.tag.startswith("{urn:oasis:names:tc:opendocument"):
        return None
    return _FORMATS.get(name)


def _html(element: Element, level: int) -> Iterator[str]:
    """HTML of an element: a paragraph, a list, a table of its children, or all that is in it.

    Neighbours of one name that hold values alone are the rows of a table.
    """
    inside = list(element)
    level += any(local(one) in _HEADINGS for one in inside)
    if _holds_text(element) or not inside:
        text = _text(element)
        if text and local(element) in _HEADINGS:
            yield f"<h{min(level, 6)}>{text}</h{min(level, 6)}>"
        elif text:
            yield f"<p>{text}</p>"
        return
    for _, neighbours in groupby(inside, attrgetter("tag")):
        same = list(neighbours)
        name = local(same[0])
        records = [_values(one) for one in same]
        if name == "item" and not any(map(list, same)):
            yield f"<ul>{''.join(f'<li>{_text(one)}' for one in same)}</ul>"
        elif all(len(one) > 1 for one in records):
            yield from _table(name, records)
        else:
            for one in same:
                yield from _html(one, level)


def _holds_text(element: Element) -> bool:
    """Whether text stands between its children, as in a paragraph with emphasis."""
    parts = (element.text, *(one.tail for one in element))
    return any(part and not part.isspace() for part in parts)


def _text(element: Element) -> str:
    return escape(one_line("".join(element.itertext())))


def _values(element: Element) -> dict[str, str]:
    """The attributes and children of a record by their names; empty for what is none."""
    if _holds_text(element) or any(len(one) or local(one) in _PARAGRAPHS for one in element):
        return {}
    found = {key.rpartition("}")[2]: escape(one_line(value)) for key, value in element.items()}
    for one in element:
        found[local(one)] = ", ".join(filter(None, (found.get(local(one)), _text(one))))
    return found


def _table(name: str, records: list[dict[str, str]]) -> Iterator[str]:
    """A table of records of one name, or paragraphs where they hold long texts."""
    columns = list(dict.fromkeys(column for one in records for column in one))
    titles = {column: " ".join(_WORDS.findall(column)).capitalize() for column in columns}
    if all(len(cell) < _MAX_CELL for one in records for cell in one.values()):
        yield f"<table><caption>{' '.join(_WORDS.findall(name)).capitalize()}</caption><tr>"
        yield from (f"<th>{titles[column]}</th>" for column in columns)
        for one in records:
            yield "</tr><tr>"
            yield from (f"<td>{one.get(column, '')}</td>" for column in columns)
        yield "</tr></table>"
        return
    for one in records:
        for column, value in one.items():
            heading = column in _HEADINGS
            yield f"<h3>{value}</h3>" if heading else f"<p>{titles[column]}: {value}</p>"
