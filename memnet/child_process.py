"""Child processes of this interpreter that answer requests by pipes, and their limits."""

import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

try:
    import resource
except ImportError:  # Windows: there only the time that the parent waits is limited
    resource = None  # type: ignore[assignment]

_SAME_MODULES = "import sys; sys.path[:] = sys.argv[1:]; "


def start_child(code: str) -> subprocess.Popen[bytes]:
    """Run Python code in a process of its own, with pipes for its standard input and output.

    It is isolated from the folder it starts in and from the environment, and imports the modules
    that this process would. What it or a library writes to standard error is for nobody. Unlike
    those of ``multiprocessing``, it does not import the main module of a program again.

    Raises:
        OSError: it does not start.
    """
    home = str(Path(__file__).parents[1])
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
    """Let the process end itself after so many more seconds of processor time."""
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
