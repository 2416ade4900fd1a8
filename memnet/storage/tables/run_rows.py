"""Which sources a run of an ingest has met, kept on disk."""

import os

from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import stored_rows


class RunRows(Connection):
    """Sources that a run met, and those that it did not."""

    def start_run(self) -> None:
        """Forget which sources a run of this thread has met; they are kept on disk, not here."""
        self._connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS met "
            "(name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID"
        )
        self._connection.execute("DELETE FROM temp.met")

    def meet(self, name: str, digest: bytes) -> bytes | None:
        """Note that a run meets a source; returns its digest if the run has met it before."""
        row = self._one("SELECT digest FROM temp.met WHERE name = ?", name)
        if row is not None:
            return bytes(row[0])
        self._connection.execute("INSERT INTO temp.met VALUES (?, ?)", (name, digest))
        return None

    def not_met(self, namespace: str, origin: str) -> dict[str, str]:
        """Origins of the sources of a file, or of those below a folder, that were not met."""
        found = "SELECT name, origin FROM source WHERE namespace = ?1 AND"
        new = "name NOT IN (SELECT name FROM temp.met)"
        # A folder's files lie between its name with a separator and with the next character.
        below = origin.rstrip(os.sep) + os.sep
        rows = self._rows(
            f"{found} origin = ?2 AND {new} "
            f"UNION ALL {found} origin > ?3 AND origin < ?4 AND {new}",
            namespace,
            origin,
            below,
            below[:-1] + chr(ord(below[-1]) + 1),
        )
        return dict(stored_rows(rows, "a source", str, str))
