"""The journal: what each ``tell`` changed, so that it can be taken back."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from memnet.storage.tables.checked import (
    IN_LIST,
    checked_count,
    checked_rows,
    checked_time,
    damaged,
    json_list,
)
from memnet.storage.tables.database import Connection
from memnet.storage.tables.statements import Changing, Statements


class JournalEntry(NamedTuple):
    """What one ``tell`` did."""

    id: int
    told: float
    """Seconds since the epoch."""
    erased: bool
    """Whether something that it erased or touched is gone for good."""
    added: list[int]
    """Ids of the slots that it added."""
    changed: list[int]
    """Ids of the slots that it ended, contradicted or merged with."""


class Journal:
    """The journal of a store. All writes are parts of transactions of the store's one writer."""

    def __init__(
        self, connection: Callable[[], Connection], change: Changing, statements: Statements
    ) -> None:
        """Read nothing yet.

        Args:
            connection: gives the calling thread's own.
            change: a transaction of the store's one writer.
            statements: of the same store.
        """
        self._connection = connection
        self._change = change
        self._statements = statements

    def begin(self, namespace: str, told: float) -> int:
        """Begin the entry of a ``tell`` at a time; returns its id."""
        with self._change():
            row = self._connection().only(
                "INSERT INTO tell (namespace, told, erased) VALUES (?, ?, 0) RETURNING id",
                namespace,
                told,
            )
        return checked_count(row[0])

    def note(
        self, entry: int, ids: Iterable[int], *, added: bool = False, usage: float = 0.0
    ) -> None:
        """Note how statements are before an entry changes them, or that it has just added them.

        What it notes of a statement first stays, but usage adds up.

        Args:
            entry: that ``begin`` gave.
            ids: of slots of statements.
            added: whether the entry has added them.
            usage: that the entry adds to each of them.
        """
        with self._change():
            self._connection().execute(
                "INSERT INTO journal (tell, slot, added, standing, valid_until, changed_by, "
                "change, reason, usage) SELECT ?, slot.id, ?, statement.standing, "
                "slot.valid_until, statement.changed_by, statement.change, statement.reason, ? "
                "FROM slot JOIN statement ON statement.slot = slot.id "
                f"WHERE slot.id {IN_LIST} "
                "ON CONFLICT DO UPDATE SET usage = usage + excluded.usage",
                entry,
                int(added),
                usage,
                json_list(ids),
            )

    def note_erasure(self, entry: int) -> None:
        """Note that an entry erases statements, which nothing brings back."""
        with self._change():
            self._connection().execute("UPDATE tell SET erased = 1 WHERE id = ?", entry)

    def last(self, namespace: str) -> JournalEntry | None:
        """The last entry of a namespace that was not taken back; None without any."""
        connection = self._connection()
        row = connection.one(
            "SELECT id, told, erased FROM tell WHERE namespace = ? ORDER BY id DESC LIMIT 1",
            namespace,
        )
        if row is None:
            return None
        rows = connection.rows(
            "SELECT journal.slot, journal.added, slot.id IS NOT NULL FROM journal "
            "LEFT JOIN slot ON slot.id = journal.slot WHERE tell = ? ORDER BY 1",
            row[0],
        )
        touched = checked_rows(rows, "an entry of the journal", int, int, int)
        return JournalEntry(
            checked_count(row[0]),
            checked_time(row[1]),
            bool(row[2]) or not all(there for _, _, there in touched),
            [slot for slot, added, _ in touched if added],
            [slot for slot, added, _ in touched if not added],
        )

    def take_back(self, entry: JournalEntry, half_life: float) -> None:
        """Take back what the last entry of a namespace did, which must have erased nothing.

        Args:
            entry: as ``last`` gave it in the same transaction.
            half_life: seconds in which usage halves.
        """
        with self._change():
            connection = self._connection()
            self._take_usage_back(entry, half_life)
            connection.execute(
                "UPDATE slot SET valid_until = journal.valid_until FROM journal "
                "WHERE journal.tell = ? AND journal.slot = slot.id AND NOT journal.added",
                entry.id,
            )
            # What had changed a statement before may be gone by now.
            connection.execute(
                "UPDATE statement SET standing = journal.standing, change = journal.change, "
                "reason = journal.reason, "
                "changed_by = (SELECT id FROM slot WHERE id = journal.changed_by) FROM journal "
                "WHERE journal.tell = ? AND journal.slot = statement.slot AND NOT journal.added",
                entry.id,
            )
            self._statements.erase(entry.added)
            connection.execute("DELETE FROM journal WHERE tell = ?", entry.id)
            connection.execute("DELETE FROM tell WHERE id = ?", entry.id)

    def _take_usage_back(self, entry: JournalEntry, half_life: float) -> None:
        """Take the usage of merges back, as far as it has not decayed; that of reads stays."""
        rows = self._connection().rows(
            "SELECT slot, usage FROM journal WHERE tell = ? AND usage > 0 AND NOT added", entry.id
        )
        given: dict[int, float] = dict(checked_rows(rows, "an entry of the journal", int, float))
        if any(not 0 <= usage < 1e9 for usage in given.values()):
            raise damaged("an entry of the journal")
        left = [
            (max(0.0, one.usage - one.share_left(given[one.id], entry.told, half_life)), one.id)
            for one in self._statements.usage(given)
        ]
        self._connection().execute_many("UPDATE slot SET usage = ? WHERE id = ?", left)
