"""What was told: its times, its end and its usage."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from memnet.storage.slots import Slot, Usage
from memnet.storage.tables.row_values import (
    LISTED,
    SLOT_COLUMNS,
    damaged,
    listed,
    stored_count,
    stored_rows,
    stored_slot,
    stored_time,
)
from memnet.storage.tables.source_rows import SourceRows


class ToldRows(SourceRows):
    """Told statements."""

    def new_told_name(self) -> str:
        """A source name for something told that no source has, or had for something told."""
        number = stored_count(self.property("told") or 0) + 1
        while self.namespaces([f"told/{number}"]):
            number += 1
        self.set_property("told", str(number))
        return f"told/{number}"

    def told(self, symbol: str, namespace: str | None) -> list[Slot]:
        """Told statements about a symbol, those that ended as well, as they were told.

        Ids rise in that order, whatever the clock said.
        """
        rows = self._rows(
            f"""SELECT {SLOT_COLUMNS} FROM symbol JOIN slot_key ON slot_key.symbol = symbol.id
            JOIN slot ON slot.id = slot_key.slot JOIN source ON source.id = slot.source
            WHERE symbol.name = ?1 AND slot.valid_from IS NOT NULL
            AND (?2 IS NULL OR source.namespace = ?2) ORDER BY slot.id""",
            symbol,
            namespace,
        )
        return [stored_slot(row) for row in rows]

    def latest_time(self) -> float:
        """The latest time at which a told statement began or ended; 0 without any."""
        row = self._only(
            "SELECT (SELECT max(valid_from) FROM slot WHERE valid_from IS NOT NULL), "
            "(SELECT max(valid_until) FROM slot WHERE valid_until IS NOT NULL)"
        )
        return max((stored_time(value) for value in row if value is not None), default=0.0)

    def end_slots(self, ids: Iterable[int], at: float) -> list[int]:
        """Close the validity of those of the slots that were told and are valid; returns them.

        What began later than ``at``, by a clock that ran ahead, ends as it begins.
        """
        rows = self._rows(
            f"UPDATE slot SET valid_until = max(?, valid_from) WHERE id {LISTED} "
            "AND valid_from IS NOT NULL AND valid_until IS NULL RETURNING id",
            at,
            listed(ids),
        )
        return [row[0] for row in rows]

    def erase_slots(self, ids: Sequence[int]) -> None:
        """Delete slots, and told sources that have no slot left."""
        sources = self._rows(f"SELECT DISTINCT source FROM slot WHERE id {LISTED}", listed(ids))
        stored_rows(sources, "a source", int)
        self.delete_slots(ids)
        self._connection.execute(
            f"DELETE FROM source WHERE id {LISTED} AND kind = 'told' "
            "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.source = source.id)",
            (listed(row[0] for row in sources),),
        )

    def usage(self, ids: Iterable[int] | None = None) -> list[Usage]:
        """What is known of the use of told slots, by rising id; None for all of them."""
        rows = self._rows(
            "SELECT id, usage, used, valid_until FROM slot WHERE valid_from IS NOT NULL "
            "AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1))) ORDER BY id",
            None if ids is None else listed(ids),
        )
        return [_usage(row) for row in rows]

    def set_usage(self, usages: Iterable[tuple[int, float]], at: float) -> None:
        """Set the usage of slots, as (id, usage), at this time."""
        self._connection.executemany(
            "UPDATE slot SET usage = ?, used = ? WHERE id = ?",
            ((usage, at, slot) for slot, usage in usages),
        )


def _usage(row: tuple[Any, ...]) -> Usage:
    slot, usage, used, until = row
    if not isinstance(usage, float) or not 0 <= usage < math.inf:
        raise damaged(f"the usage of slot {slot}")
    return Usage(slot, usage, stored_time(used), until is None)
