"""Which statements do not hold at the time that a search looks at."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.storage.scope import Scope
from memnet.storage.tables.checked import checked_count, checked_rows
from memnet.storage.tables.connection import Connection

_NONE = np.zeros(0, np.int64)


class _Times(NamedTuple):
    """When some statements hold. N = how many."""

    ids: NDArray[np.int64]  # [N] int64, rising
    begin: NDArray[np.float64]  # [N] float64, seconds since the epoch; so the next
    end: NDArray[np.float64]  # infinite while it holds


class Validity:
    """The times of statements, read once per commit; may be shared between threads.

    Most questions look at what holds now, and few statements have ended: only these are read. So a
    store without them is searched as if there were no times.
    """

    def __init__(self, connection: Callable[[], Connection]) -> None:
        """Read nothing yet; ``connection`` gives the calling thread's own."""
        self._connection = connection
        self._cached: dict[bool, tuple[int, _Times]] = {}
        self._cached_learned: tuple[int, NDArray[np.int64]] | None = None

    def hidden(self, scope: Scope) -> NDArray[np.int64]:
        """Ids [H] int64, rising, of the statements that a scope does not cover.

        They do not hold at its time, or messages made them, which are found themselves.
        """
        learned = _NONE if scope.learned else self._learned()
        if scope.past:
            return learned
        times = self._times(ended=scope.as_of is None)
        at = scope.moment()
        if scope.as_of is None:
            holds = (times.end > at) & (times.end > times.begin)
        else:
            holds = (times.begin <= at) & (times.end > at)
        return np.union1d(times.ids[~holds], learned) if len(learned) else times.ids[~holds]

    def _learned(self) -> NDArray[np.int64]:
        """Of the statements that messages made: ids [L] int64, rising."""
        connection = self._connection()
        with connection.snapshot():
            generation = checked_count(connection.property("generation") or 0)
            known = self._cached_learned
            if known is not None and known[0] == generation and not connection.changing:
                return known[1]
            rows = connection.rows(
                "SELECT slot FROM statement WHERE speaker IS NOT NULL ORDER BY slot"
            )
        ids = np.fromiter((row[0] for row in rows), np.int64)
        if not connection.changing:
            self._cached_learned = generation, ids
        return ids

    def _times(self, ended: bool) -> _Times:
        """Of the statements that have an end, or of all."""
        connection = self._connection()
        with connection.snapshot():
            generation = checked_count(connection.property("generation") or 0)
            known = self._cached.get(ended)
            if known is not None and known[0] == generation and not connection.changing:
                return known[1]
            column = "valid_until" if ended else "valid_from"
            rows = connection.rows(
                "SELECT id, valid_from, coalesce(valid_until, ?) FROM slot "
                f"WHERE {column} IS NOT NULL ORDER BY id",
                math.inf,
            )
        checked_rows(rows, "a time", int, float, float)
        columns = np.array(rows, np.float64).reshape(-1, 3)
        times = _Times(columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2])
        if not connection.changing:
            self._cached[ended] = generation, times
        return times
