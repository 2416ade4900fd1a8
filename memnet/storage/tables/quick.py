"""Quick vectors of passages, which full ones are to replace."""

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_rows,
    damaged,
)
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.statements import Changing
from memnet.storage.tables.vectors import digest_of, replace_quick
from memnet.storage.values import NewVector, VectorCounts

# Differs between processes, also forked ones, and leaves a caller's own seed alone.
_CHANCE = random.SystemRandom()


class QuickVectors:
    """The quick vectors of a store; may be shared between threads."""

    def __init__(self, connection: Callable[[], Connection], change: Changing) -> None:
        """Read nothing yet.

        Args:
            connection: gives the calling thread's own.
            change: a transaction of the store's one writer.
        """
        self._connection = connection
        self._change = change

    def any(self) -> bool:
        """Whether there is one."""
        return self._connection().one("SELECT 1 FROM quick_vector LIMIT 1") is not None

    def count(self) -> int:
        """How many there are."""
        return checked_count(self._connection().only("SELECT count(*) FROM quick_vector")[0])

    def counts(self) -> VectorCounts:
        """How many vectors there are, and how many of them are full."""
        row = self._connection().only(
            "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM quick_vector)"
        )
        vectors, quick = map(checked_count, row)
        return VectorCounts(vectors, vectors - quick)

    def of_slots(self, ids: Iterable[int]) -> frozenset[int]:
        """Those of some slots whose key has a quick vector."""
        rows = self._connection().rows(
            "SELECT slot.id FROM slot JOIN quick_vector ON quick_vector.vector = slot.vector "
            f"WHERE slot.id {IN_LIST}",
            Values(ids),
        )
        return frozenset(row[0] for row in rows)

    def texts(self, limit: int) -> list[str]:
        """At most ``limit`` texts that have a quick vector, starting at a random one of them.

        So processes that replace them at the same time seldom encode the same texts.
        """
        connection = self._connection()
        with connection.snapshot():
            last = connection.only("SELECT max(vector) FROM quick_vector")[0]
            first = _CHANCE.randint(0, checked_count(last or 0))
            found: list[tuple[str, bytes]] = []
            for condition in (">=", "<"):
                rows = connection.rows(
                    "SELECT quick_vector.text, vector.digest FROM quick_vector "
                    "JOIN vector ON vector.id = quick_vector.vector "
                    f"WHERE quick_vector.vector {condition} ? ORDER BY quick_vector.vector LIMIT ?",
                    first,
                    limit - len(found),
                )
                found += checked_rows(rows, "a quick vector", str, bytes)
        if any(digest_of(text) != digest for text, digest in found):
            raise damaged("a quick vector")
        return [text for text, _ in found]

    def replace(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put full vectors in the place of the quick ones of some texts, in one commit.

        A text that has none, since its slots were deleted or another process was faster, is passed
        over.

        Args:
            texts: N of them.
            vectors: [N, D] float32, of length one.

        Raises:
            StoreBusyError, StoreError: as ``MemoryStore.writing``.
        """
        with self._change():
            replace_quick(
                self._connection(),
                [
                    NewVector(digest_of(text), vector)
                    for text, vector in zip(texts, vectors, strict=True)
                ],
            )
