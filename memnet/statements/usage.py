"""Usage of statements, collected by reads and stored by writes; and the clock of both."""

import threading
import time
from collections.abc import Mapping

from memnet.config import TellConfig
from memnet.storage import MemoryStore


class UsageBuffer:
    """Attention weights that reads paid to statements, kept until they can be stored.

    So a read never waits for a writer. May be shared between threads.
    """

    def __init__(self, store: MemoryStore, config: TellConfig) -> None:
        """Start empty."""
        self._store = store
        self._half_life = config.usage_half_life
        self._lock = threading.Lock()
        self._weights: dict[int, float] = {}

    def add(self, weights: Mapping[int, float]) -> None:
        """Add the attention weights, 0..1, of one read, by slot id."""
        with self._lock:
            for slot, weight in weights.items():
                self._weights[slot] = self._weights.get(slot, 0.0) + weight

    def save(self, wait: float | None = None) -> None:
        """Store the collected weights, and start again empty.

        Args:
            wait: seconds to wait for another writer; None for the configured time.

        Raises:
            StoreBusyError, StoreError: they can't be stored now, and are kept for the next call.
        """
        if not self._weights:
            return
        with self._store.writing(wait):
            with self._lock:
                weights, self._weights = self._weights, {}
            try:
                self._store.statements.add_usage(weights, now(), self._half_life)
            except BaseException:
                self.add(weights)
                raise


def now() -> float:
    """Seconds since the epoch; the store refuses negative times, which a wrong clock may give."""
    return max(0.0, time.time())


def statement_time(latest: float, skew: float) -> float:
    """The time of a statement, in seconds since the epoch.

    Args:
        latest: the latest time in the store.
        skew: seconds by which it may be ahead of this machine's clock and still be taken as now,
            so that times rise although the clocks of machines differ a little. A time further
            ahead comes from a wrong clock, and must not become that of all later statements.
    """
    clock = now()
    return latest if clock < latest <= clock + skew else clock
