"""Parsing facts: ``subject<TAB>relation<TAB>object`` or ``subject|relation|object``."""

from collections.abc import Iterator

from memnet.errors import InputError
from memnet.files import Problem
from memnet.ingest.parsed import ParsedFacts, PlacedFact
from memnet.types import Fact


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
