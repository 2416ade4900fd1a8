"""Styles of OpenDocument files: what a paragraph is, and how lists count."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from memnet.loaders.office.docx_styles import integer
from memnet.loaders.office.list_numbers import letters, roman
from memnet.loaders.office.ooxml import attribute
from memnet.loaders.package import local

_MAX_CHAIN = 50
"""Styles that are based on each other."""
_OUTLINE = "outline"
"""Stands for the list style of all headings, which has no name."""


@dataclass(frozen=True)
class _Level:
    """A level of a list style."""

    bullet: bool
    kind: str = ""
    prefix: str = ""
    suffix: str = ""
    start: int = 1
    shown: int = 1
    """Levels that a number shows, from this one upwards."""
    pattern: str = ""
    """Such as "%1%.%2%)"; takes the place of prefix, suffix and shown."""


class OdfStyles:
    """Paragraph and list styles by name."""

    def __init__(self, groups: Iterable[Element]) -> None:
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[int, _Level]] = {}
        self._headings: dict[int, int] = {}
        """How far headings have counted on each level."""
        for group in groups:
            for element in group:
                name = attribute(element, "name") or ""
                match local(element):
                    case "style" if attribute(element, "family") == "paragraph":
                        self._parents[name] = attribute(element, "parent-style-name") or ""
                    case "list-style":
                        self._lists[name] = _levels(element)
                    case "outline-style":
                        self._lists[_OUTLINE] = _levels(element)

    def names(self, name: str) -> list[str]:
        """A style and those that it is based on."""
        found: list[str] = []
        while name and len(found) < _MAX_CHAIN:
            found.append(name.replace("_20_", " ").lower())
            name = self._parents.get(name, "")
        return found

    def heading_number(self, level: int) -> str | None:
        """What stands before the next heading of a level (from 1)."""
        return self.marker(_OUTLINE, level - 1, self._headings)

    def marker(
        self, style: str, level: int, numbers: dict[int, int], start: int | None = None
    ) -> str | None:
        """What stands before the next item of a level (from 0); None if nothing does.

        Args:
            style: of the list.
            level: of the item.
            numbers: how far the list has counted on each level; counts on.
            start: its number, if the document says so.
        """
        levels = self._lists.get(style, {})
        shape = levels.get(level)
        if shape is None:
            return None if levels or style == _OUTLINE else "-"
        numbers[level] = start if start is not None else numbers.get(level, shape.start - 1) + 1
        for deeper in [other for other in numbers if other > level]:
            del numbers[deeper]
        if shape.bullet:
            return "-"
        if not shape.kind:
            return None

        def written(at: int) -> str:
            above = levels.get(at, shape)
            return _number(numbers.get(at, above.start), above.kind)

        if shape.pattern:
            text = re.sub("%([1-9])%", lambda match: written(int(match[1]) - 1), shape.pattern)
        else:
            first = max(0, level + 1 - shape.shown)
            parts = [written(at) for at in range(first, level + 1)]
            text = f"{shape.prefix}{'.'.join(filter(None, parts))}{shape.suffix}"
        return text.strip() or None


def _levels(style: Element) -> dict[int, _Level]:
    found: dict[int, _Level] = {}
    for element in style:
        level = integer(attribute(element, "level")) - 1
        name = local(element)
        if name in ("list-level-style-bullet", "list-level-style-image"):
            found[level] = _Level(bullet=True)
        elif name in ("list-level-style-number", "outline-level-style"):
            start = attribute(element, "start-value")
            found[level] = _Level(
                False,
                attribute(element, "num-format") or "",
                attribute(element, "num-prefix") or "",
                attribute(element, "num-suffix") or "",
                1 if start is None else integer(start),
                max(1, min(integer(attribute(element, "display-levels")), 10)),
                attribute(element, "num-list-format") or "",
            )
    return found


def _number(count: int, kind: str) -> str:
    match kind:
        case "":
            return ""
        case "a":
            return letters(count)
        case "A":
            return letters(count).upper()
        case "i":
            return roman(count)
        case "I":
            return roman(count).upper()
        case _:
            return str(count)
