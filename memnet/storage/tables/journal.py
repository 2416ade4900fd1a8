"""The journal: what each ``tell`` changed, so that it can be taken back."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.storage.tables.checked import (
    IN_LIST,
    Row,
    Values,
    checked_count,
    checked_rows,
    checked_time,
    damaged,
    of_namespace,
)
from memnet.storage.tables.connection import Part, Rows
from memnet.storage.tables.statements import Statements


class JournalEntry(NamedTuple):
    """What one ``tell`` did."""

    id: int
    told: float  # seconds since the epoch
    erased: bool  # whether something that it erased or touched is gone for good
    added: list[int]  # ids of the slots that it added
    changed: list[int]  # ids of the slots that it ended, contradicted or merged with


class Journal(Part):
    """The journal of a store. All writes are parts of transactions of the store's one writer."""

    def __init__(self, rows: Rows, statements: Statements) -> None:
        super().__init__(rows)
        self._statements = statements

    def begin(self, namespace: str, told: float, message: str | None = None) -> int:
        """Begin the entry of a ``tell`` at a time, or of a source of messages; returns its id."""
        with self._rows.changing():
            row = self._connection.only(
                "INSERT INTO tell (namespace, told_at, source, erased) VALUES (?, ?, "
                "(SELECT id FROM source WHERE namespace = ? AND name = ?), 0) RETURNING id",
                namespace,
                told,
                namespace,
                message,
            )
        return checked_count(row[0])

    def note(
        self, entry: int, ids: Iterable[int], *, added: bool = False, usage: float = 0.0
    ) -> None:
        """Note how statements are before an entry's first change of them; ``usage`` adds up."""
        self._change(
            "INSERT INTO journal (tell, slot, added, standing, valid_until, changed_by, "
            "change, reason, usage) SELECT ?, slot.id, ?, statement.standing, "
            "slot.valid_until, statement.changed_by, statement.change, statement.reason, ? "
            "FROM slot JOIN statement ON statement.slot = slot.id "
            f"WHERE slot.id {IN_LIST} "
            "ON CONFLICT (tell, slot) DO UPDATE SET usage = journal.usage + excluded.usage",
            entry,
            int(added),
            usage,
            Values(ids),
        )

    def note_erasure(self, entry: int) -> None:
        """Note that an entry erases statements, which nothing brings back."""
        self._change("UPDATE tell SET erased = 1 WHERE id = ?", entry)

    def last(self, namespace: str) -> JournalEntry | None:
        """The last entry of a ``tell`` in a namespace that was not taken back; None without any."""
        row = self._connection.one(
            "SELECT id, told_at, erased FROM tell WHERE namespace = ? AND source IS NULL "
            "ORDER BY id DESC LIMIT 1",
            namespace,
        )
        return None if row is None else self._entry(row)

    def _entry(self, row: Row) -> JournalEntry:
        """An entry from its row: id, time, and whether it erased something."""
        rows = self._connection.rows(
            "SELECT journal.slot, journal.added, CASE WHEN slot.id IS NULL THEN 0 ELSE 1 END "
            "FROM journal "
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
        """Take back what an entry did, which must have erased nothing.

        What was changed by something that it added is as it was before; or, if that has ended
        since, by a statement that is not taken back, it ended there. The entry is as ``last`` gave
        it in the same transaction; usage halves in ``half_life`` seconds.
        """
        with self._rows.changing():
            self._take_usage_back(entry, half_life)
            self._restore(entry)
            self._statements.erase(entry.added)
            self._delete([entry.id])

    def take_back_messages(self, names: Iterable[str], namespace: str | None) -> None:
        """Take back what was learned from the messages of some sources, the last first."""
        within, own = of_namespace(namespace)
        entries = self._connection.rows(
            "SELECT id, told_at, erased FROM tell WHERE source IN "
            f"(SELECT id FROM source WHERE name {IN_LIST} {within}) ORDER BY id DESC",
            Values(names),
            *own,
        )
        if not entries:
            return
        with self._rows.changing():
            for row in entries:
                entry = self._entry(row)
                self._restore(entry)
                self._statements.erase(entry.added)
            self._delete([row[0] for row in entries])

    def erase(self, ids: Sequence[int]) -> None:
        """Erase statements for good; what they changed is as it was before them."""
        with self._rows.changing():
            for slot in sorted(ids, reverse=True):
                told = "SELECT tell FROM journal WHERE slot = ? AND added = 1"
                row = self._connection.one(told, slot)
                self._set_before(0 if row is None else row[0], slot)
            self._statements.erase(ids)

    def forget_messages(self, sources: Iterable[int]) -> None:
        """Forget how to take back what was learned from the messages of sources, by their rows."""
        rows = self._connection.rows(f"SELECT id FROM tell WHERE source {IN_LIST}", Values(sources))
        self._delete([row[0] for row in rows])

    def _delete(self, entries: Iterable[int]) -> None:
        chosen = Values(entries)
        with self._rows.changing():
            self._connection.execute(f"DELETE FROM journal WHERE tell {IN_LIST}", chosen)
            self._connection.execute(f"DELETE FROM tell WHERE id {IN_LIST}", chosen)

    def _restore(self, entry: JournalEntry) -> None:
        """Let what an entry changed be as it was, but for usage; other entries may have come since.

        What it ended held until something that it added, and if this has ended as well, until what
        ended it.
        """
        connection = self._connection
        for slot in sorted(entry.added, reverse=True):
            self._set_before(entry.id, slot)
        ended = connection.rows(
            "SELECT journal.slot FROM journal JOIN statement ON statement.slot = journal.slot "
            "WHERE tell = ? AND added = 0 AND statement.change = 'end' "
            "AND statement.changed_by IS NULL AND coalesce(journal.change, '') <> 'end'",
            entry.id,
        )
        for (slot,) in ended:
            self._set(slot, self._noted(entry.id, slot))
        connection.execute(
            "UPDATE statement SET standing = journal.standing FROM journal "
            "WHERE journal.tell = ? AND journal.slot = statement.slot AND journal.added = 0",
            entry.id,
        )

    def _set_before(self, entry: int, slot: int) -> None:
        """Let what a slot changed, which an entry added, be as it was before, here and as noted."""
        connection = self._connection
        own = connection.one(
            "SELECT slot.valid_until, changed_by, change, reason FROM slot "
            "JOIN statement ON statement.slot = slot.id WHERE slot.id = ?",
            slot,
        )
        if own is None:
            return
        # What was told earlier of a later time ended it from the first, and is noted of the others.
        ended_since = own[2] is not None and not 0 < (own[1] or 0) < slot

        def before(other: int) -> Row:
            return own if ended_since else self._noted(entry, other)

        rows = connection.rows("SELECT slot FROM statement WHERE changed_by = ?", slot)
        for (other,) in rows:
            self._set(other, before(other))
        rows = connection.rows("SELECT tell, slot FROM journal WHERE changed_by = ?", slot)
        for tell, other in rows:
            connection.execute(
                "UPDATE journal SET valid_until = ?, changed_by = ?, change = ?, reason = ? "
                "WHERE tell = ? AND slot = ?",
                *before(other),
                tell,
                other,
            )

    def _noted(self, entry: int, slot: int) -> Row:
        """How a statement was before an entry: its end, and what changed it how and why."""
        # What had changed it before may be gone by now.
        row = self._connection.one(
            "SELECT valid_until, (SELECT id FROM slot WHERE id = journal.changed_by), change, "
            "reason FROM journal WHERE tell = ? AND slot = ? AND added = 0",
            entry,
            slot,
        )
        return (None, None, None, None) if row is None else row

    def _set(self, slot: int, state: Row) -> None:
        """Give a statement its end, and what changed it how and why."""
        until, *changed = state
        connection = self._connection
        connection.execute("UPDATE slot SET valid_until = ? WHERE id = ?", until, slot)
        connection.execute(
            "UPDATE statement SET changed_by = ?, change = ?, reason = ? WHERE slot = ?",
            *changed,
            slot,
        )

    def _take_usage_back(self, entry: JournalEntry, half_life: float) -> None:
        """Take the usage of merges back, as far as it has not decayed; that of reads stays."""
        rows = self._connection.rows(
            "SELECT slot, usage FROM journal WHERE tell = ? AND usage > 0 AND added = 0", entry.id
        )
        given: dict[int, float] = dict(checked_rows(rows, "an entry of the journal", int, float))
        if any(not 0 <= usage < 1e9 for usage in given.values()):
            raise damaged("an entry of the journal")
        left = [
            (max(0.0, one.usage - given_then.decayed(one.used, half_life)), one.id)
            for one in self._statements.usage(given)
            for given_then in [one._replace(usage=given[one.id], used=entry.told)]
        ]
        self._connection.execute_many("UPDATE slot SET usage = ? WHERE id = ?", left)
