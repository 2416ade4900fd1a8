"""Zip packages of XML parts (Office, OpenDocument, EPUB), unpacked within limits."""

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from memnet.errors import InputError, first_line
from memnet.loaders.document import one_line

# Bytes of one part when unpacked: some ten times the markup of the longest document; and of all
# parts that are read.
MAX_PART = 256 * 1024 * 1024
MAX_PACKAGE = 2 * MAX_PART
MAX_DEPTH = 200  # elements within each other: documents have about 50, and readers of them recurse
PROTECTED = (
    "is protected with a password; expected a file that opens without one: save it without its "
    "password"
)
ENCRYPTED = 0x1  # flag of a member of a zip file
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LEGACY = {  # what an OLE2 file is, by the name of one of its streams
    "WordDocument": "is a document of Word 97-2003 (.doc), which is not read; save it as .docx",
    "PowerPoint Document": (
        "is a presentation of PowerPoint 97-2003 (.ppt), which is not read; save it as .pptx"
    ),
    "Workbook": "is a workbook of Excel 97-2003; rename it to .xls to have it read",
}
# What the zip library raises: damage, an unknown compression, a password.
BROKEN = (BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
# Elements of the core properties: keys of a document's metadata.
_PROPERTIES = {
    "creator": "author",
    **{same: same for same in "title subject description category language".split()},
    **{same: same for same in "keywords created modified".split()},
}
# The same of OpenDocument; its "creator" is the last author, "keyword" comes once for each.
_OPEN_DOCUMENT = {
    **{same: same for same in "title subject description language".split()},
    "initial-creator": "author",
    "creation-date": "created",
    "date": "modified",
}


class Package:
    """A zip file in memory; raises InputError if it is not one, or protected."""

    def __init__(self, data: bytes) -> None:
        check_not_legacy(data)
        try:
            self._zip = ZipFile(BytesIO(data))
        except BROKEN as error:
            raise InputError(
                f"is not a complete zip package ({first_line(error)}); expected a document that "
                "its program opens: save it again"
            ) from error
        # Some programs write "word\\document.xml"; Office itself takes "/Word/Document.xml" too.
        self._members = {
            info.filename.replace("\\", "/").lstrip("/"): info for info in self._zip.infolist()
        }
        self._lower = {name.lower(): info for name, info in self._members.items()}
        self._left = MAX_PACKAGE

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._lower

    def __iter__(self) -> Iterator[str]:
        """Names of all parts, in the order of the package."""
        return iter(self._members)

    def check_size(self) -> None:
        """Raise InputError if all parts together unpack to more than MAX_PACKAGE bytes.

        The zip library never unpacks more of a part than its directory says.
        """
        size = sum(info.file_size for info in self._members.values())
        if size > MAX_PACKAGE:
            raise InputError(f"unpacks to {size:,} bytes, the limit is {MAX_PACKAGE:,}; split it")

    def read(self, part: str) -> bytes | None:
        """The content of a part; None if it is not there.

        Raises InputError if it is damaged, encrypted, or unpacks to more than the limits.
        """
        info = self._members.get(part) or self._lower.get(part.lower())
        if info is None:
            return None
        if info.flag_bits & ENCRYPTED:
            raise InputError(PROTECTED)
        limit = min(MAX_PART, self._left)
        try:
            with self._zip.open(info) as file:
                data = file.read(limit + 1)
        except BROKEN as error:
            raise InputError(
                f"has a part {part!r} that can't be unpacked ({first_line(error)}); save it again"
            ) from error
        if len(data) > limit:
            raise InputError(f"has a part {part!r} of more than {limit:,} bytes; split it")
        self._left -= len(data)
        return data

    def markup(self, part: str) -> bytes | None:
        """As ``read``, where names of the strict variant of Office become the common ones."""
        data = self.read(part)
        if data is not None and b"http://purl.oclc.org/ooxml/" in data[:10_000]:
            data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)
        return data

    def xml(self, part: str) -> Element | None:
        """The root of a part of XML; None if it is not there. Raises as ``read``, ``parse_xml``."""
        data = self.markup(part)
        return None if data is None else parse_xml(data, part)

    def xml_if_sound(self, part: str) -> Element | None:
        """As ``xml``, but None also for a damaged part, where a document can do without it."""
        try:
            return self.xml(part)
        except InputError:
            return None


class Relation(NamedTuple):
    """What a part of a package of Office refers to by an id."""

    kind: str  # the last part of its type: "hyperlink", "slide"
    target: str  # a part of the package; of a hyperlink to elsewhere the address as it is written


class OfficePackage(Package):
    """A package in the Office Open XML format."""

    def relations(self, part: str) -> dict[str, Relation]:
        """What a part ("" for the package) refers to, by id: its own parts, and addresses."""
        folder, _, name = part.rpartition("/")
        found: dict[str, Relation] = {}
        for relation in children(self.xml(f"{folder}/_rels/{name}.rels".lstrip("/"))):
            kind, target = relation.get("Type", "").rpartition("/")[2], relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                target = resolve(part, target)
            elif kind != "hyperlink":
                continue
            found[relation.get("Id", "")] = Relation(kind, target)
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """The parts of a kind that a part refers to."""
        return [each.target for each in self.relations(part).values() if each.kind == kind]

    def main(self, root_name: str, what: str) -> tuple[str, Element]:
        """The name and the root of the part that holds the document.

        Raises InputError if there is none, or its root has another name than expected.
        """
        parts = self.related("", "officeDocument")
        root = self.xml(parts[0]) if parts else None
        if root is None:
            raise InputError(
                f"is a zip package without a document in it; expected {what}: give it the suffix "
                "of what it is"
            )
        if local(root) != root_name:
            raise InputError(
                f"holds a {local(root)!r}; expected {what}: give it the suffix of what it is"
            )
        return parts[0], root

    def properties(self) -> dict[str, Any]:
        """Title, author, dates and so on, those that are there."""
        parts = self.related("", "core-properties")
        found: dict[str, Any] = {}
        for element in children(self.xml_if_sound(parts[0]) if parts else None):
            name, text = _PROPERTIES.get(local(element)), one_line(element.text or "")
            if name and text:
                found[name] = keyword_list(text) if name == "keywords" else text
        return found


def open_document_properties(root: Element | None) -> dict[str, Any]:
    """Title, author, dates and so on of a document of OpenDocument, by the root that holds them."""
    found: dict[str, Any] = {}
    for element in children(child(root, "meta")):
        tag, text = local(element), one_line(element.text or "")
        if tag == "keyword":
            found["keywords"] = list(dict.fromkeys(found.get("keywords", []) + keyword_list(text)))
        elif text and (name := _OPEN_DOCUMENT.get(tag)):
            found[name] = text
        elif text and tag == "creator":
            found.setdefault("author", text)
    return {name: value for name, value in found.items() if value}


def check_not_encrypted(data: bytes) -> None:
    """Raise InputError for a file that a password protects, an OLE2 file around a package."""
    if data.startswith(_OLE2) and "EncryptedPackage".encode("utf-16-le") in data:
        raise InputError(PROTECTED)


def check_not_legacy(data: bytes) -> None:
    """Raise InputError for a file that carries a modern suffix and is an OLE2 file."""
    check_not_encrypted(data)
    if data.startswith(_OLE2):
        for stream, what in _LEGACY.items():
            if stream.encode("utf-16-le") in data:
                raise InputError(what)
        raise InputError("is an OLE2 file; expected a zip package of XML: save it as .docx or .odt")


def parse_xml(data: bytes, part: str) -> Element:
    """The root element of XML text.

    Raises InputError if it is something else, declares entities, or is nested too deep.
    """
    try:
        _refuse_declarations(data, part)
        root = ElementTree.fromstring(data)  # noqa: S314  declarations are refused above
    except (ElementTree.ParseError, expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(
            f"has a part {part!r} that is not well-formed XML ({first_line(error)}); save it again"
        ) from error
    level: list[Element] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for element in level for child in element]
        if not level:
            return root
    raise InputError(f"has a part {part!r} nested more than {MAX_DEPTH} deep; flatten it")


class _RootFoundError(Exception):
    """The declarations of a document end: its root element begins."""


def _refuse_declarations(data: bytes, part: str) -> None:
    """Entities and default attributes make a huge tree of a small file; no document has them."""

    def found_root(_name: str, _attributes: dict[str, str]) -> None:
        raise _RootFoundError

    def found_doctype(_name: str, _system: str | None, _public: str | None, subset: bool) -> None:
        if subset:
            raise InputError(
                f"has a part {part!r} with a document type declaration of its own, which no "
                "document needs; leave it out"
            )

    parser = expat.ParserCreate()
    parser.StartElementHandler = found_root
    parser.StartDoctypeDeclHandler = found_doctype
    with suppress(_RootFoundError):
        parser.Parse(data, False)


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def value(element: Element | None, *path: str) -> str:
    """The attribute "val" of the first child with each name on a path; empty without."""
    return attribute(child(element, *path), "val")


def children(element: Element | None, name: str = "") -> list[Element]:
    """All children, or those with a name without namespace; none of nothing."""
    found = [] if element is None else list(element)
    return [child for child in found if local(child) == name] if name else found


def child(element: Element | None, *path: str) -> Element | None:
    """The first child with each name on a path; None if there is none."""
    for name in path:
        element = next(iter(children(element, name)), None)
    return element


def attribute(element: Element | None, name: str) -> str:
    """An attribute by its name without namespace; empty if it is missing."""
    for key, value in () if element is None else element.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def integer(text: str, default: int = 0) -> int:
    """A number as it is written; the default for anything else."""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


def resolve(part: str, target: str) -> str:
    """The name of the part that a reference in another part leads to."""
    target = unquote(target).partition("#")[0]
    if target.startswith("/"):
        return normpath(target).lstrip("/")
    return normpath(join(dirname(part), target))


def keyword_list(text: str) -> list[str]:
    """Keywords that are separated by commas or semicolons."""
    return list(dict.fromkeys(word.strip() for word in re.split("[,;]", text) if word.strip()))
