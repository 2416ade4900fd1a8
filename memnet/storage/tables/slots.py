"""Slots with their key vectors and symbols: how they are added, deleted, fetched and found."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables.checked import (
    IN_LIST,
    SLOT_COLUMNS,
    Row,
    Values,
    checked_integer,
    checked_rows,
    checked_slot,
    checked_vectors,
    missing,
)
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.vectors import digest_of, texts_of, vector_ids
from memnet.storage.values import (
    EVERYWHERE,
    Keys,
    NewSlot,
    Scope,
    Slot,
    StoreCounts,
    Symbols,
    Within,
)


def by_content(slots: Iterable[NewSlot]) -> dict[bytes, NewSlot]:
    """Slots by the digest of all their content."""
    return {
        digest_of(
            slot.kind, slot.title, slot.text, slot.start, slot.end, slot.relation, slot.value,
            slot.key_text, *slot.key_symbols, "", *slot.value_symbols,
            *slot.places,
        ): slot
        for slot in slots
    }  # fmt: skip


class SourceSlots(NamedTuple):
    """Slots that a source is to get."""

    source: int  # id of its row
    # By the digests of their content; statements are those with a time.
    slots: Mapping[bytes, NewSlot]
    namespace: str
    used: float = 0.0  # as ``NewSource.used``


def add(connection: Connection, new: Iterable[SourceSlots]) -> list[int]:
    """Add slots to sources, in a transaction; gives their ids, which no slot ever had.

    Their vectors are stored already. A statement is run for all of them: one for each source would
    cost more than its rows.
    """
    wanted = [(one, digest, slot) for one in new for digest, slot in one.slots.items()]
    ids = connection.new_ids("slot", len(wanted))
    vectors = vector_ids(connection, texts_of(slot for _, _, slot in wanted))
    added = [(slot_id, *one) for slot_id, one in zip(ids, wanted, strict=True)]
    connection.insert(
        "slot",
        (
            "id", "source", "kind", "title", "text", "start", "end", "relation", "value", "vector",
            "relation_vector", "digest", "valid_from", "valid_until", "usage", "used_at", "places",
        ),
        (
            (
                slot_id, one.source, slot.kind, slot.title, slot.text, slot.start, slot.end,
                slot.relation, slot.value, vectors[digest_of(slot.key_text)],
                None if slot.valid_from is None else vectors[digest_of(slot.relation)], digest,
                slot.valid_from, slot.valid_until,
                0.0 if slot.valid_from is None and not one.used else 1.0,
                one.used if slot.valid_from is None else _told(slot),
                json.dumps(slot.places, ensure_ascii=False),
            )
            for slot_id, one, digest, slot in added
        ),
    )  # fmt: skip
    connection.text.add(
        [(own, slot.title, slot.text) for own, _, _, slot in added if slot.kind != "reverse"]
    )
    _add_symbols(connection, [(slot_id, slot) for slot_id, _, _, slot in added])
    statements = [(own, one, slot) for own, one, _, slot in added if slot.valid_from is not None]
    connection.insert(
        "statement",
        (
            "slot", "namespace", "aliases", "relation", "values", "polarity", "certainty",
            "told_at", "standing", "speaker",
        ),
        (
            (
                slot_id, one.namespace, json.dumps(said.aliases, ensure_ascii=False),
                said.relation, json.dumps(said.values, ensure_ascii=False), int(said.polarity),
                said.certainty, _told(slot), int(said.standing), said.speaker,
            )
            for slot_id, one, slot in statements
            for said in (slot.structure,)
        ),
    )  # fmt: skip
    # By namespace: one with few statements is not looked for among all.
    connection.execute(
        "INSERT INTO statement_name "
        "SELECT slot_key.symbol, statement.namespace, statement.slot "
        "FROM statement JOIN slot_key ON slot_key.slot = statement.slot "
        f"WHERE statement.slot {IN_LIST} ON CONFLICT DO NOTHING",
        Values(slot_id for slot_id, _, _ in statements),
    )
    return ids


def _told(slot: NewSlot) -> float | None:
    """When a statement was told; None for other slots."""
    return slot.valid_from if slot.structure.told is None else slot.structure.told


def _add_symbols(connection: Connection, added: Sequence[tuple[int, NewSlot]]) -> None:
    """Store which symbols new slots are about and mention, and link those that are facts."""
    ids = [slot_id for slot_id, _ in added]
    keys = [slot.key_symbols for _, slot in added]
    mentions = [slot.value_symbols for _, slot in added]
    names = {name for some in (*keys, *mentions) for name in some}
    stored = connection.rows_of("SELECT name, id FROM symbol WHERE name", names)
    symbol_ids: dict[str, int] = dict(checked_rows(stored, "a symbol", str, int))
    if lacking := names - symbol_ids.keys():
        symbol_ids |= connection.new_symbols(lacking)
    for table, symbols in (("slot_key", keys), ("mention", mentions)):
        connection.insert(table, ("symbol", "slot"), _symbol_rows(symbol_ids, ids, symbols))
    if facts := [slot_id for slot_id, slot in added if slot.kind != "passage"]:
        connection.execute(
            "INSERT INTO link SELECT slot_key.symbol, slot.vector, mention.symbol, slot.id "
            "FROM slot JOIN slot_key ON slot_key.slot = slot.id "
            "JOIN mention ON mention.slot = slot.id "
            f"WHERE slot.id {IN_LIST} AND slot.kind <> 'passage'",
            Values(facts),
        )


def _symbol_rows(
    symbol_ids: Mapping[str, int], ids: Sequence[int], symbols: Sequence[Sequence[str]]
) -> list[list[int]]:
    """The symbols of slots as rows, each once, by symbol: its large index is gone through once."""
    # In arrays: there are some thirty for each passage.
    of = np.fromiter((symbol_ids[name] for some in symbols for name in some), np.int64)
    slots = np.repeat(np.asarray(ids, np.int64), [len(some) for some in symbols])
    rows = np.column_stack((of, slots))[np.lexsort((slots, of))]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    listed: list[list[int]] = rows[is_first].tolist()
    return listed


def delete(connection: Connection, ids: Sequence[int]) -> None:
    """Delete slots, and the symbols and vectors that nothing else uses."""
    if not ids:
        return
    chosen = Values(ids)
    symbols = connection.rows(
        f"SELECT symbol FROM slot_key WHERE slot {IN_LIST} "
        f"UNION SELECT symbol FROM mention WHERE slot {IN_LIST}",
        chosen,
        chosen,
    )
    vectors = connection.rows(
        f"SELECT vector FROM slot WHERE id {IN_LIST} UNION SELECT relation_vector FROM slot "
        f"WHERE id {IN_LIST} AND relation_vector IS NOT NULL",
        chosen,
        chosen,
    )
    connection.text.remove(ids)
    for table in ("statement_name", "statement", "link", "slot_key", "mention"):
        connection.execute(f"DELETE FROM {table} WHERE slot {IN_LIST}", chosen)
    connection.execute(f"DELETE FROM slot WHERE id {IN_LIST}", chosen)
    connection.delete_unused(
        [row[0] for row in checked_rows(symbols, "the number of a row", int)],
        [row[0] for row in checked_rows(vectors, "the number of a row", int)],
    )


def counts(connection: Connection) -> StoreCounts:
    """How much is stored."""
    row = connection.only(
        """SELECT (SELECT count(*) FROM slot),
            (SELECT count(*) FROM source WHERE kind IN ('document', 'story')),
            (SELECT count(*) FROM slot WHERE kind = 'fact'),
            (SELECT count(*) FROM symbol WHERE id IN (SELECT symbol FROM slot_key)),
            (SELECT value FROM property WHERE name = 'generation'),
            (SELECT count(*) FROM slot WHERE valid_until IS NOT NULL),
            (SELECT count(*) FROM source)"""
    )
    return StoreCounts(*map(checked_integer, row))


def keys(connection: Connection, ids: Sequence[int], dimension: int) -> Keys:
    """Key vectors, ``dimension`` wide, of those slots that are stored, in their order."""
    if not ids:
        nothing = np.empty(0, np.int64), np.empty((0, dimension), np.float32)
        return Keys(*nothing, np.empty(0, np.bool_), ())
    rows = connection.rows(
        "SELECT slot.id, CASE slot.kind WHEN 'passage' THEN 0 ELSE 1 END, vector.data, "
        "CASE slot.kind WHEN 'passage' THEN '' ELSE slot.relation END "
        f"FROM slot JOIN vector ON vector.id = slot.vector WHERE slot.id {IN_LIST}",
        Values(ids),
    )
    stored = {row[0]: row for row in checked_rows(rows, "a key", int, int, bytes, str)}
    present = [stored[slot] for slot in ids if slot in stored]
    return Keys(
        np.array([row[0] for row in present], np.int64),
        checked_vectors([row[2] for row in present], dimension),
        np.array([row[1] for row in present], np.bool_),
        tuple(row[3] for row in present),
    )


def vectors(connection: Connection, ids: NDArray[np.int64], dimension: int) -> NDArray[np.float32]:
    """Key vectors [K, D] float32 of slots [K] int64; zeros for those that are not stored."""
    found = np.zeros((len(ids), dimension), np.float32)
    rows = connection.rows(
        "SELECT slot.id, vector.data FROM slot JOIN vector ON vector.id = slot.vector "
        f"WHERE slot.id {IN_LIST}",
        Values(ids.tolist()),
    )
    if rows:
        checked_rows(rows, "a key", int, bytes)
        order = np.argsort(ids)
        places = order[np.searchsorted(ids, [row[0] for row in rows], sorter=order)]
        found[places] = checked_vectors([row[1] for row in rows], dimension)
    return found


def dense_ids(connection: Connection, scope: Scope = EVERYWHERE) -> NDArray[np.int64]:
    """Ids of the slots that vector search covers, in rising order: [N] int64.

    Facts are left out: they share the vectors of their relations, and are found by symbol.
    Statements are among them whenever they held.
    """
    condition, parameters = _in_sources(connection, scope)
    return connection.ids(
        f"SELECT id FROM slot WHERE kind = 'passage' {condition} ORDER BY id", *parameters
    )


def within(connection: Connection, scope: Scope) -> Within | None:
    """The slots of ``dense_ids`` as vector search takes them; None for all."""
    if scope.covers_all_sources:
        return None
    return Within(lambda: dense_ids(connection, scope), *_in_sources(connection, scope))


class SlotReads(ABC):
    """Slots of a store by id, by symbol and in their order; a base of ``MemoryStore``."""

    @property
    @abstractmethod
    def connection(self) -> Connection:
        """The calling thread's own connection."""

    def fetch(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order, valid or not; others are left out."""
        wanted = [int(slot) for slot in ids]
        fetched = {one.id: one for one in self._slots(f"slot.id {IN_LIST}", Values(wanted))}
        return [fetched[slot] for slot in wanted if slot in fetched]

    def fetch_existing(self, ids: Sequence[int]) -> list[Slot]:
        """The slots that a search of the same commit found; a StoreError if one is not stored."""
        fetched = self.fetch(ids)
        if len(fetched) != len(ids):
            raise missing("a slot that its indexes refer to")
        return fetched

    def last_passages(self, limit: int, scope: Scope = EVERYWHERE) -> list[Slot]:
        """The last ``limit`` passages, in the order in which their sources came and in these."""
        within, parameters = _conditions(self.connection, scope)
        slots = self._slots(
            f"slot.kind = 'passage' {within} ORDER BY source.id DESC, slot.start DESC LIMIT ?",
            *parameters,
            limit,
        )
        return slots[::-1]

    def passages_of(self, source: str, namespace: str, limit: int) -> list[Slot]:
        """The first ``limit`` passages of a source, in their order."""
        return self._slots(
            "source.name = ? AND source.namespace = ? AND slot.kind = 'passage' "
            "AND slot.valid_from IS NULL ORDER BY slot.start LIMIT ?",
            source,
            namespace,
            limit,
        )

    def passage_beside(self, slot: Slot, step: int) -> Slot | None:
        """The passage of the same source after a slot (``step`` 1), or before it (-1), if any."""
        after = step > 0
        found = self._slots(
            "slot.source = (SELECT source FROM slot WHERE id = ?) AND slot.kind = 'passage' "
            f"AND slot.valid_from IS NULL AND slot.start {'>=' if after else '<'} ? "
            f"ORDER BY slot.start {'' if after else 'DESC'} LIMIT 1",
            slot.id,
            slot.end if after else slot.start,
        )
        return found[0] if found else None

    def _slots(self, conditions: str, *parameters: Any) -> list[Slot]:
        """The slots that pass conditions on rows of ``slot`` and ``source``."""
        rows = self.connection.rows(
            f"SELECT {SLOT_COLUMNS} FROM slot JOIN source ON source.id = slot.source "
            f"WHERE {conditions}",
            *parameters,
        )
        return [checked_slot(row) for row in rows]

    def search_symbolic(
        self, names: Iterable[str], limit: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        """Ids of the slots about each of the named symbols.

        At most ``limit`` passages a name, and as many facts of each of its relations: one relation
        with very many facts hides no other.
        """
        within, parameters = _conditions(self.connection, scope)
        rows = self.connection.rows(
            f"""SELECT name, slot FROM (
                SELECT symbol.name, slot.id AS slot,
                    row_number() OVER (
                        PARTITION BY symbol.id,
                            CASE slot.kind WHEN 'passage' THEN 0 ELSE slot.vector END
                        ORDER BY slot_key.slot
                    ) AS rank
                FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
                JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
                WHERE symbol.name {IN_LIST} {within}
            ) AS ranked WHERE rank <= ? ORDER BY slot""",
            Values(names),
            *parameters,
            limit,
        )
        return _by_name(rows)

    def search_mentions(
        self, names: Iterable[str], max_slots: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        """Ids of the passages that mention each name, but for those that too many slots mention."""
        within, parameters = _conditions(self.connection, scope)
        source = "" if scope.covers_all_sources else "JOIN source ON source.id = slot.source"
        rows = self.connection.rows(
            f"""WITH known AS MATERIALIZED (
                SELECT id, name, (
                    SELECT count(*) FROM (
                        SELECT 1 FROM mention WHERE mention.symbol = symbol.id LIMIT ?
                    ) AS counted
                ) AS mentions FROM symbol WHERE name {IN_LIST}
            )
            SELECT known.name, slot.id FROM known
            JOIN mention ON mention.symbol = known.id JOIN slot ON slot.id = mention.slot {source}
            WHERE known.mentions <= ? AND slot.kind = 'passage'
            {within} ORDER BY mention.slot""",
            max_slots + 1,
            Values(names),
            max_slots,
            *parameters,
        )
        return _by_name(rows)

    def symbols(self, ids: Iterable[int]) -> dict[int, Symbols]:
        """What each slot is about, and what it mentions; slots without any symbol are left out."""
        found: dict[int, Symbols] = {}
        chosen = Values(int(slot) for slot in ids)
        for index, table in enumerate(("slot_key", "mention")):
            rows = self.connection.rows(
                f"SELECT {table}.slot, symbol.name FROM {table} "
                f"JOIN symbol ON symbol.id = {table}.symbol WHERE {table}.slot {IN_LIST} "
                "ORDER BY 1, 2",
                chosen,
            )
            for slot, name in checked_rows(rows, "a symbol", int, str):
                found.setdefault(slot, Symbols([], []))[index].append(name)
        return found


def _in_sources(connection: Connection, scope: Scope) -> tuple[str, list[Any]]:
    """The sources of a scope as a condition on rows of ``slot``, and parameters."""
    conditions, parameters = scope.sql(connection.metadata)
    if not conditions:
        return "", parameters
    return f"AND slot.source IN (SELECT id FROM source WHERE true{conditions})", parameters


def _conditions(connection: Connection, scope: Scope) -> tuple[str, list[Any]]:
    """A scope as conditions on rows of ``slot`` and ``source``, and parameters."""
    within, parameters = scope.sql(connection.metadata)
    holds, times = scope.validity()
    return within + holds, parameters + times


def _by_name(rows: Iterable[Row]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name, slot in rows:
        found.setdefault(name, []).append(slot)
    return found
