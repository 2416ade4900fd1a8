"""Looks for references to nothing, where no foreign key keeps them out."""

from memnet.storage.tables.connection import Connection

_REFERENCES = (
    ("slot_key", "symbol", "symbol"),
    ("slot_key", "slot", "slot"),
    ("mention", "symbol", "symbol"),
    ("mention", "slot", "slot"),
    ("link", "subject", "symbol"),
    ("link", "object", "symbol"),
    ("link", "relation", "vector"),
    ("link", "slot", "slot"),
    ("statement_name", "symbol", "symbol"),
)
_LAST_COMMIT = (
    "SELECT coalesce(max(generation), -1) <> "
    "(SELECT CAST(value AS bigint) FROM property WHERE name = 'generation') FROM revision"
)
_OFFSETS = "SELECT count(*) FROM slot WHERE length(text) <> slot.end - start"


def problems(connection: Connection) -> list[str]:
    """As ``Connection.problems``; files and types are the server's matter."""
    found: list[str] = []
    for table, column, referred in _REFERENCES:
        (wrong,) = connection.only(
            f"SELECT count(*) FROM {table} WHERE NOT EXISTS "
            f"(SELECT 1 FROM {referred} WHERE {referred}.id = {table}.{column})"
        )
        if wrong:
            found.append(f"{wrong} rows of {table} refer to a missing row of {referred}")
    if connection.only(_LAST_COMMIT)[0]:
        found.append("the last commit is not the one that its rows are of")
    if connection.only(_OFFSETS)[0]:
        found.append("holds values that memnet does not write")
    return found
