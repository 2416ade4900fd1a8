"""What memnet itself defines as input: JSON lines, stories, and facts of lines and of tables."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from memnet.errors import EMPTY, InputError, Problem
from memnet.ingest.babi import read_stories
from memnet.loaders.document import Block, ParsedDocument, one_line, paragraphs
from memnet.types import Document, Fact


class PlacedFact(NamedTuple):
    """A fact and its span in its source."""

    fact: Fact
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class ParsedFacts:
    """The facts of one source."""

    name: str
    facts: tuple[PlacedFact, ...]
    origin: str = ""

    def digest(self) -> bytes:
        """Equal for equal content."""
        digest = hashlib.blake2b(b"facts", digest_size=16)
        for fact, text, start, _ in self.facts:
            # The text alone is not enough: a row of a table has other facts with another key.
            parts = (fact.subject, fact.relation, fact.object, text, start)
            digest.update(repr(parts).encode("utf-8", "surrogatepass"))
        return digest.digest()

    def size(self) -> int:
        """Characters, as a measure of what the facts cost to store."""
        return sum(len(placed.text) for placed in self.facts)


Parsed: TypeAlias = ParsedDocument | ParsedFacts


def parse_document(document: Document, origin: str = "") -> ParsedDocument:
    """A document as given: a block for each paragraph.

    Raises:
        InputError: its text is blank.
    """
    if not document.text.strip():
        raise InputError(f"document {document.id!r} has a blank 'text'; leave it out or fill it")
    blocks = tuple(Block("paragraph", start, end) for start, end in paragraphs(document.text))
    return ParsedDocument(
        document.id, document.title, document.text, blocks, origin, document.metadata
    )


def parse_stories(text: str, name: str, origin: str = "") -> Iterator[ParsedDocument | Problem]:
    """A document for each story of a text in bAbI's format, without a title.

    Each sentence is a block of its own. A single story has the name of the text, several add their
    numbers to it: ``name#1``.
    """
    stories = list(read_stories(text, origin or "standard input"))
    for number, story in enumerate(stories, start=1):
        if isinstance(story, Problem):
            yield story
        else:
            story_name = name if len(stories) == 1 else f"{name}#{number}"
            blocks = tuple(Block("paragraph", *span, opens=True) for span in story.spans)
            yield ParsedDocument(story_name, "", text, blocks, origin, kind="story")


def parse_json_lines(
    lines: Iterable[tuple[int, str] | Problem], where: str, origin: str
) -> Iterator[Parsed | Problem]:
    """Documents of numbered lines ``{"id", "title", "text", "metadata"?}``.

    Lines of a memory file of the MCP reference server become facts. ``where`` is what they come
    from, for ids and problems, ``origin`` the path of their file; empty without one.
    """
    empty = True
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif not line[1].strip():
            continue
        else:
            try:
                fields = _json_object(line[1])
                # A document has a text, a line of a memory graph has none.
                if fields.get("type") in ("entity", "relation") and "text" not in fields:
                    for fact in _graph_line_facts(fields):
                        yield fact_source(fact, origin)
                else:
                    document = _document(fields, f"{where}:{line[0]}")
                    yield parse_document(document, origin)
            except InputError as error:
                yield Problem(f"{where}, line {line[0]}", str(error))
        empty = False
    if empty:
        yield Problem(where, "is empty; there is nothing to remember in it", EMPTY)


def _json_object(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON ({error}); expected one object a line") from error
    if not isinstance(fields, dict):
        raise InputError(f"holds a JSON {type(fields).__name__}, expected an object with 'text'")
    return fields


def _document(fields: Mapping[str, Any], fallback_id: str) -> Document:
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


def fact_source(fact: Fact, origin: str = "") -> ParsedFacts:
    """A fact given by itself, as a source of its own; ``origin`` is the path of its file."""
    text = f"{fact.subject}\t{fact.relation}\t{fact.object}"
    name = f"{fact.subject} | {fact.relation} | {fact.object}"
    return ParsedFacts(name, (PlacedFact(fact, text, 0, len(text)),), origin)


def parse_fact_table(text: str, path: str, max_characters: int) -> Iterator[ParsedFacts | Problem]:
    """The facts of a file, one a line, as one source; and a problem for each bad line."""
    facts: list[PlacedFact] = []
    position = 0
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.rstrip("\r")
        if content.strip():
            try:
                fact = parse_fact(content, max_characters)
                facts.append(PlacedFact(fact, content, position, position + len(content)))
            except InputError as error:
                yield Problem(f"{path}, line {number}", str(error))
        position += len(line) + 1
    if facts:
        yield ParsedFacts(path, tuple(facts), path)


def parse_fact(line: str, max_characters: int) -> Fact:
    """The fact on one line, which is given without its end.

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


def _graph_line_facts(fields: Mapping[str, Any]) -> list[Fact]:
    """The facts of a line: a relation, or an entity's type ("is a") and observations.

    Raises:
        InputError: a field is missing, blank or of another type.
    """
    if fields["type"] == "relation":
        subject, relation, value = (_line(fields, key) for key in ("from", "relationType", "to"))
        return [Fact(subject=subject, relation=relation, object=value)]
    observations = fields.get("observations", [])
    if not isinstance(observations, list):
        kind = type(observations).__name__
        raise InputError(f"has 'observations' of type {kind}; expected a list of texts")
    name = _line(fields, "name")
    pairs = [("is a", _line(fields, "entityType"))]
    pairs += [("observation", _line({"observation": one}, "observation")) for one in observations]
    return [Fact(subject=name, relation=relation, object=value) for relation, value in pairs]


def _line(fields: Mapping[str, Any], key: str) -> str:
    """A text as one line: a fact's parts stand between tabs."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise InputError(f"has {key!r} of type {type(value).__name__}; expected a text")
    if not value.strip():
        raise InputError(f"has a blank {key!r}; fill it in")
    return one_line(value)


def table_facts(
    document: ParsedDocument, key: str | None, max_characters: int
) -> Iterator[ParsedFacts | Problem]:
    """The facts of all tables, as one source; and a problem for what makes none.

    The subject of a row is its cell in the column ``key``, the relations are the headers of the
    other columns, the objects their cells. Each fact has the span of its row. Rows without a key,
    cells without a header and tables without the column make no facts, nor do subjects, relations
    or objects of more than ``max_characters``. ``key`` is a header in any case; None means the
    first column of each table.
    """
    facts: list[PlacedFact] = []
    headers: dict[str, None] = {}
    has_key = False
    too_long = 0
    for rows in _tables(document):
        names = dict.fromkeys(cell.header for row in rows for cell in row.cells if cell.header)
        headers.update(names)
        column = _subject_column(rows, names, key)
        if column is None or not names:
            continue
        has_key = True
        for row in rows:
            text = document.text[row.start : row.end]
            subject = next((cell for cell in row.cells if cell.header == column), None)
            for cell in row.cells:
                if subject is None or not cell.header or cell.header == column:
                    continue
                fact = Fact(
                    subject=document.text[subject.start : subject.end],
                    relation=cell.header,
                    object=document.text[cell.start : cell.end],
                )
                if max(map(len, (fact.subject, fact.relation, fact.object))) > max_characters:
                    too_long += 1
                else:
                    facts.append(PlacedFact(fact, text, row.start, row.end))
    if too_long:
        yield Problem(
            document.name,
            f"has {too_long:,} table cell{'s' * (too_long != 1)} of more than "
            f"{max_characters:,} characters, which make no facts; shorten them",
        )
    if facts:
        yield ParsedFacts(document.name, tuple(facts), document.origin)
    elif not headers:
        yield Problem(
            document.name,
            "has no table whose first row names its columns, expected one to make facts of; add "
            "such a row, or read it without --facts",
        )
    elif not has_key:
        known = ", ".join(repr(name) for name in list(headers)[:20])
        yield Problem(document.name, f"has no column {key!r}, expected one of {known}")
    elif not too_long:
        yield Problem(
            document.name, "has no row with a key and another cell, expected some; fill them"
        )


def _tables(document: ParsedDocument) -> Iterator[list[Block]]:
    """The rows of each table, without those of its headers.

    A table ends where something else follows, or rows that share no column with it.
    """
    rows: list[Block] = []
    seen: set[str] = set()
    for block in document.blocks:
        headers = {cell.header for cell in block.cells}
        other = block.kind != "row" or block.opens or headers.isdisjoint(seen)
        if other and rows:
            yield rows
            rows, seen = [], set()
        if block.kind == "row" and block.cells:
            rows.append(block)
            seen |= headers
    if rows:
        yield rows


def _subject_column(rows: list[Block], names: dict[str, None], key: str | None) -> str | None:
    """The header of the column of subjects; None if the table does not have it."""
    if key is None:
        # Empty cells are left out of a row: the fullest row shows which column is the first.
        return max(rows, key=lambda row: len(row.cells)).cells[0].header
    wanted = one_line(key).casefold()
    return next((name for name in names if name.casefold() == wanted), None)
