"""The commits of a store on a server, which triggers and the end of each transaction record."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables.checked import IN_LIST, Values, missing
from memnet.storage.tables.connection import Connection, History
from memnet.storage.values import Changes, Revision

_SINCE = "FROM change JOIN revision ON revision.token = change.token WHERE revision.generation > ?"


class PostgresHistory(History):
    """The commits of a store with many writers, numbered in the order of their ends.

    Ids don't rise from commit to commit here, so that each slot that came or went is listed.
    """

    def __init__(self, connection: Connection) -> None:
        """Read nothing yet."""
        self._connection = connection

    def latest(self) -> Revision:
        """As ``History.latest``."""
        row = self._connection.one_of_snapshot(
            "SELECT generation, commit_id, 0 FROM revision ORDER BY generation DESC LIMIT 1"
        )
        if row is None:
            raise missing("its last commit")
        return Revision(*row)

    def find(self, commit_id: int) -> Revision | None:
        """As ``History.find``."""
        row = self._connection.one("SELECT generation FROM revision WHERE commit_id = ?", commit_id)
        return None if row is None else Revision(row[0], commit_id, 0)

    def changes_since(self, revision: Revision) -> Changes:
        """As ``History.changes_since``."""
        added = self._connection.rows(
            f"SELECT id FROM slot WHERE kind = 'passage' AND id IN (SELECT change.slot {_SINCE})",
            revision.generation,
        )
        removed = self._connection.rows(
            f"SELECT DISTINCT change.slot {_SINCE} AND change.removed", revision.generation
        )
        return Changes(_ids(added), _ids(removed))

    def count_changes_since(self, revision: Revision) -> int:
        """As ``History.count_changes_since``."""
        return int(self._connection.only(f"SELECT count(*) {_SINCE}", revision.generation)[0])

    def forget_before(self, revision: Revision) -> None:
        """Nothing: other readers have files of other commits, so that the server keeps the last."""

    def note_replaced(self, vectors: Sequence[int]) -> None:
        """As ``History.note_replaced``."""
        self._connection.execute(
            "INSERT INTO change (slot, removed) SELECT slot.id, true FROM slot "
            f"WHERE slot.vector {IN_LIST} AND slot.kind = 'passage'",
            Values(vectors),
        )


def _ids(rows: Sequence[tuple[int]] | Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
    return np.array([row[0] for row in rows], np.int64)
