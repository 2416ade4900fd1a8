"""Child processes of this interpreter that answer requests by pipes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

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
