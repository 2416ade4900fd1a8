"""Rehearses a release: python .ci/release.py [PYTHON ...]

Builds the source distribution and, from it, the wheel into dist/; checks what PyPI would show of
them; and for each Python named, or found of 3.11 to 3.14, installs the wheel into an empty
environment and asks a question outside of the repository. Publishes nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
NOTE = "Una Thale raised the Orre Light in 1862.\n"
QUESTION, ANSWER = "Who raised the Orre Light?", "Una Thale"


def run(*command: object, folder: Path = ROOT) -> str:
    """The output of a command, which must succeed."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MEMNET_STORE")}
    return subprocess.run(
        list(map(str, command)), cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
        encoding="utf-8", errors="replace", env={**environment, "PYTHONUTF8": "1"},
    ).stdout  # fmt: skip


def environment(python: str, folder: Path, *packages: object) -> Path:
    """The folder of the commands of a new environment with some packages."""
    run(python, "-m", "venv", folder)
    scripts = folder / SCRIPTS
    run(scripts / "python", "-m", "pip", "install", "--quiet", *packages)
    return scripts


def rehearse(python: str, wheel: Path, work: Path) -> None:
    """Install the wheel for a Python and ask."""
    version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    started = time.monotonic()
    folder = work / version
    scripts = environment(python, folder, wheel)
    run(scripts / "python", "-m", "pip", "check")
    (work / "note.txt").write_text(NOTE, encoding="utf-8")
    store = ("--store", work / f"store-{version}")
    run(scripts / "memnet", "ingest", "note.txt", *store, folder=work)
    shown = run(scripts / "memnet", "ask", QUESTION, *store, folder=work)
    if ANSWER not in shown:
        raise SystemExit(f"Python {version} answers {shown!r}, expected {ANSWER!r}")
    run(scripts / "memnet", "doctor", *store, folder=work)
    seconds = time.monotonic() - started
    files = (one for one in folder.rglob("*") if one.is_file() and not one.is_symlink())
    size = sum(one.stat().st_size for one in files) / 1e6
    packages = len(run(scripts / "python", "-m", "pip", "list", "--format=freeze").split())
    print(f"Python {version}: {size:.0f} MB, {packages} packages, answered after {seconds:.0f} s")


def main() -> None:
    """Rehearse."""
    found = (shutil.which(f"python3.{minor}") for minor in range(11, 15))
    named = sys.argv[1:] or [one for one in found if one and works(one)] or [sys.executable]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        scripts = environment(sys.executable, work / "tools", "build", "twine")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        run(scripts / "python", "-m", "build", "--outdir", ROOT / "dist")
        made = sorted((ROOT / "dist").iterdir())
        print(run(scripts / "twine", "check", "--strict", *made).strip())
        for one in made:
            print(f"{one.name}: {one.stat().st_size / 1e6:.1f} MB")
        (wheel,) = (one for one in made if one.suffix == ".whl")
        for python in named:
            rehearse(python, wheel, work)


def works(python: str) -> bool:
    """Whether a Python that was found is there: a version manager leaves stubs."""
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


if __name__ == "__main__":
    main()
