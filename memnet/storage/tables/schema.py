"""The tables that every database of a store has, as numbered steps in the SQL of SQLite.

Each database adds its text index and how it notes commits.
"""

# Each version with the statements that lead to it from the one before.
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
