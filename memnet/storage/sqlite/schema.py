"""The schema of a database file: numbered steps, and what else in a file is refused.

SQLite keeps any value in any column, so that a damaged file may hold anything.
"""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import lru_cache
from typing import Any

from memnet.storage.lexical import TOKENIZER
from memnet.storage.tables.connection import Connection

# PRAGMA application_id of every database that memnet makes: "mnet".
APPLICATION_ID = 0x6D6E6574
# The tables that every database of a store has: each version with the statements that lead to it
# from the one before.
STEPS = {
    1: """
    CREATE TABLE property (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO property VALUES ('generation', '0');

    CREATE TABLE source (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        title TEXT NOT NULL,
        metadata TEXT NOT NULL,
        digest BLOB NOT NULL,
        headings TEXT NOT NULL DEFAULT '[]',
        UNIQUE (namespace, name)
    );
    CREATE INDEX source_by_name ON source (name);
    CREATE INDEX source_by_origin ON source (namespace, origin);
    CREATE TABLE file (
        namespace TEXT NOT NULL,
        path TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (namespace, path)
    ) WITHOUT ROWID;

    CREATE TABLE vector (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL);
    CREATE TABLE quick_vector (
        vector INTEGER PRIMARY KEY REFERENCES vector (id) ON DELETE CASCADE,
        text TEXT NOT NULL
    );
    CREATE TABLE unit_key (
        vector INTEGER PRIMARY KEY REFERENCES vector (id) ON DELETE CASCADE,
        keys BLOB NOT NULL
    );

    CREATE TABLE slot (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source INTEGER NOT NULL REFERENCES source (id),
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        text TEXT NOT NULL,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        relation TEXT NOT NULL,
        value TEXT NOT NULL,
        vector INTEGER NOT NULL REFERENCES vector (id),
        digest BLOB NOT NULL,
        valid_from REAL,
        valid_until REAL,
        usage REAL NOT NULL DEFAULT 0,
        used_at REAL NOT NULL DEFAULT 0,
        relation_vector INTEGER REFERENCES vector (id),
        places TEXT NOT NULL DEFAULT '[]',
        UNIQUE (source, digest)
    );
    CREATE INDEX slot_by_vector ON slot (vector);
    CREATE INDEX slot_by_start ON slot (valid_from) WHERE valid_from IS NOT NULL;
    CREATE INDEX slot_by_end ON slot (valid_until) WHERE valid_until IS NOT NULL;
    CREATE INDEX slot_by_relation_vector ON slot (relation_vector)
        WHERE relation_vector IS NOT NULL;
    CREATE INDEX slot_by_use ON slot (source, usage, used_at)
        WHERE valid_from IS NULL AND used_at > 0;

    CREATE TABLE symbol (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE slot_key (
        symbol INTEGER NOT NULL REFERENCES symbol (id),
        slot INTEGER NOT NULL REFERENCES slot (id),
        PRIMARY KEY (symbol, slot)
    ) WITHOUT ROWID;
    CREATE INDEX slot_key_by_slot ON slot_key (slot);
    CREATE TABLE mention (
        slot INTEGER NOT NULL REFERENCES slot (id),
        symbol INTEGER NOT NULL REFERENCES symbol (id),
        PRIMARY KEY (slot, symbol)
    ) WITHOUT ROWID;
    CREATE INDEX mention_by_symbol ON mention (symbol, slot);
    CREATE TABLE link (
        subject INTEGER NOT NULL REFERENCES symbol (id),
        relation INTEGER NOT NULL REFERENCES vector (id),
        object INTEGER NOT NULL REFERENCES symbol (id),
        slot INTEGER NOT NULL REFERENCES slot (id),
        PRIMARY KEY (subject, relation, object, slot)
    ) WITHOUT ROWID;
    CREATE INDEX link_by_slot ON link (slot);

    CREATE TABLE statement (
        slot INTEGER PRIMARY KEY REFERENCES slot (id),
        namespace TEXT NOT NULL,
        aliases TEXT NOT NULL,
        relation TEXT NOT NULL,
        "values" TEXT NOT NULL,
        polarity INTEGER NOT NULL,
        certainty TEXT NOT NULL,
        told_at REAL NOT NULL,
        standing INTEGER NOT NULL DEFAULT 0,
        speaker TEXT,
        changed_by INTEGER
            REFERENCES slot (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
        change TEXT,
        reason TEXT
    );
    CREATE INDEX statement_by_namespace ON statement (namespace, slot);
    CREATE INDEX statement_by_time ON statement (told_at);
    CREATE INDEX statement_by_change ON statement (changed_by) WHERE changed_by IS NOT NULL;
    CREATE INDEX statement_by_speaker ON statement (slot) WHERE speaker IS NOT NULL;
    CREATE TABLE statement_name (
        symbol INTEGER NOT NULL REFERENCES symbol (id),
        namespace TEXT NOT NULL,
        slot INTEGER NOT NULL REFERENCES slot (id),
        PRIMARY KEY (symbol, namespace, slot)
    ) WITHOUT ROWID;
    CREATE INDEX statement_name_by_slot ON statement_name (slot);
    CREATE TABLE statement_change (
        slot INTEGER NOT NULL REFERENCES statement (slot) ON DELETE CASCADE,
        changed_by INTEGER NOT NULL REFERENCES slot (id) ON DELETE CASCADE
            DEFERRABLE INITIALLY DEFERRED,
        change TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (slot, changed_by)
    ) WITHOUT ROWID;
    CREATE INDEX statement_change_by_changed_by ON statement_change (changed_by);

    CREATE TABLE tell (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        told_at REAL NOT NULL,
        source INTEGER REFERENCES source (id),
        erased INTEGER NOT NULL
    );
    CREATE INDEX tell_by_namespace ON tell (namespace) WHERE source IS NULL;
    CREATE INDEX tell_by_source ON tell (source) WHERE source IS NOT NULL;
    CREATE TABLE journal (
        tell INTEGER NOT NULL REFERENCES tell (id),
        slot INTEGER NOT NULL,
        added INTEGER NOT NULL,
        standing INTEGER NOT NULL,
        valid_until REAL,
        changed_by INTEGER,
        change TEXT,
        reason TEXT,
        usage REAL NOT NULL,
        PRIMARY KEY (tell, slot)
    ) WITHOUT ROWID;
    CREATE INDEX journal_by_change ON journal (changed_by) WHERE changed_by IS NOT NULL;
    CREATE TABLE eviction (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        evicted_at REAL NOT NULL
    );
    CREATE INDEX eviction_by_source ON eviction (source);
    CREATE TABLE evicted_source (
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (namespace, name)
    ) WITHOUT ROWID;
    """
}
# Each database adds its text index and how it notes commits.
MIGRATIONS = {
    1: STEPS[1]
    + f"""
    CREATE VIRTUAL TABLE slot_text USING fts5 (title, text, content='', tokenize={TOKENIZER});

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
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in MIGRATIONS.values():
            connection.executescript(step)
            for kind, name, statement in connection.execute(
                "SELECT type, name, sql FROM sqlite_master"
            ):
                known.setdefault((kind, name), set()).add(_spaced(statement))
    return known


def _spaced(statement: object) -> str:
    return " ".join(str(statement).split())


def foreign(statements: Iterable[tuple[Any, ...]]) -> tuple[str, str] | None:
    """The first thing in a schema, as kind, name and statement, that memnet did not make."""
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
        "property source vector quick_vector unit_key slot symbol statement tell journal "
        "evicted_source statement_change eviction"
    ).split():
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
