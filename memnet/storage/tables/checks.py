"""Looks for damage in the rows."""

from pathlib import Path

from memnet.errors import StoreError
from memnet.storage.tables import text
from memnet.storage.tables.database import Connection
from memnet.storage.tables.vectors import digest_of

_PAGE = 1000
"""Texts that are read together."""
_WRONG_ROWS = {
    "SELECT count(*) FROM slot WHERE valid_until < valid_from": (
        "{} statements ended before they began"
    ),
    "SELECT count(*) FROM slot "
    "WHERE (valid_from IS NOT NULL) <> (id IN (SELECT slot FROM statement))": (
        "{} slots are statements without a structure, or have one and are none"
    ),
    "SELECT count(*) FROM statement JOIN slot ON slot.id = statement.slot "
    "JOIN source ON source.id = slot.source WHERE source.namespace <> statement.namespace "
    "OR NOT EXISTS (SELECT 1 FROM statement_name WHERE statement_name.slot = statement.slot) "
    "<> NOT EXISTS (SELECT 1 FROM slot_key WHERE slot_key.slot = statement.slot)": (
        "{} statements can't be found by what they are about"
    ),
    "SELECT count(*) FROM statement JOIN slot ON slot.id = statement.slot "
    "JOIN source ON source.id = slot.source "
    "WHERE (statement.speaker IS NULL) <> (source.kind = 'told')": (
        "{} statements are of messages without a speaker, or have one and are of none"
    ),
    "SELECT count(*) FROM slot WHERE kind <> 'passage' AND NOT EXISTS (SELECT 1 FROM link "
    "WHERE link.slot = slot.id AND link.relation = slot.vector)": "{} facts can't be followed",
    "SELECT count(*) FROM quick_vector JOIN slot ON slot.vector = quick_vector.vector "
    "OR slot.relation_vector = quick_vector.vector "
    "WHERE slot.kind <> 'passage' OR slot.valid_from IS NOT NULL": (
        "{} facts or statements have quick vectors"
    ),
    "SELECT count(*) FROM "
    "(SELECT generation, last_slot FROM revision ORDER BY generation DESC LIMIT 1) "
    "WHERE generation <> (SELECT value + 0 FROM property WHERE name = 'generation') "
    "OR last_slot <> ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'slot'), 0)": (
        "the last commit is not the one that its rows are of"
    ),
}
"""Statements that count rows, and what it means where there are some."""


def problems(connection: Connection, dimension: int) -> list[str]:
    """What is wrong with the rows, a line each; empty when all is well."""
    found = [str(row[0]) for row in connection.rows("PRAGMA integrity_check") if row[0] != "ok"]
    found += [
        f"row {row[1]} of {row[0]} refers to a missing row of {row[2]}"
        for row in connection.rows("PRAGMA foreign_key_check")
    ]
    (wrong,) = connection.only(
        "SELECT count(*) FROM vector WHERE length(data) NOT IN (?, ?)", 4 * dimension, 2 * dimension
    )
    if wrong:
        found.append(f"{wrong} vectors have another width than {dimension}")
    if _has_wrong_values(connection):
        found.append("holds values that memnet does not write")
    wrong = _count_other_texts(connection)
    if wrong:
        found.append(f"{wrong} quick vectors are of other texts than noted")
    for statement, message in _WRONG_ROWS.items():
        (wrong,) = connection.only(statement)
        if wrong:
            found.append(message.format(wrong))
    found = [f"database: {problem}" for problem in found]
    return (
        found if text.agrees(connection) else [*found, "text search: does not agree with the slots"]
    )


def new_location(connection: Connection, database: Path, dimension: int) -> str | None:
    """Check a store that came here as a copy, which may have been taken during a write.

    Returns:
        Where the database is, for its property "place"; None if it says so already.

    Raises:
        StoreError: it is not whole.
    """
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


def _not_texts(column: str) -> str:
    """SQL for a column of a statement that is no JSON list of texts."""
    return (
        f"CASE WHEN json_valid({column}) THEN json_type({column}) <> 'array' OR EXISTS "
        f"(SELECT 1 FROM json_each({column}) AS element WHERE element.type <> 'text') ELSE 1 END"
    )


def _has_wrong_values(connection: Connection) -> bool:
    """Whether a column holds another type than its schema says, or what can't be used."""
    for table in (
        "property",
        "source",
        "vector",
        "quick_vector",
        "slot",
        "symbol",
        "statement",
        "tell",
        "journal",
        "evicted",
        "statement_change",
        "eviction",
    ):
        columns = connection.rows(f"SELECT name, type FROM pragma_table_info('{table}')")
        wrong = " OR ".join(
            f"typeof({name}) NOT IN ('{kind.lower()}', 'null')" for name, kind in columns
        )
        if connection.one(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1") is not None:
            return True
    # The length of a text ends for SQLite where it holds a zero, and its JSON has no NaN.
    row = connection.one(
        "SELECT 1 FROM slot WHERE kind NOT IN ('passage', 'fact', 'reverse') "
        "OR (length(text) <> end - start AND instr(text, char(0)) = 0) UNION ALL "
        "SELECT 1 FROM slot WHERE valid_from IS NULL AND NOT (usage BETWEEN 0 AND 1e11 "
        "AND used BETWEEN 0 AND 1e11) UNION ALL "
        "SELECT 1 FROM source WHERE NOT json_valid(metadata) "
        "AND NOT (metadata LIKE '%NaN%' OR metadata LIKE '%Infinity%') UNION ALL "
        "SELECT 1 FROM statement WHERE polarity NOT IN (0, 1) OR standing NOT IN (0, 1) "
        "OR told < 0 OR told > 1e11 OR certainty NOT IN ('is', 'was', 'planned', 'maybe') "
        "OR change NOT IN ('supersede', 'correct', 'end', 'contradict') "
        f"OR {_not_texts('aliases')} OR {_not_texts('objects')} UNION ALL "
        "SELECT 1 FROM statement_change "
        "WHERE change NOT IN ('supersede', 'correct', 'end', 'contradict') UNION ALL "
        "SELECT 1 FROM eviction WHERE kind NOT IN ('message', 'statement') "
        "OR evicted < 0 OR evicted > 1e11 LIMIT 1"
    )
    return row is not None
