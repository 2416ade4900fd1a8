"""Slots, as they are read: by id, by symbol and by namespace."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.scope import EVERYWHERE, Scope
from memnet.storage.slots import Keys, Slot, StoreCounts, Symbols
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import (
    LISTED,
    SLOT_COLUMNS,
    grouped,
    lacking,
    listed,
    stored_integer,
    stored_rows,
    stored_slot,
    stored_vectors,
)


class SlotRows(Connection):
    """Reads of slots, their vectors and their symbols."""

    def counts(self) -> StoreCounts:
        """How much is stored."""
        row = self._only(
            """SELECT (SELECT count(*) FROM slot),
                (SELECT count(*) FROM source WHERE kind = 'document'),
                (SELECT count(*) FROM slot WHERE kind = 'fact'),
                (SELECT count(*) FROM symbol WHERE id IN (SELECT symbol FROM slot_key)),
                (SELECT value FROM property WHERE name = 'generation'),
                (SELECT count(*) FROM slot WHERE valid_until IS NOT NULL),
                (SELECT count(*) FROM source)"""
        )
        return StoreCounts(*(stored_integer(value) for value in row))

    def slots(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order; ids that are not stored are left out."""
        rows = self._rows(
            f"SELECT {SLOT_COLUMNS} FROM slot JOIN source ON source.id = slot.source "
            f"WHERE slot.id {LISTED}",
            listed(ids),
        )
        found = {row[0]: stored_slot(row) for row in rows}
        return [found[slot] for slot in ids if slot in found]

    def last_passages(self, scope: Scope, limit: int) -> list[Slot]:
        """The last ``limit`` valid passages in the order of their sources and texts."""
        within, parameters = scope.sql()
        rows = self._rows(
            f"""SELECT {SLOT_COLUMNS} FROM slot JOIN source ON source.id = slot.source
            WHERE slot.kind = 'passage' AND slot.valid_until IS NULL {within}
            ORDER BY source.id DESC, slot.start DESC LIMIT ?""",
            *parameters,
            limit,
        )
        return [stored_slot(row) for row in reversed(rows)]

    def keys(self, ids: Sequence[int], dimension: int) -> Keys:
        """Key vectors, ``dimension`` wide, of those slots that are stored, in their order."""
        if not ids:
            nothing = np.empty(0, np.int64), np.empty((0, dimension), np.float32)
            return Keys(*nothing, np.empty(0, np.bool_), ())
        rows = self._rows(
            "SELECT slot.id, slot.kind <> 'passage', vector.data, "
            "CASE slot.kind WHEN 'passage' THEN '' ELSE slot.relation END "
            f"FROM slot JOIN vector ON vector.id = slot.vector WHERE slot.id {LISTED}",
            listed(ids),
        )
        found = {row[0]: row for row in stored_rows(rows, "a key", int, int, bytes, str)}
        present = [found[slot] for slot in ids if slot in found]
        return Keys(
            np.array([row[0] for row in present], np.int64),
            stored_vectors([row[2] for row in present], dimension),
            np.array([row[1] for row in present], np.bool_),
            tuple(row[3] for row in present),
        )

    def relation_vectors(self, ids: Sequence[int], dimension: int) -> NDArray[np.float32]:
        """Relation vectors of told slots, [K, D] float32 in the order of the ids."""
        rows = self._rows(
            "SELECT slot.id, vector.data FROM slot JOIN vector ON vector.id = slot.relation_vector "
            f"WHERE slot.id {LISTED}",
            listed(ids),
        )
        found = dict(rows)
        return stored_vectors([found.get(slot) for slot in ids], dimension)

    def vectors(
        self, ids: Sequence[int], dimension: int
    ) -> tuple[list[bytes], NDArray[np.float32]]:
        """Digests and vectors [K, D] float32 by their ids, in this order.

        Raises:
            StoreError: one is not there, though a row refers to it.
        """
        rows = self._rows(f"SELECT id, digest, data FROM vector WHERE id {LISTED}", listed(ids))
        found = {row[0]: row[1:] for row in stored_rows(rows, "a vector", int, bytes, bytes)}
        if not found.keys() >= set(ids):
            raise lacking("the vector of a relation")
        present = [found[vector] for vector in ids]
        return [row[0] for row in present], stored_vectors([row[1] for row in present], dimension)

    def dense_ids(self, scope: Scope = EVERYWHERE) -> NDArray[np.int64]:
        """Ids of the slots that vector search covers, in rising order: [N] int64.

        Facts are left out: they share the vectors of their relations, and are found by symbol. So
        is what is valid no longer.
        """
        within, parameters = scope.sql()
        sources = (
            f"AND source IN (SELECT source.id FROM source WHERE true{within})" if within else ""
        )
        rows = self._rows(
            f"SELECT id FROM slot WHERE kind = 'passage' AND valid_until IS NULL {sources} "
            "ORDER BY id",
            *parameters,
        )
        return np.fromiter((row[0] for row in rows), np.int64)

    def keyed(self, names: Iterable[str], limit: int, scope: Scope) -> dict[str, list[int]]:
        """Valid slots about each named symbol: at most ``limit`` passages, and facts a relation."""
        within, parameters = scope.sql()
        rows = self._rows(
            f"""SELECT name, slot FROM (
                SELECT symbol.name, slot.id AS slot,
                    row_number() OVER (
                        PARTITION BY symbol.id,
                            CASE slot.kind WHEN 'passage' THEN 0 ELSE slot.vector END
                        ORDER BY slot_key.slot
                    ) AS place
                FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
                JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
                WHERE symbol.name IN (SELECT value FROM json_each(?))
                AND slot.valid_until IS NULL {within}
            ) WHERE place <= ? ORDER BY slot""",
            listed(names),
            *parameters,
            limit,
        )
        return grouped(rows)

    def mentioning(self, names: Iterable[str], most: int, scope: Scope) -> dict[str, list[int]]:
        """Valid passages that mention each name; names that over ``most`` slots do are left out."""
        within, parameters = scope.sql()
        source = "JOIN source ON source.id = slot.source" if within else ""
        rows = self._rows(
            f"""WITH known AS MATERIALIZED (
                SELECT id, name, (
                    SELECT count(*) FROM (
                        SELECT 1 FROM mention WHERE mention.symbol = symbol.id LIMIT ?2 + 1
                    )
                ) AS mentions FROM symbol WHERE name IN (SELECT value FROM json_each(?1))
            )
            SELECT known.name, slot.id FROM known
            JOIN mention ON mention.symbol = known.id JOIN slot ON slot.id = mention.slot
            {source}
            WHERE known.mentions <= ?2 AND slot.kind = 'passage' AND slot.valid_until IS NULL
            {within} ORDER BY mention.slot""",
            listed(names),
            most,
            *parameters,
        )
        return grouped(rows)

    def symbols(self, ids: Iterable[int]) -> dict[int, Symbols]:
        """What each slot is about, and what it mentions; slots without any symbol are left out."""
        found: dict[int, Symbols] = {}
        chosen = listed(ids)
        for place, table in enumerate(("slot_key", "mention")):
            rows = self._rows(
                f"SELECT {table}.slot, symbol.name FROM {table} "
                f"JOIN symbol ON symbol.id = {table}.symbol WHERE {table}.slot {LISTED} "
                "ORDER BY 1, 2",
                chosen,
            )
            for slot, name in stored_rows(rows, "a symbol", int, str):
                found.setdefault(slot, Symbols([], []))[place].append(name)
        return found

    def symbol_names(self, ids: Iterable[int]) -> dict[int, str]:
        """The names of symbols."""
        rows = self._rows(f"SELECT id, name FROM symbol WHERE id {LISTED}", listed(ids))
        return dict(stored_rows(rows, "a symbol", int, str))
