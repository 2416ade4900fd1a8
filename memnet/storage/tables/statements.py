"""Statements of ``tell``: slots with times and a structure, which are used more or less."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables import slots
from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_rows,
    checked_time,
    checked_told,
    checked_vectors,
    damaged,
    of_namespace,
)
from memnet.storage.tables.connection import Part, Rows
from memnet.storage.values import ChangeBy, Told, Usage, Within
from memnet.types import Change, Eviction

_COLUMNS = """slot.id, source.name, statement.namespace, slot.text, slot.title, statement.aliases,
    statement.relation, statement."values", statement.polarity, statement.certainty,
    statement.told_at, slot.valid_from, slot.valid_until, statement.changed_by, statement.change,
    statement.reason, statement.standing, statement.speaker, slot.start, slot.end"""
_SLOTS = "SELECT slot FROM statement"
_ALL = 2**31


class Statements(Part):
    """The statements of a store. A change waits for other writers, and raises their errors."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._ids: dict[str | None, NDArray[np.int64]] = {}

    def told(self, ids: Sequence[int]) -> list[Told]:
        """Those of the slots that are statements, by rising id: in the order of ``tell``."""
        rows = self._connection.rows(
            f"""SELECT {_COLUMNS}, vector.data FROM statement
            JOIN slot ON slot.id = statement.slot JOIN source ON source.id = slot.source
            JOIN vector ON vector.id = slot.relation_vector
            WHERE statement.slot {IN_LIST} ORDER BY statement.slot""",
            Values(ids),
        )
        vectors = checked_vectors([row[-1] for row in rows], self._rows.dimension)
        changes = self._changes([row[0] for row in rows])
        return [
            checked_told(row, vector, changes.get(row[0], ()))
            for row, vector in zip(rows, vectors, strict=True)
        ]

    def _changes(self, ids: Sequence[int]) -> dict[int, tuple[ChangeBy, ...]]:
        rows = self._connection.rows(
            "SELECT slot, changed_by, change, reason FROM statement_change "
            f"WHERE slot {IN_LIST} ORDER BY slot, changed_by",
            Values(ids),
        )
        found: dict[int, tuple[ChangeBy, ...]] = {}
        for slot, *change in checked_rows(rows, "a change of a statement", int, int, str, str):
            found[slot] = (*found.get(slot, ()), ChangeBy(*change))
        return found

    def ids_about(
        self, symbols: Iterable[str], namespace: str | None = None, limit: int = _ALL
    ) -> list[int]:
        """Ids of statements with some normalised symbols, rising; of each the last ``limit``."""
        within, own = of_namespace(namespace)
        found: set[int] = set()
        for symbol in symbols:
            rows = self._connection.rows(
                "SELECT slot FROM statement_name "
                f"WHERE symbol = (SELECT id FROM symbol WHERE name = ?) {within} "
                "ORDER BY slot DESC LIMIT ?",
                symbol,
                *own,
                limit,
            )
            found.update(row[0] for row in checked_rows(rows, "a name of a statement", int))
        return sorted(found)

    def last(self, namespace: str | None, count: int) -> list[int]:
        """Ids of the last statements that were told in a namespace, or in all, rising."""
        within, own = of_namespace(namespace, "WHERE")
        rows = self._connection.rows(
            f"SELECT slot FROM statement {within} ORDER BY slot DESC LIMIT ?", *own, count
        )
        return sorted(row[0] for row in rows)

    def learned_from(self, sources: Collection[str], namespace: str | None) -> list[int]:
        """Ids of the statements that messages with these source ids made, rising."""
        within, own = of_namespace(namespace, column="source.namespace")
        rows = self._connection.rows(
            "SELECT statement.slot FROM source JOIN slot ON slot.source = source.id "
            "JOIN statement ON statement.slot = slot.id "
            f"WHERE source.name {IN_LIST} {within} AND statement.speaker IS NOT NULL "
            "ORDER BY statement.slot",
            Values(sources),
            *own,
        )
        return [row[0] for row in checked_rows(rows, "a statement of a message", int)]

    def those_in(self, ids: Sequence[int], namespace: str | None) -> set[int]:
        """Those of the slots that are statements of a namespace, or of any."""
        # An index over the namespace would be gone through as a whole.
        within, own = of_namespace(namespace, column="coalesce(namespace, '')")
        rows = self._connection.rows(
            f"SELECT slot FROM statement WHERE slot {IN_LIST} {within}", Values(ids), *own
        )
        return {row[0] for row in rows}

    def ids(self, namespace: str | None = None) -> NDArray[np.int64]:
        """Ids of all statements of a namespace, [N] int64, rising; None for all namespaces."""
        within, own = of_namespace(namespace, "WHERE")
        return self._connection.ids(f"SELECT slot FROM statement {within} ORDER BY slot", *own)

    def within_ever(self, namespace: str | None) -> Within:
        """The statements of a namespace, or all, whenever they held, for a vector search."""
        own, parameters = of_namespace(namespace, "WHERE", "statement.namespace")
        return Within(
            lambda: self._ids_ever(namespace),
            f"AND slot.id IN (SELECT statement.slot FROM statement {own})",
            parameters,
        )

    def _ids_ever(self, namespace: str | None) -> NDArray[np.int64]:
        """As ``ids``, and some that are gone; in one process only new ones are read each time."""
        connection = self._connection
        known = self._ids.get(namespace, np.zeros(0, np.int64))
        within, own = of_namespace(namespace)
        new = connection.ids(
            f"SELECT slot FROM statement WHERE slot > ? {within} ORDER BY slot",
            int(known[-1]) if len(known) else 0,
            *own,
        )
        ids = np.append(known, new)
        # Ids of a transaction that is not committed may be given to other slots after all.
        if not connection.changing:
            self._ids[namespace] = ids
        return ids

    def latest_time(self) -> float:
        """The latest time at which a statement was told; 0 without any.

        When one begins or ends may lie ahead, as it says, and is not a reading of a clock.
        """
        row = self._connection.only("SELECT max(told_at) FROM statement")
        return 0.0 if row[0] is None else checked_time(row[0])

    def usage(self, ids: Iterable[int] | None = None) -> list[Usage]:
        """Usage of statements and messages by rising id; None for all statements."""
        chosen = "valid_from IS NOT NULL"
        if ids is not None:
            chosen = f"(valid_from IS NOT NULL OR used_at > 0) AND id {IN_LIST}"
        rows = self._connection.rows(
            f"SELECT id, usage, used_at, valid_until FROM slot WHERE {chosen} ORDER BY id",
            *([] if ids is None else [Values(ids)]),
        )
        for slot, amount, _, _ in rows:
            if not isinstance(amount, float) or not 0 <= amount < math.inf:
                raise damaged(f"the usage of slot {slot}")
        return [
            Usage(
                slot, amount, checked_time(used), math.inf if until is None else checked_time(until)
            )
            for slot, amount, used, until in rows
        ]

    def evictable(
        self, capacity: int, at: float, half_life: float, keep: Collection[int] = ()
    ) -> list[int]:
        """Statements beyond ``capacity``: first ended ones, then the least used, then the oldest.

        Standing ones count, and stay, as do those in ``keep``. Those that messages made come and go
        with these. ``at`` is now, in seconds since the epoch; usage halves in ``half_life``
        seconds.
        """
        said = {row[0] for row in self._connection.rows(f"{_SLOTS} WHERE speaker IS NOT NULL")}
        usage = [one for one in self.usage() if one.id not in said]
        standing = self._connection.rows(f"{_SLOTS} WHERE standing <> 0")
        stays = {*keep, *(row[0] for row in standing)}
        free = [one for one in usage if one.id not in stays]
        free.sort(key=lambda one: (one.until > at, one.decayed(at, half_life), one.id))
        return [one.id for one in free[: max(0, len(usage) - capacity)]]

    def note_evictions(self, ids: Sequence[int], at: float) -> None:
        """Note that statements are about to be evicted, in seconds since the epoch."""
        self._change(
            "INSERT INTO eviction (namespace, source, kind, evicted_at) "
            "SELECT namespace, name, 'statement', ? FROM slot "
            f"JOIN source ON source.id = slot.source WHERE slot.id {IN_LIST} ORDER BY slot.id",
            at,
            Values(ids),
        )

    def evictions(self, namespace: str | None) -> list[Eviction]:
        """Messages and statements that were evicted from a namespace, or from all, in order."""
        within, own = of_namespace(namespace, "WHERE")
        rows = self._connection.rows(
            f"SELECT source, namespace, kind, evicted_at FROM eviction {within} ORDER BY id", *own
        )
        found: list[Eviction] = []
        for source, where, kind, evicted in checked_rows(rows, "an eviction", str, str, str, float):
            if kind not in ("message", "statement"):
                raise damaged("an eviction")
            found.append(Eviction(source=source, namespace=where, kind=kind, evicted=evicted))
        return found

    def count(self) -> int:
        """How many statements were told and are stored, those that ended as well."""
        row = self._connection.only("SELECT count(*) FROM statement WHERE speaker IS NULL")
        return checked_count(row[0])

    def new_source(self) -> str:
        """A name for a source of statements that no source has, or had."""
        with self._rows.changing():
            connection = self._connection
            number = checked_count(connection.property("last_told") or 0) + 1
            while connection.one("SELECT 1 FROM source WHERE name = ?", f"told/{number}"):
                number += 1
            connection.set_property("last_told", str(number))
        return f"told/{number}"

    def end(self, ids: Iterable[int], at: float) -> None:
        """End the validity of statements: searches find them only as of a time before.

        One that began later than ``at``, by a clock that ran ahead, ends as it begins; so does one
        that is ended at 0, as it never held. What ended before stays as it is.
        """
        self._change(
            "UPDATE slot SET valid_until = CASE WHEN valid_from > ? THEN valid_from ELSE ? END "
            f"WHERE id {IN_LIST} AND valid_from IS NOT NULL "
            "AND (valid_until IS NULL OR valid_until > ?)",
            at,
            at,
            Values(ids),
            at,
        )

    def mark(self, ids: Iterable[int], change: Change, changed_by: int | None, reason: str) -> None:
        """Note what ended statements, which slot if one did, and why."""
        self._change(
            f"UPDATE statement SET changed_by = ?, change = ?, reason = ? WHERE slot {IN_LIST}",
            changed_by,
            change,
            reason,
            Values(ids),
        )

    def add_change(self, slot: int, change: ChangeBy) -> None:
        """Note what changed a part of a statement or contradicts it; goes with its slot."""
        self._change(
            "INSERT INTO statement_change VALUES (?, ?, ?, ?) ON CONFLICT (slot, changed_by) "
            "DO UPDATE SET change = excluded.change, reason = excluded.reason",
            slot,
            *change,
        )

    def make_standing(self, ids: Iterable[int]) -> None:
        """Let statements never be evicted."""
        self._change(f"UPDATE statement SET standing = 1 WHERE slot {IN_LIST}", Values(ids))

    def erase(self, ids: Sequence[int]) -> None:
        """Delete slots for good, and sources of statements that have none left."""
        with self._rows.changing():
            connection = self._connection
            owners = connection.rows(
                f"SELECT DISTINCT source FROM slot WHERE id {IN_LIST}", Values(ids)
            )
            slots.delete(connection, ids)
            connection.execute(
                f"DELETE FROM source WHERE id {IN_LIST} AND kind = 'statement' "
                "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.source = source.id)",
                Values(row[0] for row in checked_rows(owners, "a source", int)),
            )

    def add_usage(self, weights: Mapping[int, float], at: float, half_life: float) -> None:
        """Raise the usage of statements and messages by attention weights, summed over reads.

        Ids of other slots are passed over. ``at`` is now, in seconds since the epoch; usage halves
        in ``half_life`` seconds.

        Source: Graves et al. 2016, Methods, "Dynamic memory allocation": what is written or read
        with a weight is used by so much. Reads free nothing here, and usage decays with time.
        """
        # No slot comes or goes: the vector index stays as it is.
        with self._rows.changing(advance=False):
            self._connection.execute_many(
                "UPDATE slot SET usage = ?, used_at = ? WHERE id = ?",
                [
                    (one.decayed(at, half_life) + weights[one.id], max(at, one.used), one.id)
                    for one in self.usage(weights)
                ],
            )
