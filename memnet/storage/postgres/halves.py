"""The vectors of passages in half precision, which pgvector compares on the server.

A store has them from when it was first opened with ``index=hnsw`` or ``index=exact``. From then on
every writer adds those of its passages at the end of its transaction, whatever its own index; rows
of deleted slots and of replaced vectors are deleted by triggers.
"""

from collections.abc import Sequence

import numpy as np

from memnet.errors import StoreError
from memnet.storage.tables.checked import checked_count, checked_vectors
from memnet.storage.tables.connection import Connection

FILLED = "pgvector"
"""Property of a store whose passages all have such vectors."""
PAGE = 5000
"""Vectors that are read together: 8 MB. Other writers wait while so many are added."""
_EXISTS = (
    "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() "
    "AND tablename = 'passage_vector')"
)
_OWN = (
    "SELECT DISTINCT slot FROM change "
    "WHERE token = CAST(current_setting('memnet.token') AS bigint) AND slot > ? ORDER BY slot"
)
"""Slots that the transaction under way added or removed, or whose vectors it replaced."""
_ALL = "SELECT id AS slot FROM slot WHERE kind = 'passage' AND id > ? ORDER BY id"
_LACKING = """
    SELECT page.slot, (
        SELECT vector.data FROM slot JOIN vector ON vector.id = slot.vector
        WHERE slot.id = page.slot AND slot.kind = 'passage' AND NOT EXISTS (
            SELECT 1 FROM passage_vector WHERE passage_vector.slot = page.slot
        )
    ) FROM ({} LIMIT {}) AS page ORDER BY page.slot
"""
_MAX_HALF = 65504.0


def half_schema(dimension: int) -> str:
    """Statements that make a table for vectors of width ``dimension``, and keep it in step."""
    return f"""
    CREATE TABLE passage_vector (slot bigint PRIMARY KEY, half halfvec({dimension}) NOT NULL);
    -- Where they are compared: no second table is to be read for long ones.
    ALTER TABLE passage_vector ALTER half SET STORAGE PLAIN;
    CREATE FUNCTION drop_vectors_of_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM passage_vector USING removed WHERE passage_vector.slot = removed.id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER passage_removed AFTER DELETE ON slot REFERENCING OLD TABLE AS removed
        FOR EACH STATEMENT EXECUTE FUNCTION drop_vectors_of_removed();
    -- Those who replace a vector note its slots in "change", and so add the new one in the end.
    CREATE FUNCTION drop_replaced_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM passage_vector USING replaced, slot
            WHERE slot.vector = replaced.id AND passage_vector.slot = slot.id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER vector_replaced AFTER UPDATE ON vector REFERENCING NEW TABLE AS replaced
        FOR EACH STATEMENT EXECUTE FUNCTION drop_replaced_vectors();
    """


class HalfVectors:
    """The vectors that a connection writes for pgvector."""

    def __init__(self, connection: Connection) -> None:
        """Read nothing yet."""
        self._connection = connection
        self._exist = False

    def exist(self) -> bool:
        """Whether the store has such vectors, which it keeps once it has them."""
        if not self._exist:
            self._exist = bool(self._connection.only(_EXISTS)[0])
        return self._exist

    def follow(self) -> None:
        """Add those of the passages that the transaction under way added or changed."""
        if not self.exist():
            return
        last = self._add(_OWN, 0)
        while last is not None:
            last = self._add(_OWN, last)

    def add_page(self, after: int) -> int | None:
        """Add those that some passages lack, in a transaction of which there is no other.

        Args:
            after: id of the slot before the first that is looked at.

        Returns:
            Id of the last one that was looked at; None after the last page.
        """
        return self._add(_ALL, after)

    def replace_page(self, after: int) -> int | None:
        """As ``add_page``; those that are there are made anew."""
        (last,) = self._connection.only(
            f"SELECT max(slot) FROM ({_ALL} LIMIT {PAGE}) AS page", after
        )
        self._connection.execute(
            "DELETE FROM passage_vector WHERE slot > ? AND slot <= ?", after, last or after
        )
        last = self._add(_ALL, after)
        if last is None:  # What is behind the last page is of no slot.
            self._connection.execute(
                "DELETE FROM passage_vector WHERE slot > (SELECT coalesce(max(id), 0) FROM slot)"
            )
        return last

    def differ(self) -> bool:
        """Whether they are other vectors than those of the rows, or of other slots."""
        dimension = self._dimension()
        after, counted = 0, 0
        while True:
            rows = self._connection.rows(
                "SELECT slot.id, vector.data, CAST(half AS real[]) "
                f"FROM ({_ALL} LIMIT {PAGE}) AS page JOIN slot ON slot.id = page.slot "
                "JOIN vector ON vector.id = slot.vector "
                "LEFT JOIN passage_vector ON passage_vector.slot = slot.id ORDER BY slot.id",
                after,
            )
            if not rows:
                break
            after, counted = rows[-1][0], counted + len(rows)
            if any(row[2] is None for row in rows):
                return True
            wanted = checked_vectors([row[1] for row in rows], dimension)
            stored = np.array([row[2] for row in rows], np.float16)
            if not np.array_equal(_clipped(wanted).astype(np.float16), stored):
                return True
        return bool(counted != self._connection.only("SELECT count(*) FROM passage_vector")[0])

    def _add(self, page: str, after: int) -> int | None:
        """Add those that a page of slots lacks; its last slot, or None for the last page."""
        rows = self._connection.rows(_LACKING.format(page, PAGE), after)
        lacking = [row for row in rows if row[1] is not None]
        if lacking:
            vectors = checked_vectors([row[1] for row in lacking], self._dimension())
            self._connection.execute_many(
                "INSERT INTO passage_vector VALUES (?, CAST(CAST(? AS real[]) AS halfvec))",
                _with_vectors([row[0] for row in lacking], vectors),
            )
        return checked_count(rows[-1][0]) if len(rows) == PAGE else None

    def _dimension(self) -> int:
        dimension = self._connection.property("dimension")
        if dimension is None:
            raise StoreError("the store lacks the width of its vectors; restore it from a copy")
        return checked_count(dimension)


def _with_vectors(
    ids: Sequence[int], vectors: np.typing.NDArray[np.float32]
) -> list[tuple[int, list[float]]]:
    return list(zip(ids, _clipped(vectors).tolist(), strict=True))


def _clipped(vectors: np.typing.NDArray[np.float32]) -> np.typing.NDArray[np.float32]:
    """Vectors within the range of half precision, which pgvector does not leave."""
    return np.clip(vectors, -_MAX_HALF, _MAX_HALF)
