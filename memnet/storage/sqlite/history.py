"""The commits of a database file, which triggers record."""

from collections.abc import Sequence

import numpy as np

from memnet.storage.tables.checked import IN_LIST, Values, checked_integer, checked_rows, missing
from memnet.storage.tables.connection import Connection, History
from memnet.storage.values import Changes, Revision

_REVISION = "SELECT generation, commit_id, last_slot FROM revision"


class SqliteHistory(History):
    """The commits of a database file: there is one writer, and ids rise from commit to commit."""

    def __init__(self, connection: Connection) -> None:
        """Read nothing yet."""
        self._connection = connection

    def latest(self) -> Revision:
        statement = f"{_REVISION} ORDER BY generation DESC LIMIT 1"
        row = self._connection.one_of_snapshot(statement)
        if row is None:
            raise missing("a row of its own description")
        return Revision(*map(checked_integer, row))

    def find(self, commit_id: int) -> Revision | None:
        row = self._connection.one(f"{_REVISION} WHERE commit_id = ?", commit_id)
        return None if row is None else Revision(*map(checked_integer, row))

    def changes_since(self, revision: Revision) -> Changes:
        """As ``History.changes_since``.

        No id is used twice: what was added since has a higher id, and what was removed is listed in
        the table ``tombstone``.
        """
        added = self._connection.rows(
            "SELECT id FROM slot WHERE id > ? AND kind = 'passage' UNION "
            "SELECT slot.id FROM tombstone JOIN slot ON slot.id = tombstone.slot "
            "WHERE tombstone.generation > ?",
            revision.last_slot,
            revision.generation,
        )
        removed = self._connection.rows(
            "SELECT slot FROM tombstone WHERE generation > ?", revision.generation
        )
        return Changes(
            np.fromiter((row[0] for row in added), np.int64),
            np.fromiter((row[0] for row in checked_rows(removed, "a slot", int)), np.int64),
        )

    def count_changes_since(self, revision: Revision) -> int:
        row = self._connection.only(
            "SELECT (SELECT count(*) FROM slot WHERE id > ? AND kind = 'passage') + "
            "(SELECT count(*) FROM tombstone WHERE generation > ?)",
            revision.last_slot,
            revision.generation,
        )
        return checked_integer(row[0])

    def forget_before(self, revision: Revision) -> None:
        """As ``History.forget_before``: the one index file is of this commit."""
        with self._connection.transaction(advance=False):
            self._connection.execute(
                "DELETE FROM revision WHERE generation < ?", revision.generation
            )
            self._connection.execute(
                "DELETE FROM tombstone WHERE generation <= ?", revision.generation
            )

    def note_replaced(self, vectors: Sequence[int]) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO tombstone "
            "SELECT property.value + 1, slot.id FROM slot, property "
            f"WHERE slot.vector {IN_LIST} AND slot.kind = 'passage' "
            "AND property.name = 'generation'",
            Values(vectors),
        )
