"""Run the tests of the adapters, each in an environment with its framework.

python -m tests.nightly.adapters [FRAMEWORK]... [--folder .adapters] [--types]

Frameworks are langchain, haystack, llamaindex and extraction. An environment is made at the first
run, from the file of that name in the folder ``requirements``. What this one has installed is
found from there too, so that only the framework is added.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]
_REQUIREMENTS = _HERE / "requirements"
_MODULES = {
    "langchain": "memnet/adapters/langchain.py",
    "haystack": "memnet/adapters/haystack.py",
    "llamaindex": "memnet/adapters/llamaindex.py",
    "extraction": "memnet/adapters/extraction.py",
}
_QUIET = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
}


def main() -> int:
    """Run what was asked for; returns how many environments had failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly.adapters", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=", ".join(_MODULES))
    parser.add_argument("--folder", type=Path, default=_ROOT / ".adapters", help="environments")
    parser.add_argument("--types", action="store_true", help="check types with mypy, too")
    options = parser.parse_args()
    if unknown := sorted(set(options.frameworks) - set(_MODULES)):
        parser.error(f"there is no framework {unknown[0]!r}; expected {', '.join(_MODULES)}")
    return sum(_failed(name, options) for name in options.frameworks or _MODULES)


def _failed(name: str, options: argparse.Namespace) -> bool:
    python = _environment(options.folder.resolve() / name, _REQUIREMENTS / f"{name}.txt")
    # The warnings of other libraries are theirs to heed.
    tests = ["pytest", "-W", "default", f"tests/nightly/adapters/test_{name}.py"]
    if name in ("langchain", "haystack"):
        tests += ["-o", "asyncio_mode=auto"]
    commands = [tests, ["mypy", _MODULES[name]]] if options.types else [tests]
    environment = {**os.environ, **_QUIET, "PYTHONPATH": str(_ROOT)}
    return any(
        subprocess.run(
            [str(python), "-m", *command], cwd=_ROOT, env=environment, check=False
        ).returncode
        for command in commands
    )


def _environment(folder: Path, requirements: Path) -> Path:
    """The interpreter of an environment, which is made if it is not there."""
    done = folder / "requirements.txt"
    wanted = requirements.read_text(encoding="utf-8")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        venv.create(folder, clear=True)
        packages = sysconfig.get_path("purelib", vars={"base": str(folder)})
        own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        base = "".join(f"{path}\n" for path in sorted(own))
        (Path(packages) / "base.pth").write_text(base, encoding="utf-8")
        command = [str(python), "-m", "pip", "install", "-q", "-r", str(requirements)]
        subprocess.run(command, check=True)
        done.write_text(wanted, encoding="utf-8")
    return python


if __name__ == "__main__":
    sys.exit(main())
