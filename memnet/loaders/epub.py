"""EPUB books: their chapters in reading order, through the reader of HTML."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from memnet.errors import InputError, Problem, first_line
from memnet.loaders import html
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.html_tree import flat_text, parse

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Obfuscate fonts, and no text."""
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/xml", ""})
_BYTES_A_CHARACTER = 8
"""Markup and text: more than that is no book, but a bomb or pictures in the markup."""
_METADATA = {"creator": "author", "language": "language", "date": "date", "publisher": "publisher"}
_MAX_VALUE = 2000
"""Characters of a value of the metadata."""


class _Package(NamedTuple):
    """What the package document of a book says."""

    title: str
    metadata: dict[str, Any]
    chapters: list[str]
    """Paths of its pages in reading order, without the table of contents."""
    contents: str
    """Path of the table of contents; empty without one."""


class _Archive:
    """The files of a book, read up to a limit."""

    def __init__(self, data: bytes, limit: int) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (
            zipfile.BadZipFile,
            ValueError,
            EOFError,
            OverflowError,
            NotImplementedError,
        ) as bad:
            raise InputError(
                f"this is no EPUB, or a damaged one ({first_line(bad)}); expected a zip archive"
                " of XHTML pages, get the file again"
            ) from None
        self._left = limit
        self._names = {name.casefold(): name for name in reversed(self._zip.namelist())}

    def find(self, path: str) -> str:
        """A path as the archive spells it; empty if it is not there."""
        return self._names.get(path.casefold(), "")

    def packages(self) -> list[str]:
        """Paths of package documents."""
        return [name for name in self._zip.namelist() if name.lower().endswith(".opf")]

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            InputError: it is not there, damaged or encrypted, or the limit is reached.
        """
        name = self.find(path)
        if not name:
            raise InputError("the book names this file but does not contain it")
        try:
            with self._zip.open(name) as file:
                data = file.read(self._left + 1)
        except RuntimeError:
            raise InputError(
                "the book is encrypted with a password; unpack it and read its pages"
            ) from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError):
            raise InputError("this part of the book is damaged; get the file again") from None
        if len(data) > self._left:
            raise InputError("the book unpacks to more than the limit; split it")
        self._left -= len(data)
        return data


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The chapters of a book as one document."""
    archive = _Archive(file.data, file.max_characters * _BYTES_A_CHARACTER)
    path = _package_path(archive)
    package = _read_package(archive, path)
    _check_rights(archive, package.chapters)
    titles = _chapter_titles(archive, package.contents)
    builder = DocumentBuilder()
    for chapter in package.chapters:
        try:
            markup = html.decode(archive.read(chapter))
        except InputError as error:
            yield Problem(f"{file.name}/{chapter}", str(error))
            continue
        title = titles.get(chapter, "")
        if title or html.has_heading(markup):
            builder.open()
        html.add(builder, markup, whole=True, heading=title, max_heading=file.max_title)
    if not len(builder):
        raise InputError(
            "this book holds no text; expected XHTML chapters, not pictures of pages:"
            " recognise its text first"
        )
    yield builder.build(
        file.name, package.title[: file.max_title] or file.title, metadata=package.metadata
    )


def _xml(data: bytes) -> ElementTree.Element:
    """The root of an XML document that declares no entities.

    Raises:
        InputError: it does, or it is broken.
    """
    text = html.decode(data)
    if "<!ENTITY" in text:
        # Nested entities grow to any size, and external ones read files.
        raise InputError("the book declares XML entities, which no book needs; it is refused")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - declares no entities
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(
            f"the list of the book's chapters can't be read ({first_line(error)});"
            " get the file again"
        ) from None


def _local(element: ElementTree.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _package_path(archive: _Archive) -> str:
    if archive.find(_CONTAINER):
        for element in _xml(archive.read(_CONTAINER)).iter():
            path = element.get("full-path", "")
            if _local(element) == "rootfile" and archive.find(path):
                return path
    packages = archive.packages()
    if not packages:
        raise InputError(
            "this zip archive is no EPUB: it names no package document (.opf);"
            " give it the suffix .zip to read the files in it"
        )
    return packages[0]


def _read_package(archive: _Archive, path: str) -> _Package:
    folder = posixpath.dirname(path)
    items: dict[str, tuple[str, str, str]] = {}
    chapters: list[str] = []
    values: dict[str, list[str]] = {}
    contents = ""
    for element in _xml(archive.read(path)).iter():
        name = _local(element)
        if name == "item":
            target = _resolve(folder, element.get("href", ""))
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
    return _Package(title, metadata, list(dict.fromkeys(chapters)), contents)


def _resolve(folder: str, link: str) -> str:
    """The path in the archive that a link leads to."""
    return posixpath.normpath(posixpath.join(folder, unquote(link.partition("#")[0])))


def _check_rights(archive: _Archive, chapters: list[str]) -> None:
    """Refuse a book whose chapters can't be read without its seller's software."""
    if not archive.find(_ENCRYPTION):
        return
    encrypted: set[str] = set()
    for entry in _xml(archive.read(_ENCRYPTION)).iter():
        if _local(entry) != "EncryptedData":
            continue
        algorithm, target = "", ""
        for part in entry.iter():
            if _local(part) == "EncryptionMethod" and not algorithm:
                algorithm = part.get("Algorithm", "")
            elif _local(part) == "CipherReference":
                target = unquote(part.get("URI", ""))
        if algorithm not in _FONT_ALGORITHMS:
            encrypted.add(posixpath.normpath(target))
    if not encrypted.isdisjoint(chapters):
        raise InputError(
            "this book is encrypted by its seller (DRM), its text can't be read;"
            " expected a book without"
        )


def _chapter_titles(archive: _Archive, path: str) -> dict[str, str]:
    """Titles of chapters by their paths, of the table of contents."""
    if not archive.find(path):
        return {}
    folder = posixpath.dirname(path)
    titles: dict[str, str] = {}
    try:
        data = archive.read(path)
        found = _ncx_titles(data) if path.lower().endswith(".ncx") else _nav_titles(data)
        for link, title in found:
            # A chapter's sections follow it, with places of their own.
            titles.setdefault(_resolve(folder, link), one_line(title))
    except InputError:
        # The text can be read without.
        return {}
    return titles


def _nav_titles(data: bytes) -> Iterator[tuple[str, str]]:
    for element in parse(html.decode(data)):
        if element.tag == "a" and element.get("href"):
            yield element.get("href"), flat_text(element)


def _ncx_titles(data: bytes) -> Iterator[tuple[str, str]]:
    title = ""
    for element in _xml(data).iter():
        name = _local(element)
        if name == "text":
            title = element.text or ""
        elif name == "content" and title:
            yield element.get("src", ""), title
