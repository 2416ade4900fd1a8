"""Messages of conversations: who speaks, what others call him, and what was said before.

What is known of a message stands in its symbols, so it needs no table of its own.
"""

from collections.abc import Callable, Iterable

from memnet.storage.scope import EVERYWHERE, Scope
from memnet.storage.tables.checked import IN_LIST, checked_rows, json_list
from memnet.storage.tables.database import Connection

_MAX_COUNT = 1000
"""Up to which mentions of a symbol are counted."""
_LATEST = 64
"""Slots of a session among which the last one is looked for: of a message that was replaced the
slots are newer than its place in the session."""


class Messages:
    """Look-ups by symbols of messages; may be shared between threads."""

    def __init__(self, connection: Callable[[], Connection]) -> None:
        """Read nothing yet; ``connection`` gives the calling thread's own."""
        self._connection = connection

    def known(self, names: Iterable[str], scope: Scope = EVERYWHERE) -> frozenset[str]:
        """Those of some symbols that a slot in scope is about."""
        within, parameters = scope.sql()
        rows = self._connection().rows(
            f"SELECT name FROM symbol WHERE name {IN_LIST} AND EXISTS ("
            "SELECT 1 FROM slot_key JOIN slot ON slot.id = slot_key.slot "
            "JOIN source ON source.id = slot.source "
            f"WHERE slot_key.symbol = symbol.id{within})",
            json_list(names),
            *parameters,
        )
        return frozenset(name for (name,) in checked_rows(rows, "a symbol", str))

    def mentioned(self, prefix: str, scope: Scope = EVERYWHERE) -> dict[str, int]:
        """How many slots in scope mention each symbol that starts with a prefix, up to 1,000."""
        within, parameters = scope.sql()
        rows = self._connection().rows(
            "SELECT name, (SELECT count(*) FROM (SELECT 1 FROM mention "
            "JOIN slot ON slot.id = mention.slot JOIN source ON source.id = slot.source "
            f"WHERE mention.symbol = symbol.id{within} LIMIT ?)) "
            "FROM symbol WHERE name >= ? AND name < ?",
            *parameters,
            _MAX_COUNT,
            prefix,
            f"{prefix}\U0010ffff",
        )
        return {name: count for name, count in checked_rows(rows, "a symbol", str, int) if count}

    def source_rows(self, slots: Iterable[int]) -> dict[int, tuple[int, str]]:
        """The row of the source of each slot, in the order of coming, and its namespace."""
        rows = self._connection().rows(
            "SELECT slot.id, source.id, namespace FROM slot JOIN source ON source.id = slot.source "
            f"WHERE slot.id {IN_LIST}",
            json_list(slots),
        )
        found = checked_rows(rows, "the source of a slot", int, int, str)
        return {slot: (row, namespace) for slot, row, namespace in found}

    def before(self, session: str, name: str, namespace: str) -> tuple[str, str] | None:
        """Title and text of the slot before a source, stored or not, among those about a symbol.

        Args:
            session: the symbol.
            name: of the source; one that is not stored comes last.
            namespace: that both are in.
        """
        row = self._connection().one(
            """SELECT title, text FROM (
                SELECT slot.title, slot.text, slot.source, slot.start FROM symbol
                JOIN slot_key ON slot_key.symbol = symbol.id JOIN slot ON slot.id = slot_key.slot
                JOIN source ON source.id = slot.source
                WHERE symbol.name = ? AND source.namespace = ? AND source.id < ifnull(
                    (SELECT id FROM source WHERE namespace = ? AND name = ?), 9223372036854775807)
                ORDER BY slot_key.slot DESC LIMIT ?
            ) ORDER BY source DESC, start DESC LIMIT 1""",
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
