"""Styles and numbered lists of Word documents: what a paragraph is, and the number before it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from xml.etree.ElementTree import Element

from memnet.loaders.package import attribute, child, children, integer, value

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_BODY_LEVEL = 9  # the outline level of text that is not a heading
_MAX_NUMBER = 100  # characters of the number before an item
_MAX_CHAIN = 50  # styles that are based on each other
_MAX_LETTERS = 30  # aa follows on z, bb on aa; beyond that many letters digits are written
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


class Style(NamedTuple):
    """A paragraph or table style, without what it inherits."""

    name: str
    based_on: str = ""
    outline: str = ""
    list_id: str = ""
    list_level: str = ""
    first_row: bool = False  # of a table: whether its first row looks different


class Styles:
    """The styles of a document, by their ids, which are in the language of the author's Word."""

    def __init__(self, roots: Iterable[Element]) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        for element in (each for root in roots for each in children(root, "style")):
            identifier = attribute(element, "styleId")
            parts = children(element, "tblStylePr")
            self._styles[identifier] = Style(
                (value(element, "name") or identifier).lower(),
                value(element, "basedOn"),
                value(element, "pPr", "outlineLvl"),
                value(element, "pPr", "numPr", "numId"),
                value(element, "pPr", "numPr", "ilvl"),
                any(attribute(part, "type") == "firstRow" for part in parts),
            )
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


def heading_level(chain: Iterable[Style]) -> int:
    """The level of headings of a style, 0 for the highest; ``_BODY_LEVEL`` for text."""
    for style in chain:
        if style.outline:
            return integer(style.outline)
        if heading := _HEADING.fullmatch(style.name):
            return int(heading[1]) - 1
        if style.name == "title":
            return 0
    return _BODY_LEVEL


@dataclass
class _List:
    """A list; all that share an abstract definition count together."""

    levels: dict[int, Element] = field(default_factory=dict)
    by_style: dict[str, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)  # numbers that it begins at, once


class Numbering:
    """The lists of a document, which count as paragraphs come."""

    def __init__(self, roots: list[Element], styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, _List] = {}
        abstract: dict[str, _List] = {}
        links: dict[str, str] = {}
        for element in (each for root in roots for each in children(root, "abstractNum")):
            identifier = attribute(element, "abstractNumId")
            levels = [(integer(attribute(at, "ilvl")), at) for at in children(element, "lvl")]
            by_style = {value(level, "pStyle"): at for at, level in levels}
            abstract[identifier] = _List(dict(levels), by_style)
            links[identifier] = value(element, "numStyleLink")
        numbers = {
            attribute(element, "numId"): element
            for root in roots
            for element in children(root, "num")
        }
        for identifier, element in numbers.items():
            definition = value(element, "abstractNumId")
            if style := links.get(definition):  # a list that is defined by a style
                linked = numbers.get(styles.chain(style)[0].list_id)
                definition = value(linked, "abstractNumId")
            shared = abstract.get(definition, _List())
            found = replace(shared, levels=dict(shared.levels), starts={})
            for override in children(element, "lvlOverride"):
                at = integer(attribute(override, "ilvl"))
                if (level := child(override, "lvl")) is not None:
                    found.levels[at] = level
                if start := value(override, "startOverride"):
                    found.starts[at] = integer(start)
            self._lists[identifier] = found

    def next(self, properties: Element | None, style: str) -> tuple[str, int]:
        """What stands before the next paragraph: "-", "2.", "iv)" or nothing; its list's level."""
        list_id = value(properties, "numPr", "numId")
        level = value(properties, "numPr", "ilvl")
        if list_id:
            return self._count(list_id, integer(level)), integer(level)
        for found in self._styles.chain(style):
            if found.list_id:
                of_style = self._lists.get(found.list_id, _List()).by_style
                at = integer(level or found.list_level, default=of_style.get(style, 0))
                if not level and style in of_style:
                    at = of_style[style]
                return self._count(found.list_id, at), at
        return "", 0

    def _count(self, list_id: str, at: int) -> str:
        found = self._lists.get(list_id, _List())
        level = found.levels.get(at)
        if level is None:
            return ""
        following = found.counts.get(at, _start(level) - 1) + 1
        found.counts[at] = found.starts.pop(at, following)
        for deeper in [other for other in found.counts if other > at]:
            del found.counts[deeper]
        if value(level, "numFmt") == "bullet":
            return "-"

        def counted(match: re.Match[str]) -> str:
            above = int(match[1]) - 1
            there = found.levels.get(above, level)
            # All levels may be written in decimal digits.
            kind = "" if is_on(child(level, "isLgl")) else value(there, "numFmt")
            return written(found.counts.setdefault(above, _start(there)), kind or "decimal")

        return re.sub("%([1-9])", counted, value(level, "lvlText"))[:_MAX_NUMBER].strip()


def _start(level: Element) -> int:
    return integer(value(level, "start"), default=1)


def written(count: int, kind: str) -> str:
    """A number as office programs write it.

    Args:
        count: from 0.
        kind: by its name in Word ("lowerLetter", "decimal"), PowerPoint ("alphaLcParenR") or
            OpenDocument ("a", "I").
    """
    if kind in ("none", "bullet"):
        return ""
    lower = kind.lower()
    text = str(count)
    if "roman" in lower or lower == "i":
        text = _roman(count)
    elif "letter" in lower or lower.startswith("alpha") or lower == "a":
        text = _letters(count)
    elif kind == "decimalZero":
        return f"{count:02}"
    return text.upper() if kind.startswith("upper") or "Uc" in kind or kind in "AI" else text


def _roman(number: int) -> str:
    if not 0 < number < 4000:  # there are no Roman digits for it
        return str(number)
    digits = ""
    for each, digit in _ROMAN:
        count, number = divmod(number, each)
        digits += digit * count
    return digits


def _letters(number: int) -> str:
    """1 as a, 26 as z, 27 as aa, 28 as bb, as office programs count."""
    if not 0 < number <= 26 * _MAX_LETTERS:
        return str(number)
    repeated, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) * (repeated + 1)


def is_on(element: Element | None) -> bool:
    """Whether a property such as bold is there and not switched off."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off", "none")
