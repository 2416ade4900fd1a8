"""Styles and numbered lists of Word documents: what a paragraph is, and the number before it."""

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from memnet.loaders.office.list_numbers import letters, roman
from memnet.loaders.office.ooxml import attribute, child, children, is_on

BODY_LEVEL = 9
"""The outline level of text that is no heading."""
_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_MAX_NUMBER = 100
"""Characters of the number before an item."""
_MAX_CHAIN = 50
"""Styles that are based on each other."""


@dataclass
class Style:
    """A paragraph or table style, without what it inherits."""

    name: str
    based_on: str = ""
    outline: int | None = None
    number_id: str | None = None
    number_level: int | None = None
    bold: bool | None = None
    first_row: bool = False
    """Of a table: whether its first row looks different."""


class Styles:
    """The styles of a document, by their ids, which are in the language of the author's Word."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        for element in [] if root is None else children(root, "style"):
            identifier = attribute(element, "styleId") or ""
            name = attribute(child(element, "name"), "val") or identifier
            style = Style(name.lower(), attribute(child(element, "basedOn"), "val") or "")
            style.outline = number(child(element, "pPr", "outlineLvl"))
            style.number_id = attribute(child(element, "pPr", "numPr", "numId"), "val")
            style.number_level = number(child(element, "pPr", "numPr", "ilvl"))
            bold = child(element, "rPr", "b")
            style.bold = None if bold is None else is_on(bold)
            style.first_row = any(
                attribute(part, "type") == "firstRow" for part in children(element, "tblStylePr")
            )
            self._styles[identifier] = style
            if attribute(element, "type") == "paragraph" and attribute(element, "default") == "1":
                self._default = identifier

    def chain(self, identifier: str) -> list[Style]:
        """A style and those that it is based on; the default style for none."""
        found: list[Style] = []
        identifier = identifier or self._default
        while identifier in self._styles and len(found) < _MAX_CHAIN:
            found.append(self._styles[identifier])
            identifier = found[-1].based_on
        return found or [Style(identifier.lower())]

    def heading_level(self, chain: list[Style]) -> int | None:
        """The level of headings of a style, 0 for the highest; None for text."""
        for style in chain:
            if style.outline is not None:
                return style.outline if style.outline < BODY_LEVEL else None
            heading = _HEADING.fullmatch(style.name)
            if heading:
                return int(heading[1]) - 1
            if style.name == "title":
                return 0
        return None


@dataclass
class _Level:
    """A level of a list."""

    start: int = 1
    kind: str = "decimal"
    text: str = ""
    restart: int | None = None
    legal: bool = False
    """Whether all levels are written in decimal digits."""


@dataclass
class _List:
    """An abstract definition of a list, with how far it has counted."""

    levels: dict[int, _Level] = field(default_factory=dict)
    by_style: dict[str, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The lists of a document, which count as paragraphs come."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._lists: dict[str, _List] = {}
        self._instances: dict[str, tuple[str, dict[int, _Level], dict[int, int]]] = {}
        """By numId: its list, levels of its own, and numbers that it starts at."""
        self._started: set[tuple[str, int]] = set()
        links: dict[str, str] = {}
        for element in [] if root is None else children(root, "abstractNum"):
            identifier = attribute(element, "abstractNumId") or ""
            found = self._lists[identifier] = _List()
            for level in children(element, "lvl"):
                at = integer(attribute(level, "ilvl"))
                found.levels[at] = _read_level(level)
                style = attribute(child(level, "pStyle"), "val")
                if style:
                    found.by_style[style] = at
            link = attribute(child(element, "numStyleLink"), "val")
            if link:
                links[identifier] = link
        for element in [] if root is None else children(root, "num"):
            self._read_instance(element)
        for identifier, style in links.items():  # a list that is defined by a style
            instance = self._instances.get(styles.chain(style)[0].number_id or "")
            if instance and instance[0] in self._lists:
                self._lists[identifier] = self._lists[instance[0]]

    def _read_instance(self, element: Element) -> None:
        own: dict[int, _Level] = {}
        starts: dict[int, int] = {}
        for override in children(element, "lvlOverride"):
            at = integer(attribute(override, "ilvl"))
            level = child(override, "lvl")
            if level is not None:
                own[at] = _read_level(level)
            start = number(child(override, "startOverride"))
            if start is not None:
                starts[at] = start
        identifier = attribute(element, "numId") or ""
        abstract = attribute(child(element, "abstractNumId"), "val") or ""
        self._instances[identifier] = (abstract, own, starts)

    def level_of_style(self, number_id: str, style: str) -> int | None:
        """The level of a list that is linked to a paragraph style."""
        abstract = self._instances.get(number_id, ("", {}, {}))[0]
        return self._lists[abstract].by_style.get(style) if abstract in self._lists else None

    def next(self, number_id: str, at: int) -> str | None:
        """What stands before the next item: "- ", "2.", "iv)"; None if nothing does."""
        abstract, own, starts = self._instances.get(number_id, ("", {}, {}))
        found = self._lists.get(abstract)
        if found is None:
            return None
        levels = {**found.levels, **own}
        level = levels.get(at)
        if level is None:
            return None
        if (number_id, at) not in self._started and at in starts:
            found.counts[at] = starts[at]
        elif at in found.counts:
            found.counts[at] += 1
        else:
            found.counts[at] = level.start
        self._started.add((number_id, at))
        for deeper in [other for other in found.counts if other > at]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart != 0 and at < restart):
                del found.counts[deeper]
        if level.kind == "bullet":
            return "-"
        if level.kind == "none" and "%" not in level.text.replace(f"%{at + 1}", ""):
            return level.text.replace(f"%{at + 1}", "").strip() or None

        def counted(match: re.Match[str]) -> str:
            above = int(match[1]) - 1
            there = levels.get(above, level)
            kind = "decimal" if level.legal else there.kind
            return _written(found.counts.setdefault(above, there.start), kind)

        return re.sub("%([1-9])", counted, level.text)[:_MAX_NUMBER].strip() or None


def _read_level(element: Element) -> _Level:
    start = number(child(element, "start"))
    return _Level(
        1 if start is None else start,
        attribute(child(element, "numFmt"), "val") or "decimal",
        attribute(child(element, "lvlText"), "val") or "",
        number(child(element, "lvlRestart")),
        is_on(child(element, "isLgl")),
    )


def _written(count: int, kind: str) -> str:
    match kind:
        case "none" | "bullet":
            return ""
        case "lowerLetter":
            return letters(count)
        case "upperLetter":
            return letters(count).upper()
        case "lowerRoman":
            return roman(count)
        case "upperRoman":
            return roman(count).upper()
        case "decimalZero":
            return f"{count:02}"
        case _:
            return str(count)


def integer(text: str | None) -> int:
    """A number as it is written; 0 for what is none."""
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,9}", text) else 0


def number(element: Element | None) -> int | None:
    """The value of a property; None without it."""
    value = attribute(element, "val")
    return None if value is None else integer(value)
