"""Messages of conversations: who speaks, what others call him, what was said before, and how used.

What is known of a message stands in its symbols, so it needs no table of its own.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from memnet.storage.tables import slots
from memnet.storage.tables.checked import IN_LIST, Values, checked_count, checked_rows, damaged
from memnet.storage.tables.connection import Part, Rows
from memnet.storage.tables.journal import Journal
from memnet.storage.values import EVERYWHERE, Scope

_MAX_COUNT = 1000  # up to which mentions of a symbol are counted
# Slots of a session among which the last one is looked for: of a message that was replaced the
# slots are newer than its place in the session.
_LATEST = 64


# SQL for the slots of messages that are sources of their own.
_USED = "valid_from IS NULL AND used_at > 0"


class MessagePlace(NamedTuple):
    """Where a message stands, and how it looks."""

    source: int  # row of its source, in the order of coming
    namespace: str
    characters: int  # length of its text
    last: str  # last character of its text that is not space; empty if there is none


class Messages(Part):
    """Look-ups by symbols of messages, and their eviction; may be shared between threads."""

    def __init__(self, rows: Rows, journal: Journal) -> None:
        super().__init__(rows)
        self._journal = journal

    def known(self, names: Iterable[str], scope: Scope = EVERYWHERE) -> frozenset[str]:
        """Those of some symbols that a slot in scope is about."""
        connection = self._connection
        within, parameters = scope.sql(connection.metadata)
        rows = connection.rows(
            f"SELECT name FROM symbol WHERE name {IN_LIST} AND EXISTS ("
            "SELECT 1 FROM slot_key JOIN slot ON slot.id = slot_key.slot "
            "JOIN source ON source.id = slot.source "
            f"WHERE slot_key.symbol = symbol.id{within})",
            Values(names),
            *parameters,
        )
        return frozenset(name for (name,) in checked_rows(rows, "a symbol", str))

    def mentioned(self, prefix: str, scope: Scope = EVERYWHERE) -> dict[str, int]:
        """How many slots in scope mention each symbol that starts with a prefix, up to 1,000."""
        connection = self._connection
        within, parameters = scope.sql(connection.metadata)
        rows = connection.rows(
            "SELECT name, (SELECT count(*) FROM (SELECT 1 FROM mention "
            "JOIN slot ON slot.id = mention.slot JOIN source ON source.id = slot.source "
            f"WHERE mention.symbol = symbol.id{within} LIMIT ?) AS counted) "
            "FROM symbol WHERE name >= ? AND name < ?",
            *parameters,
            _MAX_COUNT,
            prefix,
            f"{prefix}\U0010ffff",
        )
        return {name: count for name, count in checked_rows(rows, "a symbol", str, int) if count}

    def places(self, slots: Iterable[int]) -> dict[int, MessagePlace]:
        """Where messages stand and how they look, by their slots."""
        rows = self._connection.rows(
            "SELECT slot.id, source.id, namespace, slot.end - slot.start, "
            "substr(rtrim(slot.text), length(rtrim(slot.text)), 1) "
            f"FROM slot JOIN source ON source.id = slot.source WHERE slot.id {IN_LIST}",
            Values(slots),
        )
        found = checked_rows(rows, "the place of a message", int, int, str, int, str)
        return {slot: MessagePlace(*place) for slot, *place in found}

    def before(self, session: str, name: str, namespace: str) -> tuple[str, str] | None:
        """Title and text of the slot before a source, which comes last if it is not stored."""
        row = self._connection.one(
            """SELECT title, text FROM (
                SELECT slot.title, slot.text, slot.source, slot.start FROM symbol
                JOIN slot_key ON slot_key.symbol = symbol.id JOIN slot ON slot.id = slot_key.slot
                JOIN source ON source.id = slot.source
                WHERE symbol.name = ? AND source.namespace = ? AND source.id < coalesce(
                    (SELECT id FROM source WHERE namespace = ? AND name = ?), 9223372036854775807)
                ORDER BY slot_key.slot DESC LIMIT ?
            ) AS latest ORDER BY source DESC, start DESC LIMIT 1""",
            session,
            namespace,
            namespace,
            name,
            _LATEST,
        )
        if row is None:
            return None
        [(title, text)] = checked_rows([row], "a slot", str, str)
        return title, text

    def count_slots(self) -> int:
        """How many slots the messages have that are sources of their own."""
        row = self._connection.only(f"SELECT count(*) FROM slot WHERE {_USED}")
        return checked_count(row[0])

    def evicted(self, names: Iterable[str], namespace: str) -> dict[str, bytes]:
        """Digests of those of the named sources that were evicted, and did not come again since."""
        rows = self._connection.rows(
            f"SELECT name, digest FROM evicted_source WHERE namespace = ? AND name {IN_LIST}",
            namespace,
            Values(names),
        )
        return dict(checked_rows(rows, "an evicted message", str, bytes))

    def evict(self, capacity: int, at: float, half_life: float, keep: str, namespace: str) -> int:
        """Delete whole messages, the least used first, until at most ``capacity`` slots are left.

        Of messages that are used alike, such as those that no read attended to since they were
        written together, the oldest go first. Files that they came from count as read to the end,
        and an ingest that comes upon them again knows that they were here. The source ``keep`` of a
        namespace stays in any case. ``at`` is now, in seconds since the epoch; usage halves in
        ``half_life`` seconds. Gives how many messages were deleted.
        """
        surplus = self.count_slots() - capacity
        if surplus <= 0:
            return 0
        connection = self._connection
        rows = connection.rows(
            f"WITH kept AS (SELECT id FROM source WHERE namespace = ? AND name = ?) "
            f"SELECT source, 1, usage, used_at FROM slot WHERE {_USED} "
            "AND source NOT IN (SELECT id FROM kept) "
            "UNION ALL SELECT source, 0, usage, used_at FROM statement "
            "JOIN slot ON slot.id = statement.slot WHERE speaker IS NOT NULL "
            f"AND source IN (SELECT source FROM slot WHERE {_USED}) "
            "AND source NOT IN (SELECT id FROM kept) "
            "ORDER BY source",
            namespace,
            keep,
        )
        checked_rows(rows, "the usage of a message", int, int, float, float)
        columns = np.array(rows, np.float64).reshape(-1, 4)
        if not np.isfinite(columns).all() or (columns < 0).any():
            raise damaged("the usage of a message")
        owners, first = np.unique(columns[:, 0], return_index=True)
        counts = np.add.reduceat(columns[:, 1], first) if len(first) else columns[:, 1]
        decayed = columns[:, 2] * 0.5 ** (np.maximum(0.0, at - columns[:, 3]) / half_life)
        # A message is as used as the most used of its slots, and of the statements it made.
        used = np.maximum.reduceat(decayed, first) if len(first) else decayed
        order = np.lexsort((owners, used))
        freed = np.cumsum(counts[order])
        chosen = order[: int(np.searchsorted(freed, surplus)) + 1]
        sources: list[int] = owners[chosen].astype(np.int64).tolist()
        self._delete(sources, at)
        return len(sources)

    def _delete(self, sources: Sequence[int], at: float) -> None:
        """Delete sources by their rows, and note that they were evicted at a time."""
        chosen = Values(sources)
        with self._rows.changing():
            connection = self._connection
            owned = connection.rows(f"SELECT id FROM slot WHERE source {IN_LIST}", chosen)
            self._journal.forget_messages(sources)
            slots.delete(connection, [row[0] for row in checked_rows(owned, "a slot", int)])
            connection.execute(
                "INSERT INTO evicted_source SELECT namespace, name, digest FROM source "
                f"WHERE id {IN_LIST} "
                "ON CONFLICT (namespace, name) DO UPDATE SET digest = excluded.digest",
                chosen,
            )
            connection.execute(
                "INSERT INTO eviction (namespace, source, kind, evicted_at) "
                f"SELECT namespace, name, 'message', ? FROM source WHERE id {IN_LIST} ORDER BY id",
                at,
                chosen,
            )
            connection.execute(f"DELETE FROM source WHERE id {IN_LIST}", chosen)
