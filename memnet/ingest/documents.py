"""Parsing documents: plain text, stories, Markdown and JSON lines."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memnet.errors import InputError
from memnet.files import Problem
from memnet.ingest.babi import looks_like_stories, read_stories
from memnet.ingest.parsed import ParsedDocument, Section
from memnet.text.names import title_symbols
from memnet.types import Document


def from_document(document: Document, origin: str = "") -> ParsedDocument:
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


def from_text(
    text: str, name: str, title: str, origin: str = ""
) -> Iterator[ParsedDocument | Problem]:
    """The stories of a text that has the story format, else the text in one section."""
    if looks_like_stories(text):
        yield from _from_stories(text, name, title, origin)
    else:
        yield ParsedDocument(name, title, text, (Section(title, 0, len(text)),), origin)


def from_markdown(
    text: str, name: str, title: str, longest: int, origin: str = ""
) -> ParsedDocument:
    """A Markdown text, in a section for each heading.

    The first heading, if it opens the text, is the document's title and ``title`` is not needed.
    Each section keeps the whole of its source between two headings, its own heading left out. A
    heading of more than ``longest`` characters, such as a paragraph with a line of dashes below it,
    is a text like any other.
    """
    headings = [heading for heading in _headings(text) if len(heading[0]) <= longest]
    if headings and not text[: headings[0][1]].strip():
        title = headings[0][0]
    own = title_symbols(title)
    starts = [(title, 0, 0), *headings]
    ends = [start for _, start, _ in headings] + [len(text)]
    sections = tuple(
        Section(
            heading if heading == title else f"{title}: {heading}",
            body,
            end,
            (*title_symbols(heading), *own),
        )
        for (heading, _, body), end in zip(starts, ends, strict=True)
        if text[body:end].strip()
    )
    return ParsedDocument(name, title, text, sections, origin)


def from_json_line(line: str, fallback_id: str, origin: str = "") -> ParsedDocument:
    """A document from one line ``{"id", "title", "text", "metadata"?}`` of a JSON lines file.

    Raises:
        InputError: the line is no JSON object, or has no usable ``text``.
    """
    return from_document(_document(json_object(line), fallback_id), origin)


def json_object(line: str) -> Mapping[str, Any]:
    """The JSON object on a line.

    Raises:
        InputError: there is none.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON ({error}); expected one object a line") from error
    if not isinstance(value, dict):
        raise InputError(f"holds a JSON {type(value).__name__}, expected an object with 'text'")
    return value


def title_of(path: Path) -> str:
    """A title from a file's name."""
    return path.stem.replace("_", " ").replace("-", " ").strip()


def _from_stories(
    text: str, name: str, title: str, origin: str
) -> Iterator[ParsedDocument | Problem]:
    """A document for each story, with a section for each sentence, their order kept.

    A single story has the name of the text, several add their numbers to it: ``name#1``.
    """
    stories = list(read_stories(text, origin or "standard input"))
    for number, story in enumerate(stories, start=1):
        if isinstance(story, Problem):
            yield story
        else:
            own_name = name if len(stories) == 1 else f"{name}#{number}"
            sections = tuple(Section("", start, end) for start, end in story.spans)
            yield ParsedDocument(own_name, title, text, sections, origin)


def _document(fields: Mapping[str, Any], fallback_id: str) -> Document:
    if not isinstance(fields.get("text"), str):
        raise InputError('has no string \'text\'; expected {"id", "title", "text"}')
    given = fields.get("id")
    try:
        return Document(
            id=fallback_id if given is None else _as_text(given),
            text=fields["text"],
            title=fields.get("title") or "",
            metadata=fields.get("metadata") or {},
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"has an unusable {first['loc'][0]!r}: {first['msg']}") from error


def _as_text(identifier: object) -> str:
    if isinstance(identifier, (dict, list)):
        kind = type(identifier).__name__
        raise InputError(f"has an unusable 'id': a JSON {kind}; expected a string or a number")
    return str(identifier)


def _headings(text: str) -> list[tuple[str, int, int]]:
    """Title, first character and end of each heading of a Markdown text."""
    from markdown_it import MarkdownIt  # only where it is needed: questions start sooner

    lines = [0]
    for line in io.StringIO(text, newline=""):
        lines.append(lines[-1] + len(line))
    # What stands within a line is of no interest, and takes most of the time.
    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    return [
        (tokens[place + 1].content.strip(), lines[token.map[0]], lines[token.map[1]])
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and tokens[place + 1].content.strip()
    ]
