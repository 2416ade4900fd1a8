"""Which sources a run of an ingest has met, kept on disk."""

from memnet.storage.connection import Connection


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
        # A folder's files lie between its name with "/" and with the next character, "0".
        rows = self._rows(
            f"{found} origin = ?2 AND {new} "
            f"UNION ALL {found} origin > ?2 || '/' AND origin < ?2 || '0' AND {new}",
            namespace,
            origin,
        )
        return dict(rows)
