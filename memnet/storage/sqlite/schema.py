"""The schema of a database file: numbered steps, and what else in a file is refused.

SQLite keeps any value in any column, so that a damaged file may hold anything.
"""

import re
import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from memnet.storage.tables.connection import Connection
from memnet.storage.tables.schema import STEPS

# PRAGMA application_id of every database that memnet makes: "mnet".
APPLICATION_ID = 0x6D6E6574
# Each version with the statements that lead to it from the one before.
MIGRATIONS = {
    1: STEPS[1]
    + """
    CREATE VIRTUAL TABLE slot_text USING fts5 (
        title, text, content='slot', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER slot_text_insert AFTER INSERT ON slot WHEN new.kind <> 'reverse' BEGIN
        INSERT INTO slot_text (rowid, title, text) VALUES (new.id, new.title, new.text);
    END;
    CREATE TRIGGER slot_text_delete AFTER DELETE ON slot WHEN old.kind <> 'reverse' BEGIN
        INSERT INTO slot_text (slot_text, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END;

    CREATE TABLE revision (
        generation INTEGER PRIMARY KEY,
        commit_id INTEGER NOT NULL,
        last_slot INTEGER NOT NULL
    );
    CREATE TABLE tombstone (
        generation INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        PRIMARY KEY (generation, slot)
    ) WITHOUT ROWID;
    CREATE TRIGGER revision_made AFTER UPDATE ON property WHEN new.name = 'generation' BEGIN
        INSERT INTO revision VALUES (
            new.value, random(),
            ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'slot'), 0)
        );
    END;
    CREATE TRIGGER slot_deleted AFTER DELETE ON slot WHEN old.kind = 'passage' BEGIN
        INSERT OR IGNORE INTO tombstone
            SELECT value + 1, old.id FROM property WHERE name = 'generation';
    END;
    UPDATE property SET value = value + 1 WHERE name = 'generation';
    """
}

# Words by which a statement of a schema has others run later.
_ACTING = re.compile(r"\b(check|generated|default|as|trigger|view)\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def _known_schema() -> dict[tuple[str, str], set[str]]:
    """Kind and name of everything that any version's schema holds, with its statements."""
    known: dict[tuple[str, str], set[str]] = {}
    connection = sqlite3.connect(":memory:")
    try:
        for step in MIGRATIONS.values():
            connection.executescript(step)
            for kind, name, statement in connection.execute(
                "SELECT type, name, sql FROM sqlite_master"
            ):
                known.setdefault((kind, name), set()).add(_spaced(statement))
    finally:
        connection.close()
    return known


def _spaced(statement: object) -> str:
    return " ".join(str(statement).split())


def foreign(statements: Iterable[tuple[Any, ...]]) -> tuple[str, str] | None:
    """The first thing in a schema that memnet did not make, as kind and name.

    Args:
        statements: kind, name and statement of each thing, as SQLite lists them.
    """
    known = _known_schema()
    for kind, name, statement in statements:
        own = str(name).startswith(("sqlite_", "slot_text_")) and kind in ("table", "index")
        forms = known.get((kind, name), set())
        # What SQLite and its text search keep for themselves differs between their versions.
        acts = not own or _ACTING.search(str(statement))
        if acts and _spaced(statement) not in forms:
            return str(kind), str(name)
    return None


def _not_texts(column: str) -> str:
    """SQL for a column of a statement that is no JSON list of texts."""
    column = f'"{column}"'
    return (
        f"CASE WHEN json_valid({column}) THEN json_type({column}) <> 'array' OR EXISTS "
        f"(SELECT 1 FROM json_each({column}) AS element WHERE element.type <> 'text') ELSE 1 END"
    )


def has_wrong_values(connection: Connection) -> bool:
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
        "evicted_source",
        "statement_change",
        "eviction",
    ):
        columns = connection.rows(f"SELECT name, type FROM pragma_table_info('{table}')")
        wrong = " OR ".join(
            f"typeof(\"{name}\") NOT IN ('{kind.lower()}', 'null')" for name, kind in columns
        )
        if connection.one(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1") is not None:
            return True
    # The length of a text ends for SQLite where it holds a zero, and its JSON has no NaN.
    row = connection.one(
        "SELECT 1 FROM slot WHERE kind NOT IN ('passage', 'fact', 'reverse') "
        "OR (length(text) <> slot.end - start AND instr(text, char(0)) = 0) UNION ALL "
        "SELECT 1 FROM slot WHERE valid_from IS NULL AND NOT (usage BETWEEN 0 AND 1e11 "
        "AND used_at BETWEEN 0 AND 1e11) UNION ALL "
        "SELECT 1 FROM source WHERE NOT json_valid(metadata) "
        "AND NOT (metadata LIKE '%NaN%' OR metadata LIKE '%Infinity%') UNION ALL "
        "SELECT 1 FROM statement WHERE polarity NOT IN (0, 1) OR standing NOT IN (0, 1) "
        "OR told_at < 0 OR told_at > 1e11 OR certainty NOT IN ('is', 'was', 'planned', 'maybe') "
        "OR change NOT IN ('supersede', 'correct', 'end', 'contradict') "
        f"OR {_not_texts('aliases')} OR {_not_texts('values')} UNION ALL "
        "SELECT 1 FROM statement_change "
        "WHERE change NOT IN ('supersede', 'correct', 'end', 'contradict') UNION ALL "
        "SELECT 1 FROM eviction WHERE kind NOT IN ('message', 'statement') "
        "OR evicted_at < 0 OR evicted_at > 1e11 LIMIT 1"
    )
    return row is not None
