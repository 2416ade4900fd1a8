"""Threads of networks: how many one uses, and those in the background."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from types import ModuleType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class OneThreadEach:
    """While inside, each torch operation runs on the thread that calls it.

    Batches then run side by side, a core each, rather than each on all cores: that is faster for
    batches of this size, and no thread waits spinning for another. The setting that torch had
    before comes back when the last thread leaves.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._inside = 0
        self._before: int | None = None

    def __enter__(self) -> None:
        """Set one thread, if nobody inside has done so."""
        with self._guard:
            torch = _torch()
            if self._before is None and torch is not None:
                self._before = torch.get_num_threads()
                torch.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        """Set what was before, if nobody is left inside."""
        with self._guard:
            self._inside -= 1
            torch = _torch()
            if not self._inside and self._before is not None and torch is not None:
                torch.set_num_threads(self._before)
                self._before = None


def _torch() -> ModuleType | None:
    """Torch, if anybody has imported it: who has not calculates nothing with it."""
    torch = sys.modules.get("torch")
    # Another thread may be in the middle of importing it.
    return torch if hasattr(torch, "set_num_threads") else None


one_thread_each = OneThreadEach()
"""Shared by all encoders of the process, as torch's setting is."""


@lru_cache(maxsize=1)
def _pool(_process: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count())


def in_background(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function that releases the GIL on another thread; it must not wait for another one."""
    return _pool(os.getpid()).submit(function, *args, **kwargs)
