"""EPUB books: their chapters in reading order, through the reader of HTML."""

from collections.abc import Iterator
from posixpath import normpath
from typing import Any
from urllib.parse import unquote

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.package import Package, local, parse_xml, resolve
from memnet.loaders.web import html
from memnet.loaders.web.html_tree import flat_text, parse

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# They obfuscate fonts, and no text.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/xml", ""})
_METADATA = {"creator": "author", "language": "language", "date": "date", "publisher": "publisher"}
_MAX_VALUE = 2000  # characters of a value of the metadata


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The chapters of a book as one document."""
    package = Package(file.data)
    name, metadata, chapters, contents = _read_contents(package, _package_document(package))
    _check_rights(package, chapters)
    titles = _chapter_titles(package, contents)
    builder = DocumentBuilder()
    for chapter in chapters:
        where = f"{file.name}/{chapter}"
        try:
            data = package.read(chapter)
        except InputError as error:
            yield Problem(where, str(error))
            continue
        if data is None:
            yield Problem(where, "the book names this page but does not contain it")
            continue
        markup = html.decode(data)
        title = titles.get(chapter, "")
        if title or html.has_heading(markup):
            builder.open()
        html.add(builder, markup, whole=True, heading=title, max_heading=file.max_title)
    if not len(builder):
        raise InputError(
            "holds no text; expected chapters of XHTML, not pictures of pages:"
            " recognise their text first"
        )
    yield file.document(builder, name[: file.max_title], metadata)


def _package_document(package: Package) -> str:
    """The name of the part that lists the pages of a book."""
    container = package.xml(_CONTAINER)
    for element in () if container is None else container.iter():
        path = element.get("full-path", "")
        if local(element) == "rootfile" and path in package:
            return path
    found = next((part for part in package if part.lower().endswith(".opf")), "")
    if not found:
        raise InputError(
            "is a zip archive without the list of pages (.opf) of an EPUB; name it .zip, and the"
            " files in it are read"
        )
    return found


def _read_contents(package: Package, part: str) -> tuple[str, dict[str, Any], list[str], str]:
    """The title and metadata of a book, and paths, from its package document.

    Those of its pages in reading order, without the table of contents; and that of the table, empty
    without one.
    """
    root = package.xml(part)
    items: dict[str, tuple[str, str, str]] = {}
    chapters: list[str] = []
    values: dict[str, list[str]] = {}
    contents = ""
    for element in () if root is None else root.iter():
        name = local(element)
        if name == "item":
            target = resolve(part, element.get("href", ""))
            kind, properties = element.get("media-type", ""), element.get("properties", "")
            items[element.get("id", "")] = target, kind.lower(), properties
            if "nav" in properties.split() or (not contents and kind.endswith("dtbncx+xml")):
                contents = target
        elif name == "itemref":
            target, kind, properties = items.get(element.get("idref", ""), ("", "", ""))
            if target and kind in _PAGES and "nav" not in properties.split():
                chapters.append(target)
        elif "elements/1" in element.tag and element.text:
            values.setdefault(name, []).append(one_line(element.text)[:_MAX_VALUE])
    metadata: dict[str, Any] = {
        key: ", ".join(values[name]) if key == "author" else values[name][0]
        for name, key in _METADATA.items()
        if any(values.get(name, ()))
    }
    if values.get("subject"):
        metadata["tags"] = list(dict.fromkeys(filter(None, values["subject"])))
    title = next(iter(values.get("title", ())), "")
    return title, metadata, list(dict.fromkeys(chapters)), contents


def _check_rights(package: Package, chapters: list[str]) -> None:
    """Refuse a book whose chapters can't be read without its seller's software."""
    root = package.xml(_ENCRYPTION)
    encrypted: set[str] = set()
    for entry in () if root is None else root.iter():
        if local(entry) != "EncryptedData":
            continue
        algorithm, target = "", ""
        for part in entry.iter():
            if local(part) == "EncryptionMethod" and not algorithm:
                algorithm = part.get("Algorithm", "")
            elif local(part) == "CipherReference":
                target = unquote(part.get("URI", ""))
        if algorithm not in _FONT_ALGORITHMS:
            encrypted.add(normpath(target))
    if not encrypted.isdisjoint(chapters):
        raise InputError(
            "is encrypted by its seller (DRM), so that its text can't be read; expected a book"
            " without such protection"
        )


def _chapter_titles(package: Package, part: str) -> dict[str, str]:
    """Titles of pages by their parts, of the table of contents."""
    titles: dict[str, str] = {}
    try:
        data = package.read(part) or b""
        # The first one is the chapter; its sections follow, with headings of their own.
        if not part.lower().endswith(".ncx"):
            for link in parse(html.decode(data)):
                if link.tag == "a" and link.get("href"):
                    titles.setdefault(resolve(part, link.get("href")), one_line(flat_text(link)))
            return titles
        title = ""
        for element in parse_xml(data, part).iter():
            name = local(element)
            if name == "text":
                title = element.text or ""
            elif name == "content" and title:
                titles.setdefault(resolve(part, element.get("src", "")), one_line(title))
    except InputError:
        return {}  # the text can be read without
    return titles
