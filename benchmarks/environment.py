"""What a measurement must say about where it was made."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memnet.config import available_cores

_ROOT = Path(__file__).resolve().parent.parent
_LIBRARIES = ("torch", "faiss-cpu", "numpy", "tokenizers", "sentence-transformers")


def environment(more: Sequence[str] = ()) -> dict[str, Any]:
    """Machine, commit, command and versions, for the head of a result file.

    Args:
        more: packages that the measurement needs besides the usual ones.
    """
    return {
        "machine": {
            "processor": _processor(),
            "cores": available_cores(),
            "memory_gib": round(
                os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1
            ),
            "system": platform.system(),
        },
        "commit": _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else ""),
        "command": " ".join(["python", "-m", _module(), *sys.argv[1:]]),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in (*_LIBRARIES, *more)},
        },
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _module() -> str:
    """The module that was started."""
    spec = sys.modules["__main__"].__spec__
    return "" if spec is None else spec.name.removesuffix(".__main__")
