"""This process: its children, its garbage collection, and limits of what it may take."""

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

try:
    import resource
except ImportError:  # Windows: there only the time that the parent waits is limited
    resource = None  # type: ignore[assignment]

T = TypeVar("T")
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


class SharedSetting(Generic[T]):
    """Context in which a setting of the process is another one, for as long as any thread is in it.

    Args:
        change: changes it and returns what it was; None if there is nothing to change yet.
        restore: sets what it was.
    """

    def __init__(self, change: Callable[[], T | None], restore: Callable[[T], object]) -> None:
        self._change, self._restore = change, restore
        self._lock = threading.Lock()
        self._inside = 0
        self._before: T | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._before is None:
                self._before = self._change()
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before is not None:
                self._restore(self._before)
                self._before = None


def _change_gc_threshold() -> tuple[int, int, int]:
    before = gc.get_threshold()
    raise_gc_threshold()
    return before


# An ingest takes a twentieth longer without it.
raised_gc_threshold = SharedSetting(_change_gc_threshold, lambda old: gc.set_threshold(*old))


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
