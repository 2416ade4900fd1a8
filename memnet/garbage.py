"""Python's collector of cyclic garbage, kept from looking for cycles where there are none."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 50_000
"""That are made before cycles are looked for among them; Python's own number is 700 or 2,000."""


def collect_seldom() -> None:
    """Let this process look for cycles seldom; unless it does so never."""
    if 0 < gc.get_threshold()[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS)


class _Blocks:
    """The blocks of all threads in which cycles are looked for seldom."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before = gc.get_threshold()


_blocks = _Blocks()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for cycles seldom in the block, which makes many objects without any.

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
    """Look for no cycles in the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
