"""Python's garbage collector, held back where many objects are made that form no cycles."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 50_000  # threshold of the youngest generation; Python's own is 700 or 2,000


def collect_seldom() -> None:
    """Raise this process's threshold of collection, unless it is higher or collection is off."""
    if 0 < gc.get_threshold()[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS)


class _Blocks:
    """The ``collecting_seldom`` blocks that threads are in, which share one threshold."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before = gc.get_threshold()


_blocks = _Blocks()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Raise the threshold of collection until the last such block of any thread ends.

    An ingest takes a twentieth longer without it.
    """
    with _blocks.lock:
        if not _blocks.count:
            _blocks.before = gc.get_threshold()
            collect_seldom()
        _blocks.count += 1
    try:
        yield
    finally:
        with _blocks.lock:
            _blocks.count -= 1
            if not _blocks.count:
                gc.set_threshold(*_blocks.before)


@contextmanager
def not_collecting() -> Iterator[None]:
    """Turn collection off for the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
