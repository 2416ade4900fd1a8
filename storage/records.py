"""The rows of a store: the only place that knows SQL, and the only truth about what is stored."""

import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.slots import (
    Changes,
    DigestedSlot,
    Keys,
    NewSource,
    Revision,
    Slot,
    SourceState,
    StoreCounts,
    Symbols,
    Usage,
)

SCHEMA_VERSION = 4

_MIGRATIONS = {
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
}

_SLOT_COLUMNS = """slot.id, slot.kind, source.name, source.namespace, slot.title, slot.text,
    slot.start, slot.end, slot.relation, slot.value, slot.valid_from, slot.valid_until"""
_BUNDLED = (
    "id", "source", "kind", "title", "text", "start", "end", "relation", "value", "vector",
    "relation_vector", "digest", "valid_from", "valid_until", "usage", "used",
)  # fmt: skip
_SEARCHED_TEXTS = "FROM slot WHERE kind <> 'reverse' AND valid_until IS NULL"
_NONE = np.empty(0, np.int64)
_LISTED = "IN (SELECT value FROM json_each(?))"


_ACTING = re.compile(r"\b(check|generated|default|as|trigger|view)\b", re.IGNORECASE)
"""Words by which a statement of a schema has others run later."""


@lru_cache(maxsize=1)
def _known_schema() -> dict[tuple[str, str], set[str]]:
    """Kind and name of everything that any version's schema holds, with its statements."""
    known: dict[tuple[str, str], set[str]] = {}
    connection = sqlite3.connect(":memory:")
    try:
        for number in range(1, SCHEMA_VERSION + 1):
            connection.executescript(_MIGRATIONS[number])
            for kind, name, statement in connection.execute(
                "SELECT type, name, sql FROM sqlite_master"
            ):
                known.setdefault((kind, name), set()).add(_spaced(statement))
    finally:
        connection.close()
    return known


def _spaced(statement: object) -> str:
    return " ".join(str(statement).split())


class Tokenizer:
    """Takes words apart as the text search does, by a text search of its own in memory."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            "CREATE VIRTUAL TABLE given USING fts5 "
            "(word, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._connection.execute("CREATE VIRTUAL TABLE token USING fts5vocab(given, instance)")

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """The tokens of each word, in their order."""
        found: list[list[str]] = [[] for _ in words]
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany(
                "INSERT INTO given (rowid, word) VALUES (?, ?)", enumerate(words)
            )
            for place, token in self._connection.execute(
                "SELECT doc, term FROM token ORDER BY doc, offset"
            ):
                found[place].append(token)
        finally:
            self._connection.execute("ROLLBACK")
        return found


class Records:
    """One connection to the rows of a store.

    A connection belongs to one thread. Reads outside ``transaction`` see the last commit.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the database at ``path``, without changing its schema.

        Raises:
            StoreError: the file is no database, is damaged, or is newer than this version.
        """
        self.changing = False
        """Whether a transaction is under way that may change what is stored."""
        self._closed = False
        self._tokenizer: Tokenizer | None = None
        self._guard = threading.RLock()
        self._process = os.getpid()
        try:
            self._connection = sqlite3.connect(
                _address(path, read_only),
                uri=True,
                isolation_level=None,
                timeout=10,
                check_same_thread=False,
            )
            # Before anything that could change the file.
            self.schema_version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
            self._check_schema(path)
            if not read_only:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA cell_size_check = ON")
            self._connection.execute(
                "CREATE VIRTUAL TABLE temp.slot_token USING fts5vocab(main, slot_text, instance)"
            )
        except sqlite3.DatabaseError as error:
            raise StoreError(_why_not_opened(path, read_only, error)) from error
        self._refuse_foreign_schema(path)

    def close(self) -> None:
        """Close the connection, once the statement or transaction under way has ended.

        To close it under a thread that uses it would end the process.
        """
        with self._guard:
            self._closed = True
            self._connection.close()
            if self._tokenizer is not None:
                self._tokenizer.close()

    def migrate(self) -> None:
        """Bring the schema up to date; the caller holds the store's writer lock."""
        # Another process may have done so while this one waited for the lock.
        self.schema_version = int(self._only("PRAGMA user_version")[0])
        for number in range(self.schema_version + 1, SCHEMA_VERSION + 1):
            with self._changes():
                self._connection.executescript(
                    f"BEGIN IMMEDIATE; {_MIGRATIONS[number]} PRAGMA user_version = {number}; COMMIT"
                )
            self.schema_version = number

    @contextmanager
    def transaction(self, advance: bool = True) -> Iterator[None]:
        """Everything inside happens, or nothing does; a commit advances the generation.

        Args:
            advance: False where no slot comes, ends or goes, and the vector index stays as it is.

        Raises:
            StoreError: the database can't be written (read-only, full, damaged).
        """
        with self._changes():
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            if advance:
                self._connection.execute(
                    "UPDATE property SET value = value + 1 WHERE name = 'generation'"
                )
            self._connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Every read inside sees the same commit."""
        with self._guard:
            if self._connection.in_transaction:
                yield
                return
            self._rows("BEGIN")
            try:
                yield
            except sqlite3.DatabaseError as error:
                raise StoreError(
                    f"the store could not be read ({error}); run 'memnet verify' on it"
                ) from error
            finally:
                self._roll_back()

    # Properties -----------------------------------------------------------------------------

    def property(self, name: str) -> str | None:
        """The value of a named property of the store, or None."""
        row = self._one("SELECT value FROM property WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Set a named property of the store."""
        self._connection.execute("INSERT OR REPLACE INTO property VALUES (?, ?)", (name, value))

    # Revisions ------------------------------------------------------------------------------

    def revision(self) -> Revision:
        """The last commit that changed what is stored."""
        row = self._only(
            "SELECT generation, mark, last_slot FROM revision ORDER BY generation DESC LIMIT 1"
        )
        return Revision(*map(_integer, row))

    def revision_of(self, mark: int) -> Revision | None:
        """The commit with this mark; None where the store never was there, or forgot it since."""
        row = self._one("SELECT generation, mark, last_slot FROM revision WHERE mark = ?", mark)
        return None if row is None else Revision(*map(_integer, row))

    def changes_since(self, revision: Revision) -> Changes:
        """How the slots that vector search covers differ from those of an earlier commit.

        No id is used twice and no slot becomes valid again: what came since then has a higher id,
        and what went is listed.
        """
        added = self._rows(
            "SELECT id FROM slot WHERE id > ? AND kind = 'passage' AND valid_until IS NULL",
            revision.last_slot,
        )
        removed = self._rows("SELECT slot FROM gone WHERE generation > ?", revision.generation)
        return Changes(
            np.fromiter((row[0] for row in added), np.int64),
            np.fromiter((row[0] for row in removed), np.int64),
        )

    def forget_revisions(self, before: Revision) -> None:
        """Forget how the slots changed before a commit; nobody can ask for it any longer."""
        self._connection.execute("DELETE FROM revision WHERE generation < ?", (before.generation,))
        self._connection.execute("DELETE FROM gone WHERE generation <= ?", (before.generation,))

    # Writing --------------------------------------------------------------------------------

    def source_states(self, names: Iterable[str], namespace: str) -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that the store holds."""
        rows = self._rows(
            f"SELECT name, digest, origin FROM source WHERE namespace = ? AND name {_LISTED}",
            namespace,
            _json(names),
        )
        return {name: SourceState(digest, origin) for name, digest, origin in rows}

    def start_run(self) -> None:
        """Forget which sources a run of this thread has met; they are kept on disk, not here."""
        self._connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS met "
            "(name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID"
        )
        self._connection.execute("DELETE FROM temp.met")

    def meet(self, name: str, digest: bytes) -> bytes | None:
        """Note that a run meets a source; returns its digest if the run has met it before."""
        row = self._one("SELECT digest FROM temp.met WHERE name = ?", name)
        if row is not None:
            return bytes(row[0])
        self._connection.execute("INSERT INTO temp.met VALUES (?, ?)", (name, digest))
        return None

    def not_met(self, namespace: str, origin: str) -> dict[str, str]:
        """Origins of the sources of a file, or of those below a folder, that were not met."""
        found = "SELECT name, origin FROM source WHERE namespace = ?1 AND"
        new = "name NOT IN (SELECT name FROM temp.met)"
        # A folder's files lie between its name with "/" and with the next character, "0".
        rows = self._rows(
            f"{found} origin = ?2 AND {new} "
            f"UNION ALL {found} origin > ?2 || '/' AND origin < ?2 || '0' AND {new}",
            namespace,
            origin,
        )
        return dict(rows)

    def missing_vectors(self, digests: Iterable[bytes]) -> set[bytes]:
        """Those of the digests for which no vector is stored."""
        wanted = set(digests)
        for digest in list(wanted):
            if self._one("SELECT 1 FROM vector WHERE digest = ?", digest) is not None:
                wanted.discard(digest)
        return wanted

    def add_vectors(self, vectors: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """Store vectors under the digest of what they encode."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO vector (digest, data) VALUES (?, ?)",
            ((digest, vector.astype("<f4").tobytes()) for digest, vector in vectors),
        )

    def put_source(
        self, source: NewSource, slots: Sequence[DigestedSlot]
    ) -> tuple[list[int], list[int]]:
        """Give a source these slots, leaving those that it has already untouched.

        Slots that it should no longer have are for the caller to delete, once every source of the
        transaction is put: until then other sources may come to share their vectors.

        Args:
            source: the source.
            slots: its slots with their digests; the vectors they name must be stored.

        Returns:
            Ids of the slots that were added, and of those that are to be deleted.
        """
        source_id = self._put_source_row(source)
        kept = {
            digest: slot
            for slot, digest in self._rows(
                "SELECT id, digest FROM slot WHERE source = ?", source_id
            )
        }
        wanted = {item.digest: item for item in slots}
        outdated = [slot for digest, slot in kept.items() if digest not in wanted]
        new = [item for digest, item in wanted.items() if digest not in kept]
        return self._add_slots(source_id, new), outdated

    def delete_slots(self, ids: Sequence[int]) -> None:
        """Delete slots, and the symbols and vectors that nothing else uses."""
        if not ids:
            return
        listed = _json(ids)
        symbols = _json(
            row[0]
            for row in self._rows(
                f"SELECT symbol FROM slot_key WHERE slot {_LISTED} "
                f"UNION SELECT symbol FROM mention WHERE slot {_LISTED}",
                listed,
                listed,
            )
        )
        vectors = _json(
            row[0]
            for row in self._rows(
                f"SELECT vector FROM slot WHERE id {_LISTED} "
                "UNION SELECT relation_vector FROM slot "
                f"WHERE id {_LISTED} AND relation_vector IS NOT NULL",
                listed,
                listed,
            )
        )
        for table in ("link", "slot_key"):
            self._connection.execute(f"DELETE FROM {table} WHERE slot {_LISTED}", (listed,))
        self._connection.execute(f"DELETE FROM mention WHERE slot {_LISTED}", (listed,))
        self._connection.execute(f"DELETE FROM slot WHERE id {_LISTED}", (listed,))
        self._connection.execute(
            f"DELETE FROM symbol WHERE id {_LISTED} AND id NOT IN (SELECT symbol FROM slot_key) "
            "AND NOT EXISTS (SELECT 1 FROM mention WHERE mention.symbol = symbol.id)",
            (symbols,),
        )
        self._connection.execute(
            f"DELETE FROM vector WHERE id {_LISTED} "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.vector = vector.id) "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.relation_vector = vector.id)",
            (vectors,),
        )

    def delete_sources(self, names: Iterable[str], namespace: str | None) -> list[int]:
        """Delete sources with everything made from them; returns the ids of their slots."""
        chosen = [
            row[0]
            for row in self._rows(
                f"SELECT id FROM source WHERE name {_LISTED} AND (?2 IS NULL OR namespace = ?2)",
                _json(names),
                namespace,
            )
        ]
        slots = [
            row[0]
            for row in self._rows(f"SELECT id FROM slot WHERE source {_LISTED}", _json(chosen))
        ]
        self.delete_slots(slots)
        self._connection.execute(f"DELETE FROM source WHERE id {_LISTED}", (_json(chosen),))
        return slots

    def rebuild_text(self) -> None:
        """Make the text search anew from the slots."""
        self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('delete-all')")
        self._connection.execute(
            f"INSERT INTO slot_text (rowid, title, text) SELECT id, title, text {_SEARCHED_TEXTS}"
        )

    # Told statements ------------------------------------------------------------------------

    def new_told_name(self) -> str:
        """A source name for something told that no source has, or had for something told."""
        number = _integer(self.property("told") or 0) + 1
        while self.existing_names([f"told/{number}"]):
            number += 1
        self.set_property("told", str(number))
        return f"told/{number}"

    def told(self, symbol: str, namespace: str | None) -> list[Slot]:
        """Told statements about a symbol, those that ended as well, in the order of their times."""
        rows = self._rows(
            f"""SELECT {_SLOT_COLUMNS} FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
            JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
            WHERE symbol.name = ?1 AND slot.valid_from IS NOT NULL
            AND (?2 IS NULL OR source.namespace = ?2) ORDER BY slot.valid_from, slot.id""",
            symbol,
            namespace,
        )
        return [_slot(row) for row in rows]

    def latest_time(self) -> float:
        """The latest time at which a told statement began or ended; 0 without any."""
        row = self._only(
            "SELECT (SELECT max(valid_from) FROM slot WHERE valid_from IS NOT NULL), "
            "(SELECT max(valid_until) FROM slot WHERE valid_until IS NOT NULL)"
        )
        return max(float(value or 0) for value in row)

    def end_slots(self, ids: Iterable[int], at: float) -> list[int]:
        """Close the validity of those of the slots that were told and are valid; returns them."""
        rows = self._rows(
            f"UPDATE slot SET valid_until = ? WHERE id {_LISTED} "
            "AND valid_from IS NOT NULL AND valid_until IS NULL RETURNING id",
            at,
            _json(ids),
        )
        return [row[0] for row in rows]

    def erase_slots(self, ids: Sequence[int]) -> None:
        """Delete slots, and told sources that have no slot left."""
        sources = self._rows(f"SELECT DISTINCT source FROM slot WHERE id {_LISTED}", _json(ids))
        self.delete_slots(ids)
        self._connection.execute(
            f"DELETE FROM source WHERE id {_LISTED} AND kind = 'told' "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.source = source.id)",
            (_json(row[0] for row in sources),),
        )

    def usage(self, ids: Iterable[int] | None = None) -> list[Usage]:
        """What is known of the use of told slots, by rising id; None for all of them."""
        rows = self._rows(
            "SELECT id, usage, used, valid_until FROM slot WHERE valid_from IS NOT NULL "
            "AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1))) ORDER BY id",
            None if ids is None else _json(ids),
        )
        return [Usage(slot, usage, used, until is None) for slot, usage, used, until in rows]

    def set_usage(self, usages: Iterable[tuple[int, float]], at: float) -> None:
        """Set the usage of slots, as (id, usage), at this time."""
        self._connection.executemany(
            "UPDATE slot SET usage = ?, used = ? WHERE id = ?",
            ((usage, at, slot) for slot, usage in usages),
        )

    # Reading --------------------------------------------------------------------------------

    def counts(self) -> StoreCounts:
        """How much is stored."""
        row = self._only(
            """SELECT (SELECT count(*) FROM slot),
                (SELECT count(*) FROM source WHERE kind = 'document'),
                (SELECT count(*) FROM slot WHERE kind = 'fact'),
                (SELECT count(*) FROM symbol WHERE id IN (SELECT symbol FROM slot_key)),
                (SELECT value FROM property WHERE name = 'generation'),
                (SELECT count(*) FROM slot WHERE valid_until IS NOT NULL)"""
        )
        return StoreCounts(*(_integer(value) for value in row))

    def existing_names(self, names: Iterable[str]) -> set[str]:
        """Those of the names that are sources in some namespace."""
        return {
            row[0]
            for row in self._rows(f"SELECT name FROM source WHERE name {_LISTED}", _json(names))
        }

    def slots(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order; ids that are not stored are left out."""
        rows = self._rows(
            f"SELECT {_SLOT_COLUMNS} FROM slot JOIN source ON source.id = slot.source "
            f"WHERE slot.id {_LISTED}",
            _json(ids),
        )
        found = {row[0]: _slot(row) for row in rows}
        return [found[slot] for slot in ids if slot in found]

    def last_passages(self, namespace: str | None, limit: int) -> list[Slot]:
        """The last ``limit`` valid passages in the order of their sources and texts."""
        rows = self._rows(
            f"""SELECT {_SLOT_COLUMNS} FROM slot JOIN source ON source.id = slot.source
            WHERE slot.kind = 'passage' AND slot.valid_until IS NULL
                AND (?1 IS NULL OR source.namespace = ?1)
            ORDER BY source.id DESC, slot.start DESC LIMIT ?2""",
            namespace,
            limit,
        )
        return [_slot(row) for row in reversed(rows)]

    def keys(self, ids: Sequence[int], dimension: int) -> Keys:
        """Key vectors, ``dimension`` wide, of those slots that are stored, in their order."""
        if not ids:
            return Keys(np.empty(0, np.int64), _numbers([], dimension), np.empty(0, np.bool_), ())
        rows = self._rows(
            "SELECT slot.id, slot.kind <> 'passage', vector.data, "
            "CASE slot.kind WHEN 'passage' THEN '' ELSE slot.relation END "
            f"FROM slot JOIN vector ON vector.id = slot.vector WHERE slot.id {_LISTED}",
            _json(ids),
        )
        found = {row[0]: row for row in rows}
        present = [found[slot] for slot in ids if slot in found]
        return Keys(
            np.array([row[0] for row in present], np.int64),
            _numbers([row[2] for row in present], dimension),
            np.array([row[1] for row in present], np.bool_),
            tuple(row[3] for row in present),
        )

    def relation_vectors(self, ids: Sequence[int], dimension: int) -> NDArray[np.float32]:
        """Relation vectors of told slots, [K, D] float32 in the order of the ids."""
        rows = self._rows(
            "SELECT slot.id, vector.data FROM slot JOIN vector ON vector.id = slot.relation_vector "
            f"WHERE slot.id {_LISTED}",
            _json(ids),
        )
        found = dict(rows)
        return _numbers([found.get(slot) for slot in ids], dimension)

    def dense_ids(self) -> NDArray[np.int64]:
        """Ids of the slots that vector search covers, in rising order: [N] int64.

        Facts are left out: they share the vectors of their relations, and are found by symbol. So
        is what is valid no longer.
        """
        rows = self._rows(
            "SELECT id FROM slot WHERE kind = 'passage' AND valid_until IS NULL ORDER BY id"
        )
        return np.fromiter((row[0] for row in rows), np.int64)

    def lexical(
        self, terms: Sequence[str], limit: int, namespace: str | None
    ) -> list[tuple[int, float]]:
        """Slots that hold any of the terms, best first, as (id, BM25); for any number of slots."""
        if not terms:
            return []
        within = (
            ""
            if namespace is None
            else "AND rowid IN (SELECT slot.id FROM slot JOIN source ON source.id = slot.source "
            "WHERE source.namespace = ?3) "
        )
        parameters: list[Any] = [" OR ".join(f'"{term}"' for term in terms), limit]
        rows = self._rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ?1 "
            f"{within}ORDER BY rank, rowid LIMIT ?2",
            *parameters,
            *([] if namespace is None else [namespace]),
        )
        return [(int(slot), float(score)) for slot, score in rows]

    def keyed(
        self, names: Iterable[str], limit: int, namespace: str | None
    ) -> dict[str, list[int]]:
        """Valid slots about each named symbol: at most ``limit`` passages, and facts a relation."""
        rows = self._rows(
            """SELECT name, slot FROM (
                SELECT symbol.name, slot_key.slot,
                    row_number() OVER (
                        PARTITION BY symbol.id,
                            CASE slot.kind WHEN 'passage' THEN 0 ELSE slot.vector END
                        ORDER BY slot_key.slot
                    ) AS place
                FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
                JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
                WHERE symbol.name IN (SELECT value FROM json_each(?1))
                AND slot.valid_until IS NULL AND (?3 IS NULL OR source.namespace = ?3)
            ) WHERE place <= ?2 ORDER BY slot""",
            _json(names),
            limit,
            namespace,
        )
        return _grouped(rows)

    def symbols(self, ids: Iterable[int]) -> dict[int, Symbols]:
        """What each slot is about, and what it mentions; slots without any symbol are left out."""
        found: dict[int, Symbols] = {}
        listed = _json(ids)
        for place, table in enumerate(("slot_key", "mention")):
            rows = self._rows(
                f"SELECT {table}.slot, symbol.name FROM {table} "
                f"JOIN symbol ON symbol.id = {table}.symbol WHERE {table}.slot {_LISTED} "
                "ORDER BY 1, 2",
                listed,
            )
            for slot, name in rows:
                found.setdefault(slot, Symbols([], []))[place].append(name)
        return found

    def mentioning(
        self, names: Iterable[str], most: int, namespace: str | None
    ) -> dict[str, list[int]]:
        """Valid passages that mention each name; names that over ``most`` slots do are left out."""
        within = (
            ""
            if namespace is None
            else "AND slot.source IN (SELECT id FROM source WHERE namespace = ?3)"
        )
        rows = self._rows(
            f"""WITH known AS MATERIALIZED (
                SELECT id, name, (
                    SELECT count(*) FROM (
                        SELECT 1 FROM mention WHERE mention.symbol = symbol.id LIMIT ?2 + 1
                    )
                ) AS mentions FROM symbol WHERE name IN (SELECT value FROM json_each(?1))
            )
            SELECT known.name, mention.slot FROM known
            JOIN mention ON mention.symbol = known.id JOIN slot ON slot.id = mention.slot
            WHERE known.mentions <= ?2 AND slot.kind = 'passage' AND slot.valid_until IS NULL
            {within} ORDER BY mention.slot""",
            _json(names),
            most,
            *([] if namespace is None else [namespace]),
        )
        return _grouped(rows)

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """What the text search makes of each word: one token of most."""
        if self._tokenizer is None:
            self._tokenizer = Tokenizer()
        return self._tokenizer.tokens(words)

    def places(self, tokens: Sequence[str], most: int) -> list[NDArray[np.int64] | None]:
        """For each token the text [M] int64, rising, of each place at which it stands.

        None where more than ``most`` texts hold it.
        """
        found: list[NDArray[np.int64] | None] = []
        for token, own in zip(tokens, self._places(tokens, most + 1), strict=True):
            if len(own) <= most:
                found.append(own)
            elif self._too_many(token, most):
                found.append(None)
            else:
                found += self._places([token], -1)
        return found

    def phrase(self, words: str, most: int) -> list[tuple[int, float]] | None:
        """Texts that hold tokens in a row, by id, and their BM25; None where over ``most`` do."""
        if self._too_many(words, most):
            return None
        return self._rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? ORDER BY rowid",
            f'"{words}"',
        )

    def text_sizes(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each of the texts with rising ids [P] int64: [P] int64.

        Raises:
            StoreError: a text has no size, or one that the text search does not write.
        """
        rows = self._rows(
            f"SELECT sz FROM slot_text_docsize WHERE id {_LISTED} ORDER BY id", _json(ids.tolist())
        )
        sizes = _text_numbers([row[0] for row in rows])
        if len(sizes) != 2 * len(ids):
            raise _damaged("the size of a text")
        total: NDArray[np.int64] = sizes.reshape(-1, 2).sum(axis=1)
        return total

    def text_totals(self) -> tuple[int, int]:
        """How many texts the text search holds, and how many tokens they have.

        Raises:
            StoreError: the text search does not say so.
        """
        rows = self._rows("SELECT block FROM slot_text_data WHERE id = 1")
        totals = _text_numbers([row[0] for row in rows]).tolist()
        if not totals:
            return 0, 0
        return totals[0], sum(totals[1:])

    def linked(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the named symbols that some fact is about, with their ids."""
        rows = self._rows(
            f"SELECT name, id FROM symbol WHERE name {_LISTED} "
            "AND EXISTS (SELECT 1 FROM link WHERE link.subject = symbol.id)",
            _json(names),
        )
        return dict(rows)

    def outgoing(self, subjects: Iterable[int], namespace: str | None) -> NDArray[np.int64]:
        """Symbol, relation and number of facts [G, 3] int64 of each relation of some symbols."""
        chosen, parameters = _in_namespace(namespace)
        rows = self._rows(
            f"SELECT subject, relation, count(*) FROM link WHERE subject {_LISTED} {chosen}"
            "GROUP BY subject, relation",
            _json(subjects),
            *parameters,
        )
        return np.array(rows, np.int64).reshape(-1, 3)

    def followed(
        self, pairs: Iterable[tuple[int, int]], namespace: str | None
    ) -> NDArray[np.int64]:
        """Place of the pair, object and slot [M, 3] int64 of the facts of (symbol, relation)."""
        chosen, parameters = _in_namespace(namespace)
        rows = self._rows(
            "SELECT pair.key, link.object, link.slot FROM json_each(?) AS pair "
            "CROSS JOIN link ON link.subject = json_extract(pair.value, '$[0]') "
            f"AND link.relation = json_extract(pair.value, '$[1]') WHERE true {chosen}",
            _json(pairs),
            *parameters,
        )
        return np.array(rows, np.int64).reshape(-1, 3)

    def all_links(self) -> NDArray[np.int64]:
        """Subject, relation and object [M, 3] int64 of all facts, in this order, each once."""
        rows = self._rows("SELECT DISTINCT subject, relation, object FROM link ORDER BY 1, 2, 3")
        return np.array(rows, np.int64).reshape(-1, 3)

    def symbol_names(self, ids: Iterable[int]) -> dict[int, str]:
        """The names of symbols."""
        return dict(self._rows(f"SELECT id, name FROM symbol WHERE id {_LISTED}", _json(ids)))

    def vectors(
        self, ids: Sequence[int], dimension: int
    ) -> tuple[list[bytes], NDArray[np.float32]]:
        """Digests and vectors [K, D] float32 by their ids, in this order."""
        rows = self._rows(f"SELECT id, digest, data FROM vector WHERE id {_LISTED}", _json(ids))
        found = {row[0]: row[1:] for row in rows}
        present = [found[vector] for vector in ids if vector in found]
        return [row[0] for row in present], _numbers([row[1] for row in present], dimension)

    def namespace_ids(self, namespace: str) -> NDArray[np.int64]:
        """Ids of the valid passages of a namespace: [N] int64."""
        rows = self._rows(
            "SELECT slot.id FROM slot JOIN source ON source.id = slot.source "
            "WHERE source.namespace = ? AND slot.kind = 'passage' AND slot.valid_until IS NULL "
            "ORDER BY slot.id",
            namespace,
        )
        return np.fromiter((row[0] for row in rows), np.int64)

    # Bundles --------------------------------------------------------------------------------

    def bundle_head(self) -> dict[str, Any]:
        """What a bundle says of itself, but its format."""
        row = self._only(
            """SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM source),
                (SELECT count(*) FROM slot),
                (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'source'),
                (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'slot')"""
        )
        names = ("vectors", "sources", "slots", "last_source", "last_slot")
        return {
            "encoder": self.property("encoder"),
            "dimension": int(self.property("dimension") or 0),
            "told": int(self.property("told") or 0),
            **dict(zip(names, row, strict=True)),
        }

    def bundled_vectors(self, rows: int) -> Iterator[list[tuple[int, bytes, bytes]]]:
        """Id, digest and float32 numbers of all vectors, so many at a time."""
        return self._pages("SELECT id, digest, data FROM vector WHERE id > ?", rows)

    def bundled_sources(self, rows: int) -> Iterator[dict[str, Any]]:
        """All columns of all sources."""
        names: tuple[str, ...] = (
            "id", "namespace", "name", "kind", "origin", "title", "metadata", "digest",
        )  # fmt: skip
        for page in self._pages(f"SELECT {', '.join(names)} FROM source WHERE id > ?", rows):
            for row in page:
                columns: dict[str, Any] = dict(zip(names, row, strict=True))
                yield columns

    def bundled_slots(self, rows: int) -> Iterator[dict[str, Any]]:
        """All columns of all slots, with the names of their symbols."""
        statement = f"SELECT {', '.join(_BUNDLED)} FROM slot WHERE id > ?"
        for page in self._pages(statement, rows):
            symbols = self.symbols(row[0] for row in page)
            for row in page:
                own = symbols.get(row[0], Symbols([], []))
                yield {
                    **dict(zip(_BUNDLED, row, strict=True)),
                    "keys": own.keys,
                    "mentions": own.values,
                }

    def restore_vectors(
        self, first: int, digests: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Store vectors [B, D] float32 of a bundle, ``first`` being the place of the first."""
        self._restore(
            "INSERT INTO vector (id, digest, data) VALUES (?, ?, ?)",
            (
                (place, digest, vector.astype("<f4").tobytes())
                for place, (digest, vector) in enumerate(
                    zip(digests, vectors, strict=True), first + 1
                )
            ),
        )

    def restore_sources(self, sources: Iterable[tuple[int, Any]]) -> None:
        """Store the sources of a bundle (each a ``BundledSource``), by their places."""
        self._restore(
            "INSERT INTO source (id, namespace, name, kind, origin, title, metadata, digest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    place + 1, source.namespace, source.name, source.kind, source.origin,
                    source.title, json.dumps(source.metadata, ensure_ascii=False),
                    bytes.fromhex(source.digest),
                )
                for place, source in sources
            ),
        )  # fmt: skip

    def restore_slots(self, slots: Sequence[Any]) -> None:
        """Store slots of a bundle (``BundledSlot``) under their own ids, which rise."""
        if not slots:
            return
        self._restore(
            f"INSERT INTO slot ({', '.join(_BUNDLED)}) VALUES ({', '.join('?' * len(_BUNDLED))})",
            (
                (
                    slot.id, slot.source + 1, slot.kind, slot.title, slot.text, slot.start,
                    slot.end, slot.relation, slot.value, slot.vector + 1,
                    None if slot.relation_vector is None else slot.relation_vector + 1,
                    bytes.fromhex(slot.digest), slot.valid_from, None, slot.usage, slot.used,
                )
                for slot in slots
            ),
        )  # fmt: skip
        # The end of a statement takes it out of the text search, as it did when it was told.
        self._restore(
            "UPDATE slot SET valid_until = ? WHERE id = ?",
            ((slot.valid_until, slot.id) for slot in slots if slot.valid_until is not None),
        )
        self._add_symbols("slot_key", ((slot.id, slot.keys) for slot in slots))
        self._add_symbols("mention", ((slot.id, slot.mentions) for slot in slots))
        self._add_links(slots[0].id)

    def restore_counters(self, last_source: int, last_slot: int, told: int) -> None:
        """Let ids and names of told sources go on where those of a bundle end."""
        self._connection.execute("DELETE FROM sqlite_sequence WHERE name IN ('source', 'slot')")
        self._connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('source', ?), ('slot', ?)",
            (last_source, last_slot),
        )
        self.set_property("told", str(told))

    # Checking -------------------------------------------------------------------------------

    def problems(self, dimension: int) -> list[str]:
        """What is wrong with the rows, a line each; empty when all is well."""
        found = [
            f"database: {row[0]}" for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"
        ]
        found += [
            f"database: row {row[1]} of {row[0]} refers to a missing row of {row[2]}"
            for row in self._rows("PRAGMA foreign_key_check")
        ]
        wrong = self._one("SELECT count(*) FROM vector WHERE length(data) <> ?", 4 * dimension)
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} vectors have another width than {dimension}")
        if self._wrong_values():
            found.append("database: holds values that memnet does not write")
        wrong = self._one("SELECT count(*) FROM slot WHERE valid_until < valid_from")
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} statements ended before they began")
        wrong = self._one(
            "SELECT count(*) FROM slot WHERE kind <> 'passage' "
            "AND NOT EXISTS (SELECT 1 FROM link WHERE link.slot = slot.id "
            "AND link.relation = slot.vector)"
        )
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} facts can't be followed")
        wrong = self._one(
            "SELECT 1 FROM (SELECT generation, last_slot FROM revision ORDER BY 1 DESC LIMIT 1) "
            "WHERE generation <> (SELECT value + 0 FROM property WHERE name = 'generation') "
            "OR last_slot <> ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'slot'), 0)"
        )
        if wrong is not None:
            found.append("database: the last commit is not the one that its rows are of")
        if not self._text_agrees():
            found.append("text search: does not agree with the slots")
        return found

    # Private --------------------------------------------------------------------------------

    @contextmanager
    def _changes(self) -> Iterator[None]:
        """Undo what the block did not commit."""
        self._guard.acquire()
        self.changing = True
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"the store could not be written ({error}); nothing of this step was kept: "
                "check free space and permissions, then run it again"
            ) from error
        finally:
            self._roll_back()
            self.changing = False
            self._guard.release()

    def _check_schema(self, path: Path) -> None:
        if self.schema_version > SCHEMA_VERSION:
            self.close()
            raise StoreError(
                f"{path} has schema {self.schema_version}, this version of memnet knows schemas "
                f"up to {SCHEMA_VERSION}; upgrade memnet to open it"
            )

    def _refuse_foreign_schema(self, path: Path) -> None:
        """Refuse tables, triggers and views that no version of memnet made.

        Raises:
            StoreError: there is one.
        """
        known = _known_schema()
        for kind, name, statement in self._rows("SELECT type, name, sql FROM sqlite_master"):
            own = str(name).startswith(("sqlite_", "slot_text_")) and kind in ("table", "index")
            forms = known.get((kind, name), set())
            # What SQLite and its text search keep for themselves differs between their versions.
            acts = not own or _ACTING.search(str(statement))
            if acts and _spaced(statement) not in forms:
                raise StoreError(
                    f"{path} holds a {kind} {name!r} that memnet did not make; "
                    "restore the store from a copy, or import it from a bundle"
                )

    def _roll_back(self) -> None:
        """End the transaction, if one is under way; what can't be undone now is when opened."""
        with suppress(sqlite3.DatabaseError):
            # A forked child that unwinds its parent's stack must not end the parent's transaction.
            if self._connection.in_transaction and self._process == os.getpid():
                self._connection.execute("ROLLBACK")

    def _wrong_values(self) -> bool:
        """Whether a column holds another type than its schema says, or what can't be used."""
        for table in ("property", "source", "vector", "slot", "symbol"):
            columns = self._rows(f"SELECT name, type FROM pragma_table_info('{table}')")
            wrong = " OR ".join(
                f"typeof({name}) NOT IN ('{kind.lower()}', 'null')" for name, kind in columns
            )
            if self._one(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1") is not None:
                return True
        # The length of a text ends for SQLite where it holds a zero, and its JSON has no NaN.
        row = self._one(
            "SELECT 1 FROM slot WHERE kind NOT IN ('passage', 'fact', 'reverse') "
            "OR (length(text) <> end - start AND instr(text, char(0)) = 0) UNION ALL "
            "SELECT 1 FROM source WHERE NOT json_valid(metadata) "
            "AND NOT (metadata LIKE '%NaN%' OR metadata LIKE '%Infinity%') LIMIT 1"
        )
        return row is not None

    def _text_agrees(self) -> bool:
        """Whether the text search holds the words of each slot and nothing else."""
        try:
            self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY):
                return False
            # The check counts as a write: where nobody may write now the number of texts must do.
        row = self._one(
            f"SELECT (SELECT count(*) FROM slot_text_docsize), (SELECT count(*) {_SEARCHED_TEXTS})"
        )
        return row is not None and row[0] == row[1]

    def _put_source_row(self, source: NewSource) -> int:
        row = self._only(
            """INSERT INTO source (namespace, name, kind, origin, title, metadata, digest)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (namespace, name) DO UPDATE SET kind = excluded.kind,
                origin = excluded.origin, title = excluded.title, metadata = excluded.metadata,
                digest = excluded.digest
            RETURNING id""",
            source.namespace,
            source.name,
            source.kind,
            source.origin,
            source.title,
            json.dumps(dict(source.metadata), ensure_ascii=False, default=str),
            source.digest,
        )
        return int(row[0])

    def _add_slots(self, source_id: int, items: Sequence[DigestedSlot]) -> list[int]:
        """Add slots to a source; returns their ids, which no slot ever had."""
        row = self._one("SELECT seq FROM sqlite_sequence WHERE name = 'slot'")
        first = 1 if row is None else int(row[0]) + 1
        ids = list(range(first, first + len(items)))
        self._connection.executemany(
            """INSERT INTO slot (id, source, kind, title, text, start, end, relation, value, vector,
                relation_vector, digest, valid_from, usage, used)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT id FROM vector WHERE digest = ?),
                (SELECT id FROM vector WHERE digest = ?), ?, ?, ?, ?)""",
            (
                (
                    slot_id, source_id, slot.kind, slot.title, slot.text, slot.start, slot.end,
                    slot.relation, slot.value, item.key_digest, item.relation_digest, item.digest,
                    slot.valid_from, 0.0 if slot.valid_from is None else 1.0,
                    slot.valid_from or 0.0,
                )
                for slot_id, item in zip(ids, items, strict=True)
                for slot in [item.slot]
            ),
        )  # fmt: skip
        self._add_symbols(
            "slot_key", zip(ids, (item.slot.key_symbols for item in items), strict=True)
        )
        self._add_symbols(
            "mention", zip(ids, (item.slot.value_symbols for item in items), strict=True)
        )
        self._add_links(first)
        return ids

    def _add_links(self, first: int) -> None:
        """Let the facts among the slots from ``first`` on be followed."""
        self._connection.execute(
            "INSERT INTO link SELECT slot_key.symbol, slot.vector, mention.symbol, slot.id "
            "FROM slot JOIN slot_key ON slot_key.slot = slot.id "
            "JOIN mention ON mention.slot = slot.id WHERE slot.id >= ? AND slot.kind <> 'passage'",
            (first,),
        )

    def _restore(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows of a bundle.

        Raises:
            ValueError: two of them are the same where they may not be.
        """
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"two of its rows are the same: {error}") from error

    def _places(self, tokens: Sequence[str], most: int) -> list[NDArray[np.int64]]:
        """The texts of the first ``most`` places of each token, [M] int64, rising; -1 for all."""
        rows = self._rows(
            "SELECT (SELECT group_concat(doc) FROM "
            "(SELECT doc FROM temp.slot_token WHERE term = given.value LIMIT ?)) "
            "FROM json_each(?) AS given ORDER BY given.key",
            most,
            _json(tokens),
        )
        return [np.fromstring(row[0], np.int64, sep=",") if row[0] else _NONE for row in rows]

    def _too_many(self, words: str, most: int) -> bool:
        """Whether more than ``most`` texts hold these words in a row."""
        row = self._only(
            "SELECT count(*) FROM (SELECT 1 FROM slot_text WHERE slot_text MATCH ? LIMIT ?)",
            f'"{words}"',
            most + 1,
        )
        return int(row[0]) > most

    def _pages(self, statement: str, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a statement with a lowest id as its last condition, so many at a time."""
        last = -1
        while page := self._rows(f"{statement} ORDER BY id LIMIT {rows}", last):
            yield page
            last = page[-1][0]

    def _add_symbols(self, table: str, symbols: Iterable[tuple[int, Iterable[str]]]) -> None:
        """Say which symbols slots, by their ids, are about or mention."""
        pairs = [(slot, name) for slot, names in symbols for name in dict.fromkeys(names)]
        self._connection.executemany(
            "INSERT OR IGNORE INTO symbol (name) VALUES (?)",
            ((name,) for name in dict.fromkeys(name for _, name in pairs)),
        )
        self._connection.executemany(
            f"INSERT INTO {table} (slot, symbol) SELECT ?, id FROM symbol WHERE name = ?", pairs
        )

    def _rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        try:
            with self._guard:
                return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            if self._closed:
                raise StoreError("the store was closed while it was read; open it again") from error
            if self.changing:
                raise
            raise StoreError(
                f"the store could not be read ({error}); 'memnet verify' may say what is "
                "damaged: restore it from a copy"
            ) from error

    def _one(self, statement: str, *parameters: Any) -> tuple[Any, ...] | None:
        rows = self._rows(statement, *parameters)
        return rows[0] if rows else None

    def _only(self, statement: str, *parameters: Any) -> tuple[Any, ...]:
        """The row of a statement that always gives one."""
        return self._rows(statement, *parameters)[0]


def _address(path: Path, read_only: bool) -> str:
    """What to open. Where nobody may write, a log that a crash left must be read, if there is one.

    Reading a log needs the shared memory file beside it, and without a log none can be made.
    """
    address = path.absolute().as_uri()
    if not read_only:
        return address
    return f"{address}?mode=ro" if _log_of(path) else f"{address}?immutable=1"


def _log_of(path: Path) -> bool:
    """Whether there are commits beside the database that were not taken into it."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _why_not_opened(path: Path, read_only: bool, error: sqlite3.DatabaseError) -> str:
    if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return (
            f"{path} is not a readable memnet database ({error}); "
            "restore it from a copy, or choose another store folder"
        )
    if read_only and _log_of(path):
        return (
            f"{path} has commits beside it that a process left when it was killed, and its folder "
            f"is read-only ({error}); open the store once where it can be written"
        )
    return f"{path} could not be opened ({error}); check free space and permissions"


_SLOT_TYPES = (int, str, str, str, str, str, int, int, str, str)
_LATEST = 1e11
"""Seconds since the epoch: some 3,000 years."""


def _slot(row: tuple[Any, ...]) -> Slot:
    """A slot from the columns ``_SLOT_COLUMNS``.

    Raises:
        StoreError: a column does not hold what memnet puts there.
    """
    slot = Slot(*row)
    times = (slot.valid_from or 0.0, slot.valid_until or 0.0)
    if (
        tuple(map(type, row[:10])) != _SLOT_TYPES
        or slot.kind not in ("passage", "fact", "reverse")
        or len(slot.text) != slot.end - slot.start
        or not all(isinstance(time, float) and 0 <= time <= _LATEST for time in times)
    ):
        raise _damaged(f"slot {slot.id!r}")
    return slot


def _numbers(blobs: Sequence[Any], dimension: int) -> NDArray[np.float32]:
    """Stored vectors as [K, D] float32.

    Raises:
        StoreError: one has another width, or holds what is no number.
    """
    if any(type(blob) is not bytes or len(blob) != 4 * dimension for blob in blobs):
        raise _damaged("a vector")
    rows = np.frombuffer(b"".join(blobs), "<f4").reshape(-1, dimension).astype(np.float32)
    if not np.isfinite(rows).all():
        raise _damaged("a vector")
    return rows


def _text_numbers(blobs: Sequence[Any]) -> NDArray[np.int64]:
    """The numbers in blobs of the text search, one after the other: [N] int64.

    Seven bits of a number stand in each byte, the highest first; the last byte has no eighth bit.

    Raises:
        StoreError: one is no such blob.
    """
    if any(type(blob) is not bytes for blob in blobs):
        raise _damaged("the size of a text")
    data = np.frombuffer(b"".join(blobs), np.uint8)
    ends = np.flatnonzero(data < 128)
    if not len(ends):
        return np.empty(0, np.int64)
    data = data[: ends[-1] + 1]
    following = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(data))
    parts = (data & 127).astype(np.int64) << (7 * following)
    return np.add.reduceat(parts, np.concatenate([[0], ends[:-1] + 1]))


def _integer(value: object) -> int:
    try:
        return int(str(value))
    except ValueError as error:
        raise _damaged("a number") from error


def _damaged(what: str) -> StoreError:
    return StoreError(
        f"the store holds {what} that memnet did not write; run 'memnet verify' on it, or restore "
        "it from a copy"
    )


def _in_namespace(namespace: str | None) -> tuple[str, list[str]]:
    """A condition on ``link.slot``, and its parameters."""
    if namespace is None:
        return "", []
    return (
        "AND EXISTS (SELECT 1 FROM slot JOIN source ON source.id = slot.source "
        "WHERE slot.id = link.slot AND source.namespace = ?) ",
        [namespace],
    )


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[int]]:
    """Pairs of a name and a slot, by their names."""
    found: dict[str, list[int]] = {}
    for name, slot in rows:
        found.setdefault(name, []).append(slot)
    return found


def _json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))
