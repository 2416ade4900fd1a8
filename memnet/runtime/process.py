"""This process: its children, its garbage collection, and limits of what it may take."""

import gc
import os
import signal
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
    """A child's copies of standard input and output: what a library prints mixes with neither.

    An interrupt of the terminal, which reaches all of its processes, is left to the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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


class _RaisedThreshold:
    """Context with a raised threshold of collection, for as long as any thread is in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.get_threshold()
                raise_gc_threshold()
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                gc.set_threshold(*self._before)


raised_gc_threshold = _RaisedThreshold()  # an ingest takes a twentieth longer without it


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
