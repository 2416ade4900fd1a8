"""The time, as a store keeps it."""

import time


def now() -> float:
    """Seconds since the epoch; never less than none, which no stored time may be."""
    return max(0.0, time.time())
