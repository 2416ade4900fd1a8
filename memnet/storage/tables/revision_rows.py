"""The commits of a store, and how its slots changed from one to the other."""

import numpy as np

from memnet.storage.slots import Changes, Revision
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import stored_integer, stored_rows


class RevisionRows(Connection):
    """Commits, by which a cache of the rows is brought up to date."""

    def revision(self) -> Revision:
        """The last commit that changed what is stored."""
        row = self._only(
            "SELECT generation, mark, last_slot FROM revision ORDER BY generation DESC LIMIT 1"
        )
        return Revision(*map(stored_integer, row))

    def revision_of(self, commit_id: int) -> Revision | None:
        """The commit with this id; None where the store never was there, or forgot it since."""
        row = self._one(
            "SELECT generation, mark, last_slot FROM revision WHERE mark = ?", commit_id
        )
        return None if row is None else Revision(*map(stored_integer, row))

    def changes_since(self, revision: Revision) -> Changes:
        """How the slots that vector search covers differ from those of an earlier commit.

        No id is used twice and no slot becomes valid again: what came since then has a higher id,
        and what went is listed.
        """
        added = self._rows(
            "SELECT id FROM slot WHERE id > ? AND kind = 'passage' AND valid_until IS NULL",
            revision.last_slot,
        )
        removed = self._rows("SELECT slot FROM gone WHERE generation > ?", revision.generation)
        return Changes(
            np.fromiter((row[0] for row in added), np.int64),
            np.fromiter((row[0] for row in stored_rows(removed, "a slot", int)), np.int64),
        )

    def forget_revisions(self, before: Revision) -> None:
        """Forget how the slots changed before a commit; nobody can ask for it any longer."""
        self._connection.execute("DELETE FROM revision WHERE generation < ?", (before.generation,))
        self._connection.execute("DELETE FROM gone WHERE generation <= ?", (before.generation,))
