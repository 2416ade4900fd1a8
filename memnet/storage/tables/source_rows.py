"""Sources and the slots made from them: how they come and go."""

import json
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.slots import DigestedSlot, NewSource, SourceState
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import LISTED, listed, stored_count, stored_rows


class SourceRows(Connection):
    """What is written and deleted, with the symbols and vectors that it needs."""

    def source_states(self, names: Iterable[str], namespace: str) -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that the store holds."""
        rows = self._rows(
            f"SELECT name, digest, origin FROM source WHERE namespace = ? AND name {LISTED}",
            namespace,
            listed(names),
        )
        return {name: SourceState(digest, origin) for name, digest, origin in rows}

    def namespaces(self, names: Iterable[str]) -> dict[str, list[str]]:
        """For those of the names that are sources, the namespaces in which they are, in order."""
        rows = self._rows(
            f"SELECT name, namespace FROM source WHERE name {LISTED} ORDER BY name, namespace",
            listed(names),
        )
        found: dict[str, list[str]] = {}
        for name, namespace in stored_rows(rows, "a source", str, str):
            found.setdefault(name, []).append(namespace)
        return found

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
        chosen = listed(ids)
        symbols = self._numbers(
            f"SELECT symbol FROM slot_key WHERE slot {LISTED} "
            f"UNION SELECT symbol FROM mention WHERE slot {LISTED}",
            chosen,
            chosen,
        )
        vectors = self._numbers(
            f"SELECT vector FROM slot WHERE id {LISTED} "
            "UNION SELECT relation_vector FROM slot "
            f"WHERE id {LISTED} AND relation_vector IS NOT NULL",
            chosen,
            chosen,
        )
        for table in ("link", "slot_key"):
            self._connection.execute(f"DELETE FROM {table} WHERE slot {LISTED}", (chosen,))
        self._connection.execute(f"DELETE FROM mention WHERE slot {LISTED}", (chosen,))
        self._connection.execute(f"DELETE FROM slot WHERE id {LISTED}", (chosen,))
        self._connection.execute(
            f"DELETE FROM symbol WHERE id {LISTED} AND id NOT IN (SELECT symbol FROM slot_key) "
            "AND NOT EXISTS (SELECT 1 FROM mention WHERE mention.symbol = symbol.id)",
            (symbols,),
        )
        self._connection.execute(
            f"DELETE FROM vector WHERE id {LISTED} "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.vector = vector.id) "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.relation_vector = vector.id)",
            (vectors,),
        )

    def delete_sources(self, names: Iterable[str], namespace: str | None) -> list[int]:
        """Delete sources with everything made from them; returns the ids of their slots."""
        chosen = [
            row[0]
            for row in self._rows(
                f"SELECT id FROM source WHERE name {LISTED} AND (?2 IS NULL OR namespace = ?2)",
                listed(names),
                namespace,
            )
        ]
        slots = [
            row[0]
            for row in self._rows(f"SELECT id FROM slot WHERE source {LISTED}", listed(chosen))
        ]
        self.delete_slots(slots)
        self._connection.execute(f"DELETE FROM source WHERE id {LISTED}", (listed(chosen),))
        return slots

    def _numbers(self, statement: str, *parameters: str) -> str:
        """Numbers of rows that a statement finds, as ``LISTED`` takes them."""
        rows = stored_rows(self._rows(statement, *parameters), "the number of a row", int)
        return listed(row[0] for row in rows)

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
        first = 1 if row is None else stored_count(row[0]) + 1
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
