"""Usage: how much attention what was told gets from reads."""

import threading
from collections.abc import Mapping

from memnet.clock import now
from memnet.config import WriteConfig
from memnet.storage import MemoryStore


class Usage:
    """The attention that told slots got from reads, kept here until it can be stored.

    So that a read never waits for a writer. May be shared between threads.
    """

    def __init__(self, store: MemoryStore, config: WriteConfig) -> None:
        """Start with nothing."""
        self._store = store
        self._half_life = config.usage_half_life
        self._guard = threading.Lock()
        self._weights: dict[int, float] = {}

    def add(self, weights: Mapping[int, float]) -> None:
        """Take in the attention weights, 0..1, of one read."""
        with self._guard:
            for slot, weight in weights.items():
                self._weights[slot] = self._weights.get(slot, 0.0) + weight

    def save(self, wait: float | None = None) -> None:
        """Store what was taken in.

        Args:
            wait: seconds to wait for another writer; None for the configured time.

        Raises:
            StoreBusyError, StoreError: it can't be stored now, and is kept for the next call.
        """
        if not self._weights:
            return
        with self._store.writing(wait):
            with self._guard:
                weights, self._weights = self._weights, {}
            try:
                self._store.use(weights, now(), self._half_life)
            except BaseException:
                self.add(weights)
                raise
