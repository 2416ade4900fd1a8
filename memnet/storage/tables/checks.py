"""Looks for damage in the rows."""

from pathlib import Path

from memnet.errors import StoreError
from memnet.storage.tables.connection import UNUSED_SYMBOL, UNUSED_VECTOR, Connection
from memnet.storage.tables.vectors import digest_of
from memnet.storage.values import UNIT_WIDTH

_PAGE = 1000  # texts that are read together
# Statements that count rows, and what it means where there are some.
_WRONG_ROWS = {
    "SELECT count(*) FROM source WHERE kind NOT IN ('document', 'story', 'facts', 'statement')": (
        "{} sources are of an unknown kind"
    ),
    "SELECT count(*) FROM vector WHERE length(digest) <> 16": "{} vectors have a wrong digest",
    "SELECT count(*) FROM slot WHERE valid_until < valid_from": (
        "{} statements ended before they began"
    ),
    "SELECT count(*) FROM slot "
    "WHERE (valid_from IS NOT NULL) <> (id IN (SELECT slot FROM statement))": (
        "{} slots are statements without a structure, or have one and are none"
    ),
    "SELECT count(*) FROM statement JOIN slot ON slot.id = statement.slot "
    "JOIN source ON source.id = slot.source WHERE source.namespace <> statement.namespace "
    "OR (NOT EXISTS (SELECT 1 FROM statement_name WHERE statement_name.slot = statement.slot)) "
    "<> (NOT EXISTS (SELECT 1 FROM slot_key WHERE slot_key.slot = statement.slot))": (
        "{} statements can't be found by what they are about"
    ),
    "SELECT count(*) FROM statement JOIN slot ON slot.id = statement.slot "
    "JOIN source ON source.id = slot.source "
    "WHERE (statement.speaker IS NULL) <> (source.kind = 'statement')": (
        "{} statements are of messages without a speaker, or have one and are of none"
    ),
    "SELECT count(*) FROM slot WHERE kind <> 'passage' AND NOT EXISTS (SELECT 1 FROM link "
    "WHERE link.slot = slot.id AND link.relation = slot.vector)": "{} facts can't be followed",
    "SELECT count(*) FROM quick_vector JOIN slot ON slot.vector = quick_vector.vector "
    "OR slot.relation_vector = quick_vector.vector "
    "WHERE slot.kind <> 'passage' OR slot.valid_from IS NOT NULL": (
        "{} facts or statements have quick vectors"
    ),
    f"SELECT count(*) FROM unit_key WHERE length(keys) = 0 "
    f"OR length(keys) / {UNIT_WIDTH} * {UNIT_WIDTH} <> length(keys)": (
        f"{{}} keys of units are not of the width {UNIT_WIDTH}"
    ),
}


def problems(connection: Connection, dimension: int) -> list[str]:
    """What is wrong with the database, a line each; empty when all is well."""
    found = connection.file_problems() + row_problems(connection, dimension)
    found = [f"database: {problem}" for problem in found]
    if not connection.text.agrees():
        found.append("text search: does not agree with the slots")
    return found


def row_problems(connection: Connection, dimension: int) -> list[str]:
    """What is wrong with the rows, a line each."""
    found = connection.problems()
    (wrong,) = connection.only("SELECT count(*) FROM vector WHERE length(data) <> ?", 2 * dimension)
    if wrong:
        found.append(f"{wrong} vectors have another width than {dimension}")
    wrong = _count_other_texts(connection)
    if wrong:
        found.append(f"{wrong} quick vectors are of other texts than noted")
    for statement, message in _WRONG_ROWS.items():
        (wrong,) = connection.only(statement)
        if wrong:
            found.append(message.format(wrong))
    return found


def unused(connection: Connection) -> tuple[list[int], list[int]]:
    """Ids of symbols and vectors that nothing uses, as a write that was cut off may leave them.

    A change under way may be about to use some: only ``Connection.delete_unused`` may delete them.
    """
    symbols = connection.rows(f"SELECT id FROM symbol WHERE {UNUSED_SYMBOL}")
    vectors = connection.rows(f"SELECT id FROM vector WHERE {UNUSED_VECTOR}")
    return [row[0] for row in symbols], [row[0] for row in vectors]


def new_location(connection: Connection, database: Path, dimension: int) -> str | None:
    """Check a store that was copied here; gives its property "place", or None if it is known."""
    file = database.stat()
    location = f"{file.st_dev} {file.st_ino}"
    if connection.property("place") == location:
        return None
    found = problems(connection, dimension)
    if found:
        raise StoreError(
            f"the store {database.parent} is damaged ({found[0]}), as a copy is that was taken "
            "while something wrote to the store; copy it again when nothing does"
        )
    return location


def _count_other_texts(connection: Connection) -> int:
    """How many quick vectors are noted with a text that is not the one of their digest."""
    count, last = 0, 0
    while page := connection.rows(
        "SELECT quick_vector.vector, quick_vector.text, vector.digest FROM quick_vector "
        "JOIN vector ON vector.id = quick_vector.vector WHERE quick_vector.vector > ? "
        "ORDER BY quick_vector.vector LIMIT ?",
        last,
        _PAGE,
    ):
        count += sum(digest_of(text) != digest for _, text, digest in page)
        last = page[-1][0]
    return count
