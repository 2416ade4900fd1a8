"""This process: its children, its garbage collection, and limits of what it may take."""

import gc
import os
import subprocess
import sys
import threading
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


class _Blocks:
    """The ``raised_gc_threshold`` blocks that threads are in, which share one threshold."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before = gc.get_threshold()


_blocks = _Blocks()


@contextmanager
def raised_gc_threshold() -> Iterator[None]:
    """Raise the threshold of collection until the last such block of any thread ends.

    An ingest takes a twentieth longer without it.
    """
    with _blocks.lock:
        if not _blocks.count:
            _blocks.before = gc.get_threshold()
            raise_gc_threshold()
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


def limit_process(memory: int, seconds: float) -> None:
    """Limit this process.

    Args:
        memory: bytes of address space, which macOS does not enforce.
        seconds: of processor time from now on.
    """
    if resource is None:
        return
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_AS, memory)
    limit_time(seconds)


def limit_time(seconds: float) -> None:
    """End the process after this many more seconds of processor time."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def _lower(which: int, limit: int) -> None:
    """Set a limit that the process could raise again, if the system allows as much."""
    if resource is None:
        return
    _, most = resource.getrlimit(which)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(which, (limit, most))
