"""HTML pages: their main content as blocks.

``add`` reads markup into a document that another loader builds: a chapter, a mail.
"""

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from memnet.errors import InputError, Problem
from memnet.io import codec_named, decode_as
from memnet.io import decode as decode_text
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.web.html_blocks import BlockWriter
from memnet.loaders.web.html_content import choose, outer_title, promote_title
from memnet.loaders.web.html_tree import HOLDS_HEADING, Element, flat_text, parse

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""", re.I)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_MIN_TEXT = 20  # characters of a page for each control character: damage leaves a few
_HEADING = re.compile(r"<h[1-6]\b", re.I)

_SUFFIX = re.compile(r" (?:[-|–—·•»«]|::) ")
_WORD = re.compile(r"\w+")
_SITE = re.compile(r"\b(documentation|docs|manual|wiki|wikipedia|handbook|guide|blog)\b", re.I)
_NAMES = {
    name: key
    for key, names in (
        ("author", "author dc.creator dcterms.creator article:author"),
        ("description", "description og:description dc.description"),
        ("keywords", "keywords"),
        ("date", "date dc.date dcterms.date article:published_time dcterms.created"),
    )
    for name in names.split()
}
_MAX_VALUE = 2000  # characters of a value of the metadata


class Page(NamedTuple):
    """What a page says of itself."""

    title: str  # its first heading, or that of its window; empty without both
    metadata: dict[str, Any]  # author, description, date, tags, language


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The main content of a page."""
    builder = DocumentBuilder()
    markup = decode(file.data)
    if _MIN_TEXT * len(_CONTROL.findall(markup)) > len(markup):
        raise InputError("is binary; expected a page as a browser saves it")
    page = add(builder, markup, max_heading=file.max_title)
    if not len(builder):
        raise InputError(
            "holds no text outside of scripts, forms and frames; expected a page as a browser"
            " shows it, save it from there"
        )
    yield file.document(builder, page.title[: file.max_title], page.metadata)


def add(
    builder: DocumentBuilder,
    markup: str,
    *,
    whole: bool = False,
    heading: str = "",
    max_heading: int = 1000,
) -> Page:
    """Add the blocks of a page, or of a piece of one, to a document.

    Args:
        builder: takes them.
        markup: HTML or XHTML, however broken.
        whole: keep all that is shown, for what has no navigation around it, as a mail or a
            chapter; else leave out all that is not the main content.
        heading: what to put above it if it has no heading of its own.
        max_heading: characters; a longer heading becomes a paragraph.
    """
    elements = parse(markup)
    root = choose(elements, whole=whole)
    bare = heading and root.text and not root.holds & HOLDS_HEADING
    if bare and not _promote(elements, heading):
        builder.add("heading", heading, level=1)
    writer = BlockWriter(builder, max_heading=max_heading, budget=len(markup))
    window, metadata = _head(elements)
    above = outer_title(elements, root, window)
    if above:
        builder.add("heading", above, level=1)
    elif not whole:
        promote_title(root, window)
    writer.write(root)
    return Page(_title(window, [above] if above else writer.titles), metadata)


def has_heading(markup: str) -> bool:
    """Whether there is a heading in markup."""
    return bool(_HEADING.search(markup))


def decode(data: bytes) -> str:
    """The text of a page, in the encoding that it declares if that fits."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if not wrong and not text.isascii():
        # What reads as UTF-8 is UTF-8, whatever an old template declares.
        return text
    declared = _DECLARED.search(data[:4096])
    codec = codec_named(declared[1].decode("ascii", "replace")) if declared else ""
    if codec and not codec.startswith("utf-"):
        return decode_as(data, codec, "replace")
    # One damaged character makes no other encoding of a page.
    if not wrong or wrong * 10 < sum(character > "\x7f" for character in text):
        return text
    with suppress(InputError):
        return decode_text(data)
    return data.decode("cp1252", "replace")


def _promote(elements: list[Element], heading: str) -> bool:
    """Make the first text a heading if it is the given one; whether it is."""
    length = len("".join(heading.split()))
    for element in elements:
        if element.text == length and element.tag in ("p", "div"):
            if one_line(flat_text(element)).casefold() == heading.casefold():
                element.tag = "h1"
                return True
            return False
        if 0 < element.text < length and element.tag != "title":
            return False
    return False


def _head(elements: list[Element]) -> tuple[str, dict[str, Any]]:
    """The title of a page's window, and its metadata."""
    window = ""
    metadata: dict[str, Any] = {}
    language = elements[0].get("lang") or elements[0].get("xml:lang")
    if language:
        metadata["language"] = one_line(language)[:_MAX_VALUE]
    for element in elements:
        if element.tag == "title" and not window:
            if element.parent is not None and element.parent.tag in ("head", "body", "html"):
                window = one_line(flat_text(element))
        elif element.tag == "meta":
            name = (element.get("name") or element.get("property")).lower()
            value = one_line(element.get("content"))[:_MAX_VALUE]
            if value and name in _NAMES:
                metadata.setdefault(_NAMES[name], value)
        elif element.get("type") == "application/ld+json":
            for key, value in _linked_data(flat_text(element)):
                metadata.setdefault(key, value)
    if "keywords" in metadata:
        tags = (tag.strip() for tag in metadata.pop("keywords").split(","))
        metadata["tags"] = list(dict.fromkeys(filter(None, tags)))
    return window, metadata


def _linked_data(text: str) -> Iterator[tuple[str, str]]:
    """Author and date of an article by its JSON-LD."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    author = given.get("author")
    author = author[0] if isinstance(author, list) and author else author
    author = author.get("name") if isinstance(author, dict) else author
    date, description = given.get("datePublished"), given.get("description")
    for key, value in (("author", author), ("date", date), ("description", description)):
        if isinstance(value, str) and value.strip():
            yield key, one_line(value)[:_MAX_VALUE]


def _title(window: str, headings: list[str]) -> str:
    """The title of a page by its window's title and its headings of the first level."""
    words = set(_WORD.findall(window.casefold()))
    parts = _SUFFIX.split(window)
    for heading in headings[:1]:
        alone = len(headings) == 1 and not words.isdisjoint(_WORD.findall(heading.casefold()))
        if alone or not window or heading.casefold() in (part.casefold() for part in parts):
            return heading
    while len(parts) > 1 and _SITE.search(parts[-1]):
        # "Page - Site documentation"
        window = window[: window.rindex(parts.pop())].rstrip(" -|–—·•»«:")
    return window
