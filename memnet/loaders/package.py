"""A zip package of XML parts, as Office, OpenDocument and EPUB files are."""

import zlib
from collections.abc import Iterator
from io import BytesIO
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from memnet.errors import InputError, first_line

MAX_PART = 256 * 1024 * 1024
"""Bytes of one part when unpacked: some ten times the markup of the longest document."""
MAX_PACKAGE = 2 * MAX_PART
"""Bytes of all parts that are read."""
MAX_DEPTH = 200
"""Elements within each other: documents have some 50 at most, and readers of them recurse."""

PROTECTED = (
    "is protected with a password, expected a file that opens without one; save it without its "
    "password"
)
_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LEGACY = {
    "WordDocument": (
        "is a document of Word 97-2003 (.doc), which is not read; save it as .docx or .odt"
    ),
    "PowerPoint Document": (
        "is a presentation of PowerPoint 97-2003 (.ppt), which is not read; "
        "save it as .pptx or .odp"
    ),
    "Workbook": "is a workbook of Excel 97-2003; name it .xls, and it is read",
}
"""What an OLE2 file is by the name of its stream."""
_BROKEN = (BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
"""What the zip library raises: damage, an unknown compression, a password."""


class Package:
    """A zip file in memory, whose parts are unpacked within limits."""

    def __init__(self, data: bytes) -> None:
        """Open it.

        Raises:
            InputError: it is no zip file, or one of another kind that looks like it.
        """
        check_not_legacy(data)
        try:
            self._zip = ZipFile(BytesIO(data))
        except _BROKEN as error:
            raise InputError(
                f"is not a complete zip package ({first_line(error)}); expected a document that "
                "its program opens; save it anew"
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

    def read(self, part: str) -> bytes | None:
        """The content of a part; None if it is not there.

        Raises:
            InputError: it is damaged, encrypted, or too large.
        """
        info = self._members.get(part) or self._lower.get(part.lower())
        if info is None:
            return None
        limit = min(MAX_PART, self._left)
        try:
            with self._zip.open(info) as file:
                # What the directory says of the size is not to be believed.
                data = file.read(limit + 1)
        except _BROKEN as error:
            raise InputError(
                f"has a part {part!r} that can't be unpacked ({first_line(error)}); save it anew"
            ) from error
        if len(data) > limit:
            raise InputError(
                f"has a part {part!r} of more than {limit:,} bytes, which is no document; leave "
                "it out"
            )
        self._left -= len(data)
        return data

    def xml(self, part: str) -> Element | None:
        """The root of a part of XML; None if it is not there.

        Raises:
            InputError: as ``read``, or it is no well-formed XML without declarations.
        """
        data = self.read(part)
        return None if data is None else parse_xml(data, part)

    def xml_if_sound(self, part: str) -> Element | None:
        """As ``xml``, for parts that a document can do without: None also if it is damaged."""
        try:
            return self.xml(part)
        except InputError:
            return None


def check_not_encrypted(data: bytes) -> None:
    """Name the files that a password protects, which are OLE2 files around a package.

    Raises:
        InputError: the file is one of them.
    """
    if data.startswith(_OLE2) and "EncryptedPackage".encode("utf-16-le") in data:
        raise InputError(PROTECTED)


def check_not_legacy(data: bytes) -> None:
    """Name the files that carry a modern suffix and are OLE2 files.

    Raises:
        InputError: the file is one of them.
    """
    check_not_encrypted(data)
    if data.startswith(_OLE2):
        for stream, what in _LEGACY.items():
            if stream.encode("utf-16-le") in data:
                raise InputError(what)
        raise InputError(
            "is an OLE2 file, expected a zip package of XML; save it in a format of today"
        )


def parse_xml(data: bytes, part: str) -> Element:
    """The root element of XML text that declares no entities and is not nested too deep.

    Raises:
        InputError: it is something else.
    """
    try:
        _refuse_declarations(data, part)
        root = ElementTree.fromstring(data)  # noqa: S314  declarations are refused above
    except (ElementTree.ParseError, expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(
            f"has a part {part!r} that is not well-formed XML ({first_line(error)}); save it anew"
        ) from error
    level: list[Element] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for element in level for child in element]
        if not level:
            return root
    raise InputError(
        f"has a part {part!r} with elements nested more than {MAX_DEPTH} deep, which is no document"
    )


def _refuse_declarations(data: bytes, part: str) -> None:
    """Entities and default attributes make a huge tree of a small file; no document has them."""
    parser = expat.ParserCreate()
    root_found = False

    def found_root(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal root_found
        root_found = True

    def found_doctype(_name: str, _system: str | None, _public: str | None, subset: bool) -> None:
        if subset:
            raise InputError(
                f"has a part {part!r} with a document type declaration of its own, which no "
                "document needs; leave it out"
            )

    parser.StartElementHandler = found_root
    parser.StartDoctypeDeclHandler = found_doctype
    for start in range(0, len(data), 4096):
        if root_found:  # declarations stand before the root element
            return
        parser.Parse(data[start : start + 4096], False)


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def resolve(part: str, target: str) -> str:
    """The name of the part that a reference in another part leads to."""
    target = unquote(target).partition("#")[0]
    if target.startswith("/"):
        return normpath(target).lstrip("/")
    return normpath(join(dirname(part), target))
