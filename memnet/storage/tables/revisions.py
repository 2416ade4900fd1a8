"""The commits of a store, and how its slots changed since: what brings caches up to date."""

import numpy as np

from memnet.storage.tables.checked import checked_integer, checked_rows
from memnet.storage.tables.database import Connection
from memnet.storage.values import Changes, Revision

_COLUMNS = "SELECT generation, mark, last_slot FROM revision"


def latest(connection: Connection) -> Revision:
    """The last commit that changed what is stored."""
    row = connection.only(f"{_COLUMNS} ORDER BY generation DESC LIMIT 1")
    return Revision(*map(checked_integer, row))


def by_commit_id(connection: Connection, commit_id: int) -> Revision | None:
    """The commit with this id; None if it is of another store, or was forgotten."""
    row = connection.one(f"{_COLUMNS} WHERE mark = ?", commit_id)
    return None if row is None else Revision(*map(checked_integer, row))


def changes_since(connection: Connection, revision: Revision) -> Changes:
    """How the slots that vector search covers differ from those of an earlier commit.

    No id is used twice and no slot becomes valid again: what was added since has a higher id, and
    what was removed is listed in the table ``gone``.
    """
    added = connection.rows(
        "SELECT id FROM slot WHERE id > ? AND kind = 'passage' AND valid_until IS NULL",
        revision.last_slot,
    )
    removed = connection.rows("SELECT slot FROM gone WHERE generation > ?", revision.generation)
    return Changes(
        np.fromiter((row[0] for row in added), np.int64),
        np.fromiter((row[0] for row in checked_rows(removed, "a slot", int)), np.int64),
    )


def forget_before(connection: Connection, revision: Revision) -> None:
    """Forget how the slots changed before a commit; nobody can ask for it any longer."""
    connection.execute("DELETE FROM revision WHERE generation < ?", revision.generation)
    connection.execute("DELETE FROM gone WHERE generation <= ?", revision.generation)
