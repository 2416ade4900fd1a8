"""Measuring what a call costs, for tests that compare costs of small and large inputs."""

import gc
import time
from collections.abc import Callable


def least_seconds(call: Callable[[], object], runs: int = 3) -> float:
    """The least processor time of this thread that a call takes in several runs.

    Without garbage collection: one of all that earlier tests left takes longer than a small input.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return min(_seconds(call) for _ in range(runs))
    finally:
        if enabled:
            gc.enable()


def _seconds(call: Callable[[], object]) -> float:
    started = time.thread_time()
    call()
    return time.thread_time() - started
