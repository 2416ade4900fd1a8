"""What loaders make of an input before it becomes slots."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from memnet.types import Fact


class Section(NamedTuple):
    """A part of a document under one heading, or one sentence of a story."""

    title: str
    start: int
    end: int
    symbols: tuple[str, ...] = ()
    """Further names for what the section is about."""


class PlacedFact(NamedTuple):
    """A fact and its span in its source."""

    fact: Fact
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class ParsedDocument:
    """A document with its sections."""

    name: str
    title: str
    text: str
    """The whole text, of which sections are spans; what is in no section is not stored."""
    sections: tuple[Section, ...]
    origin: str = ""
    """Path of the file it was read from; empty without one."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def digest(self) -> bytes:
        """Equal for equal content."""
        return _digest(
            "document",
            self.title,
            *((section, self.text[section.start : section.end]) for section in self.sections),
            *sorted(self.metadata.items()),
        )

    def size(self) -> int:
        """Characters."""
        return sum(section.end - section.start for section in self.sections)


@dataclass(frozen=True)
class ParsedFacts:
    """The facts of one source."""

    name: str
    facts: tuple[PlacedFact, ...]
    origin: str = ""

    def digest(self) -> bytes:
        """Equal for equal content."""
        return _digest("facts", *((placed.text, placed.start) for placed in self.facts))

    def size(self) -> int:
        """Characters, as a measure of what the facts cost to store."""
        return sum(len(placed.text) for placed in self.facts)


Parsed: TypeAlias = ParsedDocument | ParsedFacts


def _digest(*parts: object) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass") + b"\x1f")
    return digest.digest()
