"""The schema of the rows: what each version made it, and what else is refused.

Names in a database stay as they were: ``gone`` holds tombstones, ``mark`` a commit id, and sources
of kind "told" are statements.
"""

import re
import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

SCHEMA_VERSION = 10

MOVE_CHANGES = """
    INSERT INTO statement_change
        SELECT slot, changed_by, change, reason FROM statement
        WHERE changed_by IS NOT NULL AND reason IS NOT NULL
        AND (change = 'contradict' OR reason = 'A part of it holds no longer; the rest does.')
        ON CONFLICT DO NOTHING;
    UPDATE statement SET changed_by = NULL, change = NULL, reason = NULL
        WHERE change = 'contradict' OR reason = 'A part of it holds no longer; the rest does.';
"""
"""Changes that ended no statement stood in its row before schema 7, where the last one replaced the
others; bundles up to format 4 have them there."""
MIGRATIONS = {
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
        UNIQUE (namespace, name)
    );
    CREATE INDEX source_by_name ON source (name);

    CREATE TABLE vector (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL);

    CREATE TABLE slot (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source INTEGER NOT NULL REFERENCES source (id),
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        text TEXT NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        relation TEXT NOT NULL,
        value TEXT NOT NULL,
        vector INTEGER NOT NULL REFERENCES vector (id),
        digest BLOB NOT NULL,
        UNIQUE (source, digest)
    );
    CREATE INDEX slot_by_vector ON slot (vector);

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
    CREATE INDEX mention_by_symbol ON mention (symbol);

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
    """,
    2: """
    ALTER TABLE slot ADD COLUMN valid_from REAL;
    ALTER TABLE slot ADD COLUMN valid_until REAL;
    ALTER TABLE slot ADD COLUMN usage REAL NOT NULL DEFAULT 0;
    ALTER TABLE slot ADD COLUMN used REAL NOT NULL DEFAULT 0;
    ALTER TABLE slot ADD COLUMN relation_vector INTEGER REFERENCES vector (id);
    CREATE INDEX slot_by_start ON slot (valid_from) WHERE valid_from IS NOT NULL;
    CREATE INDEX slot_by_end ON slot (valid_until) WHERE valid_until IS NOT NULL;
    CREATE INDEX slot_by_relation_vector ON slot (relation_vector)
        WHERE relation_vector IS NOT NULL;

    DROP TRIGGER slot_text_delete;
    CREATE TRIGGER slot_text_delete AFTER DELETE ON slot
    WHEN old.kind <> 'reverse' AND old.valid_until IS NULL BEGIN
        INSERT INTO slot_text (slot_text, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END;
    CREATE TRIGGER slot_text_end AFTER UPDATE OF valid_until ON slot
    WHEN old.kind <> 'reverse' AND old.valid_until IS NULL AND new.valid_until IS NOT NULL BEGIN
        INSERT INTO slot_text (slot_text, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END;
    """,
    3: """
    CREATE TABLE link (
        subject INTEGER NOT NULL REFERENCES symbol (id),
        relation INTEGER NOT NULL REFERENCES vector (id),
        object INTEGER NOT NULL REFERENCES symbol (id),
        slot INTEGER NOT NULL REFERENCES slot (id),
        PRIMARY KEY (subject, relation, object, slot)
    ) WITHOUT ROWID;
    CREATE INDEX link_by_slot ON link (slot);
    INSERT INTO link
        SELECT slot_key.symbol, slot.vector, mention.symbol, slot.id FROM slot
        JOIN slot_key ON slot_key.slot = slot.id JOIN mention ON mention.slot = slot.id
        WHERE slot.kind <> 'passage';
    """,
    4: """
    CREATE INDEX source_by_origin ON source (namespace, origin);

    CREATE TABLE revision (
        generation INTEGER PRIMARY KEY,
        mark INTEGER NOT NULL,
        last_slot INTEGER NOT NULL
    );
    CREATE TABLE gone (
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
    CREATE TRIGGER slot_deleted AFTER DELETE ON slot
    WHEN old.kind = 'passage' AND old.valid_until IS NULL BEGIN
        INSERT INTO gone SELECT value + 1, old.id FROM property WHERE name = 'generation';
    END;
    CREATE TRIGGER slot_ended AFTER UPDATE OF valid_until ON slot
    WHEN old.kind = 'passage' AND old.valid_until IS NULL AND new.valid_until IS NOT NULL BEGIN
        INSERT INTO gone SELECT value + 1, old.id FROM property WHERE name = 'generation';
    END;
    UPDATE property SET value = value + 1 WHERE name = 'generation';
    """,
    5: """
    ALTER TABLE slot ADD COLUMN places TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE source ADD COLUMN headings TEXT NOT NULL DEFAULT '[]';
    CREATE TABLE file (
        namespace TEXT NOT NULL,
        path TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (namespace, path)
    ) WITHOUT ROWID;
    """,
    6: """
    CREATE TABLE statement (
        slot INTEGER PRIMARY KEY REFERENCES slot (id),
        namespace TEXT NOT NULL,
        aliases TEXT NOT NULL,
        relation TEXT NOT NULL,
        objects TEXT NOT NULL,
        polarity INTEGER NOT NULL,
        certainty TEXT NOT NULL,
        told REAL NOT NULL,
        standing INTEGER NOT NULL DEFAULT 0,
        speaker TEXT,
        changed_by INTEGER
            REFERENCES slot (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
        change TEXT,
        reason TEXT
    );
    CREATE INDEX slot_by_use ON slot (source, usage, used) WHERE valid_from IS NULL AND used > 0;
    CREATE TABLE evicted (
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (namespace, name)
    ) WITHOUT ROWID;
    CREATE INDEX statement_by_namespace ON statement (namespace);
    CREATE INDEX statement_by_time ON statement (told);
    CREATE INDEX statement_by_change ON statement (changed_by) WHERE changed_by IS NOT NULL;
    CREATE INDEX statement_by_speaker ON statement (slot) WHERE speaker IS NOT NULL;
    CREATE TABLE statement_name (
        symbol INTEGER NOT NULL REFERENCES symbol (id),
        namespace TEXT NOT NULL,
        slot INTEGER NOT NULL REFERENCES slot (id),
        PRIMARY KEY (symbol, namespace, slot)
    ) WITHOUT ROWID;
    CREATE INDEX statement_name_by_slot ON statement_name (slot);
    CREATE TABLE tell (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        told REAL NOT NULL,
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

    INSERT INTO statement (slot, namespace, aliases, relation, objects, polarity, certainty, told)
        SELECT slot.id, source.namespace, '[]', '', '[]', 1, 'is', slot.valid_from
        FROM slot JOIN source ON source.id = slot.source WHERE slot.valid_from IS NOT NULL;
    INSERT INTO statement_name
        SELECT slot_key.symbol, statement.namespace, statement.slot
        FROM statement JOIN slot_key ON slot_key.slot = statement.slot;
    INSERT INTO property SELECT 'unparsed', '1' WHERE EXISTS (SELECT 1 FROM statement);

    DROP TRIGGER slot_ended;
    DROP TRIGGER slot_text_end;
    DROP TRIGGER slot_deleted;
    DROP TRIGGER slot_text_delete;
    INSERT INTO slot_text (rowid, title, text)
        SELECT id, title, text FROM slot WHERE kind <> 'reverse' AND valid_until IS NOT NULL;
    CREATE TRIGGER slot_text_delete AFTER DELETE ON slot WHEN old.kind <> 'reverse' BEGIN
        INSERT INTO slot_text (slot_text, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END;
    CREATE TRIGGER slot_deleted AFTER DELETE ON slot WHEN old.kind = 'passage' BEGIN
        INSERT INTO gone SELECT value + 1, old.id FROM property WHERE name = 'generation';
    END;
    DELETE FROM revision WHERE EXISTS (SELECT 1 FROM slot WHERE valid_until IS NOT NULL);
    DELETE FROM gone WHERE NOT EXISTS (SELECT 1 FROM revision);
    UPDATE property SET value = value + 1 WHERE name = 'generation'
        AND EXISTS (SELECT 1 FROM slot WHERE valid_until IS NOT NULL);
    """,
    7: f"""
    CREATE TABLE statement_change (
        slot INTEGER NOT NULL REFERENCES statement (slot) ON DELETE CASCADE,
        changed_by INTEGER NOT NULL REFERENCES slot (id) ON DELETE CASCADE
            DEFERRABLE INITIALLY DEFERRED,
        change TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (slot, changed_by)
    ) WITHOUT ROWID;
    CREATE INDEX statement_change_by_changed_by ON statement_change (changed_by);
    INSERT OR IGNORE INTO statement_change
        SELECT journal.slot, changed_by, change, reason FROM journal
        WHERE slot IN (SELECT slot FROM statement) AND changed_by IN (SELECT id FROM slot)
        AND (change = 'contradict' OR reason = 'A part of it holds no longer; the rest does.')
        AND reason IS NOT NULL;
    UPDATE journal SET changed_by = NULL, change = NULL, reason = NULL
        WHERE change = 'contradict' OR reason = 'A part of it holds no longer; the rest does.';
    {MOVE_CHANGES}
    CREATE TABLE eviction (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        evicted REAL NOT NULL
    );
    CREATE INDEX eviction_by_source ON eviction (source);
    """,
    8: """
    CREATE TABLE quick_vector (
        vector INTEGER PRIMARY KEY REFERENCES vector (id) ON DELETE CASCADE,
        text TEXT NOT NULL
    );
    DROP TRIGGER slot_deleted;
    CREATE TRIGGER slot_deleted AFTER DELETE ON slot WHEN old.kind = 'passage' BEGIN
        INSERT OR IGNORE INTO gone
            SELECT value + 1, old.id FROM property WHERE name = 'generation';
    END;
    """,
    # Vectors in half precision, which earlier versions take for damage.
    9: "",
    # Vectors in eight bits, which earlier versions take for damage.
    10: "",
}


_ACTING = re.compile(r"\b(check|generated|default|as|trigger|view)\b", re.IGNORECASE)
"""Words by which a statement of a schema has others run later."""


@lru_cache(maxsize=1)
def _known_schema() -> dict[tuple[str, str], set[str]]:
    """Kind and name of everything that any version's schema holds, with its statements."""
    known: dict[tuple[str, str], set[str]] = {}
    connection = sqlite3.connect(":memory:")
    try:
        for number in range(1, SCHEMA_VERSION + 1):
            connection.executescript(MIGRATIONS[number])
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
    """The first thing of a schema that no version of memnet made, as kind and name.

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
