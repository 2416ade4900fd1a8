"""Statements of ``tell``: slots with a time, which may end, and which are used more or less."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables import slots, sources
from memnet.storage.tables.checked import (
    IN_LIST,
    SLOT_COLUMNS,
    checked_count,
    checked_rows,
    checked_slot,
    checked_time,
    checked_vectors,
    damaged,
    json_list,
)
from memnet.storage.tables.database import Connection
from memnet.storage.values import Slot, Usage


class _Change(Protocol):
    def __call__(self, advance: bool = True) -> AbstractContextManager[None]: ...


class Statements:
    """The statements of a store. A change waits for other writers, and raises their errors."""

    def __init__(
        self, connection: Callable[[], Connection], change: _Change, dimension: int
    ) -> None:
        """Read nothing yet.

        Args:
            connection: gives the calling thread's own.
            change: a transaction of the store's one writer, as ``Connection.transaction``.
            dimension: D, width of the vectors.
        """
        self._connection = connection
        self._change = change
        self._dimension = dimension

    def about(self, symbol: str, namespace: str | None = None) -> list[Slot]:
        """Statements about a symbol, those that ended as well, in the order of ``tell``.

        Ids rise in that order, whatever the clock said.
        """
        within = "" if namespace is None else "AND source.namespace = ?"
        rows = self._connection().rows(
            f"""SELECT {SLOT_COLUMNS} FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
            JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
            WHERE symbol.name = ? AND slot.valid_from IS NOT NULL {within} ORDER BY slot.id""",
            symbol,
            *([] if namespace is None else [namespace]),
        )
        return [checked_slot(row) for row in rows]

    def relation_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Vectors of the relations of statements, [K, D] float32 in the order of the ids."""
        rows = self._connection().rows(
            "SELECT slot.id, vector.data FROM slot "
            f"JOIN vector ON vector.id = slot.relation_vector WHERE slot.id {IN_LIST}",
            json_list(ids),
        )
        stored: dict[int, object] = dict(rows)
        return checked_vectors([stored.get(slot) for slot in ids], self._dimension)

    def latest_time(self) -> float:
        """The latest time at which a statement began or ended; 0 without any."""
        row = self._connection().only(
            "SELECT (SELECT max(valid_from) FROM slot WHERE valid_from IS NOT NULL), "
            "(SELECT max(valid_until) FROM slot WHERE valid_until IS NOT NULL)"
        )
        return max((checked_time(value) for value in row if value is not None), default=0.0)

    def usage(self, ids: Iterable[int] | None = None) -> list[Usage]:
        """Usage of statements by rising id; None for all of them."""
        chosen = "" if ids is None else f"AND id {IN_LIST}"
        rows = self._connection().rows(
            "SELECT id, usage, used, valid_until IS NULL FROM slot "
            f"WHERE valid_from IS NOT NULL {chosen} ORDER BY id",
            *([] if ids is None else [json_list(ids)]),
        )
        for slot, amount, _, _ in rows:
            if not isinstance(amount, float) or not 0 <= amount < math.inf:
                raise damaged(f"the usage of slot {slot}")
        return [
            Usage(slot, amount, checked_time(used), bool(valid))
            for slot, amount, used, valid in rows
        ]

    def evictable(
        self, capacity: int, at: float, half_life: float, keep: Collection[int] = ()
    ) -> list[int]:
        """Statements beyond ``capacity``: first ended ones, then the least used, then the oldest.

        Args:
            capacity: most statements that should stay.
            at: now, in seconds since the epoch.
            half_life: seconds in which usage halves.
            keep: ids of slots that stay in any case.
        """
        usage = self.usage()
        free = [one for one in usage if one.id not in keep]
        free.sort(key=lambda one: (one.valid, one.decayed(at, half_life), one.id))
        return [one.id for one in free[: max(0, len(usage) - capacity)]]

    def new_source(self) -> str:
        """A name for a source of statements that no source has, or had."""
        with self._change():
            connection = self._connection()
            number = checked_count(connection.property("told") or 0) + 1
            while sources.namespaces(connection, [f"told/{number}"]):
                number += 1
            connection.set_property("told", str(number))
        return f"told/{number}"

    def end(self, ids: Iterable[int], at: float) -> None:
        """End the validity of statements: they can be fetched, and no search finds them.

        One that began later than ``at``, by a clock that ran ahead, ends as it begins.
        """
        with self._change():
            self._connection().execute(
                f"UPDATE slot SET valid_until = max(?, valid_from) WHERE id {IN_LIST} "
                "AND valid_from IS NOT NULL AND valid_until IS NULL",
                at,
                json_list(ids),
            )

    def erase(self, ids: Sequence[int]) -> None:
        """Delete slots for good, and sources of statements that have none left."""
        with self._change():
            connection = self._connection()
            owners = connection.rows(
                f"SELECT DISTINCT source FROM slot WHERE id {IN_LIST}", json_list(ids)
            )
            slots.delete(connection, ids)
            connection.execute(
                f"DELETE FROM source WHERE id {IN_LIST} AND kind = 'told' "
                "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.source = source.id)",
                json_list(row[0] for row in checked_rows(owners, "a source", int)),
            )

    def add_usage(self, weights: Mapping[int, float], at: float, half_life: float) -> None:
        """Raise the usage of statements; ids of other slots are passed over.

        Args:
            weights: attention weight that each slot got, summed over reads.
            at: now, in seconds since the epoch.
            half_life: seconds in which usage halves.

        Source: Graves et al. 2016, Methods, "Dynamic memory allocation": what is written or read
        with a weight is used by so much. Reads free nothing here, and usage decays with time.
        """
        # No slot comes or goes: the vector index stays as it is.
        with self._change(advance=False):
            self._connection().execute_many(
                "UPDATE slot SET usage = ?, used = ? WHERE id = ?",
                [
                    (one.decayed(at, half_life) + weights[one.id], at, one.id)
                    for one in self.usage(weights)
                ],
            )
