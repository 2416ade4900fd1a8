"""What the files of Word, PowerPoint and Excel share: relations of parts, properties, drawings."""

import re
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from memnet.errors import InputError
from memnet.loaders.document import one_line
from memnet.loaders.package import Package, local, parse_xml, resolve

R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_UNNAMED = re.compile(r"Series ?\d+")
"""A series of a chart that nobody named."""
_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "description": "description",
    "keywords": "keywords",
    "category": "category",
    "language": "language",
    "created": "created",
    "modified": "modified",
}
"""Names in ``metadata`` of the elements of the core properties."""


class Relation(NamedTuple):
    """What a part refers to by an id."""

    kind: str
    """The last part of its type: "hyperlink", "slide"."""
    target: str
    """A part of the package; if external, an address as it is written."""
    external: bool


class OfficePackage(Package):
    """A package in the Office Open XML format."""

    def xml(self, part: str) -> Element | None:
        """As of any package; names of the strict variant become those of the common one."""
        data = self.read(part)
        if data is None:
            return None
        if b"http://purl.oclc.org/ooxml/" in data[:10_000]:
            data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)
        return parse_xml(data, part)

    def relations(self, part: str) -> dict[str, Relation]:
        """What a part ("" for the package) refers to, by id."""
        folder, _, name = part.rpartition("/")
        root = self.xml(f"{folder}/_rels/{name}.rels".lstrip("/"))
        if root is None:
            return {}
        found: dict[str, Relation] = {}
        for relation in root:
            target = relation.get("Target", "")
            external = relation.get("TargetMode") == "External"
            found[relation.get("Id", "")] = Relation(
                relation.get("Type", "").rpartition("/")[2],
                target if external else resolve(part, target),
                external,
            )
        return found

    def related(self, part: str, kind: str) -> str:
        """The first part of a kind that a part refers to; empty without one."""
        for relation in self.relations(part).values():
            if relation.kind == kind and not relation.external:
                return relation.target
        return ""

    def main(self, root_name: str, what: str) -> tuple[str, Element]:
        """The name and the root of the part that holds the document.

        Raises:
            InputError: there is none, or its root has another name than expected.
        """
        part = self.related("", "officeDocument")
        root = self.xml(part) if part else None
        if root is None:
            raise InputError(f"is a zip package without a document in it, expected {what}")
        if local(root) != root_name:
            raise InputError(
                f"holds a {local(root)!r}, expected {what}; give it the suffix of what it is"
            )
        return part, root

    def properties(self) -> dict[str, Any]:
        """The title, author, dates and so on, those that are there."""
        part = self.related("", "core-properties")
        root = self.xml_if_sound(part) if part else None
        found: dict[str, Any] = {}
        for element in root if root is not None else ():
            name, text = _PROPERTIES.get(local(element)), one_line(element.text or "")
            if name and text:
                found[name] = keyword_list(text) if name == "keywords" else text
        return found


def keyword_list(text: str) -> list[str]:
    """Keywords that are separated by commas or semicolons."""
    return list(dict.fromkeys(word.strip() for word in re.split("[,;]", text) if word.strip()))


def drawing_texts(package: Package, part: str) -> list[str]:
    """The texts of a chart (its titles and series) or a diagram, a line each."""
    root = package.xml_if_sound(part)
    if root is None:
        return []
    lines: list[str] = []
    if local(root) == "chartSpace":
        for element in root.iter():
            name = local(element)
            if name == "title":
                lines.append("".join(e.text or "" for e in element.iter() if local(e) == "t"))
            elif name == "tx" and any(local(child) == "strRef" for child in element):
                lines += [e.text or "" for e in element.iter() if local(e) == "v"]
    elif local(root) == "dataModel":
        for point in root.iter():
            if local(point) == "pt":
                paragraphs = [e for e in point.iter() if local(e) == "p"]
                lines += [
                    "".join(e.text or "" for e in paragraph.iter() if local(e) == "t")
                    for paragraph in paragraphs
                ]
    named = (line for line in map(one_line, lines) if line and not _UNNAMED.fullmatch(line))
    return list(dict.fromkeys(named))


def children(element: Element, name: str) -> list[Element]:
    """Its children of a name without namespace."""
    return [child for child in element if local(child) == name]


def child(element: Element | None, *path: str) -> Element | None:
    """The first child of each name on a path; None if there is none."""
    for name in path:
        if element is None:
            return None
        element = next((e for e in element if local(e) == name), None)
    return element


def attribute(element: Element | None, name: str) -> str | None:
    """An attribute by its name without namespace."""
    if element is None:
        return None
    for key, value in element.items():
        if key.rpartition("}")[2] == name:
            return value
    return None


def is_on(element: Element | None) -> bool:
    """Whether a property such as bold is there and not switched off."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off", "none")


def alternative(element: Element) -> Element:
    """Of contents for programs of several versions the first, which is the newest."""
    return next((e for e in element if local(e) in ("Choice", "Fallback")), element)
