"""File formats: a loader reads a file and gives parsed documents or facts.

A new format is a loader of its own, and a line in ``LOADERS``.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from memnet.config import LimitConfig
from memnet.errors import InputError, Problem
from memnet.files import open_file, read_lines, read_text
from memnet.ingest.babi import looks_like_stories, read_stories
from memnet.text.names import title_symbols
from memnet.types import Document, Fact


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


Loader: TypeAlias = Callable[[Path, LimitConfig], Iterable[Parsed | Problem]]
"""Reads a file, whose path is the name of its source; raises InputError or OSError if it can't."""


def load_text(path: Path, limits: LimitConfig) -> Iterator[Parsed | Problem]:
    """A plain text, or the stories of a file in bAbI's format."""
    text = read_text(path, limits.document)
    yield from parse_text(text, str(path), _title_of(path), str(path))


def load_markdown(path: Path, limits: LimitConfig) -> Iterator[Parsed | Problem]:
    """A Markdown text."""
    text = read_text(path, limits.document)
    yield parse_markdown(text, str(path), _title_of(path), limits.title, str(path))


def load_json_lines(path: Path, limits: LimitConfig) -> Iterator[Parsed | Problem]:
    """A document for each line."""
    with open_file(path) as file:
        lines = read_lines(file, str(path), limits.document)
        yield from parse_json_lines(lines, str(path), str(path))


def load_fact_table(path: Path, limits: LimitConfig) -> Iterator[Parsed | Problem]:
    """A fact for each line, as one source."""
    text = read_text(path, limits.document)
    yield from parse_fact_table(text, str(path), limits.fact, str(path))


LOADERS: Mapping[str, Loader] = {
    ".txt": load_text,
    ".md": load_markdown,
    ".markdown": load_markdown,
    ".jsonl": load_json_lines,
    ".tsv": load_fact_table,
}
"""By suffix, in lower case. A file without a suffix, such as README, is plain text."""


def parse_document(document: Document, origin: str = "") -> ParsedDocument:
    """A document as given, in one section under its title.

    Raises:
        InputError: its text is blank.
    """
    if not document.text.strip():
        raise InputError(f"document {document.id!r} has a blank 'text'; leave it out or fill it")
    section = Section(document.title, 0, len(document.text))
    return ParsedDocument(
        document.id, document.title, document.text, (section,), origin, document.metadata
    )


def parse_text(
    text: str, name: str, title: str, origin: str = ""
) -> Iterator[ParsedDocument | Problem]:
    """The text in one section; in bAbI's format a document for each story.

    A story has a section for each sentence. A single story has the name of the text, several add
    their numbers to it: ``name#1``.
    """
    if not looks_like_stories(text):
        yield ParsedDocument(name, title, text, (Section(title, 0, len(text)),), origin)
        return
    stories = list(read_stories(text, origin or "standard input"))
    for number, story in enumerate(stories, start=1):
        if isinstance(story, Problem):
            yield story
        else:
            story_name = name if len(stories) == 1 else f"{name}#{number}"
            sections = tuple(Section("", start, end) for start, end in story.spans)
            yield ParsedDocument(story_name, title, text, sections, origin)


def parse_markdown(
    text: str, name: str, title: str, max_heading: int, origin: str = ""
) -> ParsedDocument:
    """A Markdown text, in a section for each heading.

    The first heading, if it opens the text, is the document's title in place of ``title``. Each
    section keeps all of its source between two headings, without its own heading. A heading of more
    than ``max_heading`` characters, such as a paragraph with a line of dashes below it, is text.
    """
    headings = [heading for heading in _headings(text) if len(heading[0]) <= max_heading]
    if headings and not text[: headings[0][1]].strip():
        title = headings[0][0]
    document_symbols = title_symbols(title)
    starts = [(title, 0, 0), *headings]
    ends = [start for _, start, _ in headings] + [len(text)]
    sections = tuple(
        Section(
            heading if heading == title else f"{title}: {heading}",
            body,
            end,
            (*title_symbols(heading), *document_symbols),
        )
        for (heading, _, body), end in zip(starts, ends, strict=True)
        if text[body:end].strip()
    )
    return ParsedDocument(name, title, text, sections, origin)


def parse_json_lines(
    lines: Iterable[tuple[int, str] | Problem], where: str, origin: str
) -> Iterator[ParsedDocument | Problem]:
    """Documents of numbered lines ``{"id", "title", "text", "metadata"?}``.

    Args:
        lines: as ``read_lines`` gives them.
        where: they come from, for ids and problems.
        origin: path of their file; empty without one.
    """
    empty = True
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif not line[1].strip():
            continue
        else:
            try:
                yield parse_document(_document(line[1], f"{where}:{line[0]}"), origin)
            except InputError as error:
                yield Problem(f"{where}, line {line[0]}", str(error))
        empty = False
    if empty:
        yield Problem(where, "is empty; there is nothing to remember in it")


def _document(line: str, fallback_id: str) -> Document:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON ({error}); expected one object a line") from error
    if not isinstance(fields, dict):
        raise InputError(f"holds a JSON {type(fields).__name__}, expected an object with 'text'")
    if not isinstance(fields.get("text"), str):
        raise InputError('has no string \'text\'; expected {"id", "title", "text"}')
    identifier = fields.get("id")
    if isinstance(identifier, (dict, list)):
        kind = type(identifier).__name__
        raise InputError(f"has an unusable 'id': a JSON {kind}; expected a string or a number")
    try:
        return Document(
            id=fallback_id if identifier is None else str(identifier),
            text=fields["text"],
            title=fields.get("title") or "",
            metadata=fields.get("metadata") or {},
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"has an unusable {first['loc'][0]!r}: {first['msg']}") from error


def _title_of(path: Path) -> str:
    return path.stem.replace("_", " ").replace("-", " ").strip()


def _headings(text: str) -> list[tuple[str, int, int]]:
    """Title, first character and end of each heading of a Markdown text."""
    from markdown_it import MarkdownIt  # only where it is needed: questions start sooner

    offsets = [0]
    for line in io.StringIO(text, newline=""):
        offsets.append(offsets[-1] + len(line))
    # Markup within a line is not needed, and takes most of the time.
    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    return [
        (inline.content.strip(), offsets[token.map[0]], offsets[token.map[1]])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.map and inline.content.strip()
    ]


def fact_source(fact: Fact) -> ParsedFacts:
    """A fact given by itself, as a source of its own."""
    text = f"{fact.subject}\t{fact.relation}\t{fact.object}"
    name = f"{fact.subject} | {fact.relation} | {fact.object}"
    return ParsedFacts(name, (PlacedFact(fact, text, 0, len(text)),))


def parse_fact_table(
    text: str, name: str, max_characters: int, origin: str = ""
) -> Iterator[ParsedFacts | Problem]:
    """The facts of a file, a fact a line, as one source; and a problem for each bad line."""
    facts: list[PlacedFact] = []
    position = 0
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.rstrip("\r")
        if content.strip():
            try:
                fact = parse_fact(content, max_characters)
                facts.append(PlacedFact(fact, content, position, position + len(content)))
            except InputError as error:
                yield Problem(f"{name}, line {number}", str(error))
        position += len(line) + 1
    if facts:
        yield ParsedFacts(name, tuple(facts), origin)


def parse_fact(line: str, max_characters: int) -> Fact:
    """The fact on one line.

    Args:
        line: without its end.
        max_characters: of a column.

    Raises:
        InputError: the line has not three filled columns, or one is too long.
    """
    columns = [column.strip() for column in line.split("\t" if "\t" in line else "|")]
    if len(columns) != 3:
        raise InputError(
            f"has {len(columns)} column{'s' * (len(columns) != 1)}, expected 3: "
            "subject<TAB>relation<TAB>object"
        )
    if not all(columns):
        raise InputError("has an empty column; subject, relation and object must all be filled")
    if len(max(columns, key=len)) > max_characters:
        raise InputError(f"has a column of more than {max_characters:,} characters; shorten it")
    return Fact(subject=columns[0], relation=columns[1], object=columns[2])
