"""This process: its children, its garbage collection, and limits of what it may take."""

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import resource
except ImportError:  # Windows: there only the time that the parent waits is limited
    resource = None  # type: ignore[assignment]

_SAME_MODULES = "import sys; sys.path[:] = sys.argv[1:]; "
# Threshold of the youngest generation; Python's own is 700 or 2,000.
_NEW_OBJECTS = 50_000


def start_child(code: str) -> subprocess.Popen[bytes]:
    """Run Python code in a process of its own, with pipes for its standard input and output.

    It is isolated from the folder it starts in and from the environment, and imports the modules
    that this process would. What it or a library writes to standard error is for nobody. Unlike
    those of ``multiprocessing``, it does not import the main module of a program again.

    Raises:
        OSError: it does not start.
    """
    home = str(Path(__file__).parents[2])
    paths = [home, *(path for path in sys.path if path and path != home)]
    return subprocess.Popen(  # noqa: S603  # of this interpreter, without a shell
        [sys.executable, "-I", "-X", "utf8", "-c", _SAME_MODULES + code, *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """A child's copies of standard input and output: what a library prints mixes with neither."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    os.close(nothing)
    return requests, answers


def raise_gc_threshold() -> None:
    """Raise this process's threshold of collection, unless it is higher or collection is off."""
    if 0 < gc.get_threshold()[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS)


_lock = threading.Lock()
# The threshold before each ``raised_gc_threshold`` block that a thread is in.
_before: list[tuple[int, int, int]] = []


@contextmanager
def raised_gc_threshold() -> Iterator[None]:
    """Raise the threshold of collection until the last such block of any thread ends.

    An ingest takes a twentieth longer without it.
    """
    with _lock:
        _before.append(gc.get_threshold())
        raise_gc_threshold()
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)


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


def limit_process(memory: int, seconds: float) -> None:
    """Limit this process.

    Args:
        memory: bytes of address space, which macOS does not enforce.
        seconds: of processor time from now on.
    """
    _lower("RLIMIT_CORE", 0)
    _lower("RLIMIT_AS", memory)
    limit_time(seconds)


def limit_time(seconds: float) -> None:
    """End the process after this many more seconds of processor time."""
    _lower("RLIMIT_CPU", int(time.process_time() + seconds) + 1)


def _lower(name: str, limit: int) -> None:
    """Set a limit that the process could raise again, if the system allows as much."""
    if resource is None:
        return
    which = getattr(resource, name)
    _, most = resource.getrlimit(which)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(which, (limit, most))
