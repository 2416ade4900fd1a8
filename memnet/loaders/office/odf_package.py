"""Parts of OpenDocument files: content, styles and metadata."""

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from memnet.errors import InputError
from memnet.loaders.document import one_line
from memnet.loaders.office.ooxml import attribute, child, keyword_list
from memnet.loaders.package import PROTECTED, Package, check_not_legacy, local, parse_xml

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
_FLAT = b"\xef\xbb\xbf \t\r\n"
"""What may stand before the first tag of a flat document."""


def is_open_document(data: bytes) -> bool:
    """Whether it is a flat document, or a zip file with the part that all packages have."""
    return data[:100].lstrip(_FLAT).startswith(b"<") or (
        data.startswith(b"PK") and b"content.xml" in data
    )


def read_parts(data: bytes) -> tuple[Element, Element | None, Element | None]:
    """The roots of the content, the styles and the metadata; in a flat document all one.

    Raises:
        InputError: it is no OpenDocument file, or a password protects it.
    """
    if data[:100].lstrip(_FLAT).startswith(b"<"):
        root = parse_xml(data, "document")
        return root, root, root
    check_not_legacy(data)
    package = Package(data)
    content = package.read("content.xml")
    if content is None:
        raise InputError(
            "is a zip package without a content.xml, expected an OpenDocument file; give it the "
            "suffix of what it is"
        )
    manifest = package.xml_if_sound("META-INF/manifest.xml")
    for entry in manifest if manifest is not None else ():
        if attribute(entry, "full-path") == "content.xml" and len(entry):
            raise InputError(PROTECTED)
    return (
        parse_xml(content, "content.xml"),
        package.xml_if_sound("styles.xml"),
        package.xml_if_sound("meta.xml"),
    )


def style_groups(root: Element | None) -> Iterator[Element]:
    """The elements in which styles stand."""
    for element in root if root is not None else ():
        if local(element) in ("styles", "automatic-styles"):
            yield element


def read_metadata(root: Element | None) -> dict[str, Any]:
    """The title, author, dates and so on, those that are there."""
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
