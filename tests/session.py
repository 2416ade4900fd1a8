"""What all processes of one run of the tests share: a folder, and what is made in it once."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

_VARIABLE = "MEMNET_TESTS_SHARED"
_LIFELINE = "lifeline"

_held: int | None = None


def begin() -> None:
    """Make the folder, in the process that starts all others."""
    global _held
    folder = Path(tempfile.mkdtemp(prefix="memnet-tests-"))
    folder.chmod(0o755)  # another user runs the database server when the tests run as root
    os.environ[_VARIABLE] = str(folder)
    if os.name == "posix":
        os.mkfifo(folder / _LIFELINE)
        _held = os.open(folder / _LIFELINE, os.O_RDWR)


def end() -> None:
    """Delete the folder; servers that read the lifeline stop."""
    if _held is not None:
        os.close(_held)
    shutil.rmtree(os.environ.pop(_VARIABLE), ignore_errors=True)


def lifeline() -> int:
    """A descriptor that reads nothing until the run ends, however it ends, and then its end."""
    return os.open(_folder() / _LIFELINE, os.O_RDONLY)


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """A file or folder of the run.

    Args:
        name: of the file or folder.
        make: makes it at the given path; called in the process that asks first.
    """
    path = _folder() / name
    with FileLock(path.with_name(f"{name}.lock")):
        if not path.exists():
            partial = path.with_name(f"{name}.partial")
            make(partial)
            partial.rename(path)
    return path


def _folder() -> Path:
    return Path(os.environ[_VARIABLE])
