"""How many calls are under way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class InFlight:
    """Calls on any threads, counted."""

    def __init__(self) -> None:
        """Count from zero."""
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """The block is a call."""
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    def wait_for_none(self, seconds: float) -> bool:
        """Wait until no call is under way; gives whether that is so in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, seconds)

    def _add(self, number: int) -> None:
        with self._changed:
            self._count += number
            self._changed.notify_all()
