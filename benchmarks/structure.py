"""How much code one call enters, and how large the code is.

Runs one call of each kind once to load what it needs, then again with a profiler that records every
Python function of the package that is entered, in any thread, and once more to count the SQL
statements that SQLite runs. Give another checkout with ``--root``
to measure that one. A fact model is trained on ``examples/ferries`` first.

    python -m benchmarks.structure [--root CHECKOUT] [--out FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.environment import environment

_ROOT = Path(__file__).resolve().parent.parent
_LONGEST = 400

_TRACED = """
import json, sqlite3, sys, threading
from contextlib import suppress
from pathlib import Path
root, scratch, model = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
import inspect
connections, connect = [], sqlite3.connect
def noted(*arguments, **named):
    connections.append(connect(*arguments, **named))
    return connections[-1]
sqlite3.connect = noted
from memnet import Engine
chosen = "answerer" if "answerer" in inspect.signature(Engine.open).parameters else "model"

def package_file(name):
    path = Path(name).resolve()
    if root not in path.parents or path.suffix != ".py":
        return None
    relative = path.relative_to(root)
    return str(relative) if relative.parts[0] in ("memnet", "storage", "cli") else None

def traced(call):
    call()
    files, functions = {}, set()
    def profile(frame, event, argument):
        if event == "call":
            name = frame.f_code.co_filename
            if name not in files:
                files[name] = package_file(name)
            if files[name]:
                functions.add((files[name], frame.f_code.co_qualname))
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    statements = []
    def trace(what):
        for one in connections:
            with suppress(sqlite3.Error):  # it is closed
                one.set_trace_callback(what)
    trace(statements.append)
    call()
    trace(None)
    entered = sorted({path for path, _ in functions})
    folders = sorted({str(Path(path).parent) for path in entered})
    return {"files": len(entered), "functions": len(functions), "folders": len(folders),
            # SQLite marks the statements that its full-text index runs by itself as comments.
            "statements": sum(not one.startswith("--") for one in statements), "entered": entered}

examples = root / "examples"
found = {}
with Engine.open(scratch / "documents", create=True) as memory:
    memory.ingest(examples / "saltmere" / "memory")
    question = "In which town was the builder of the Orre Light born?"
    found["document question with a bridge"] = traced(lambda: memory.ask(question))
    plain = "Who walked out to Orre Head?"
    found["document question"] = traced(lambda: memory.ask(plain))
    memory.tell("Ann lives in Paris.")
    memory.remember([{"id": "1", "speaker": "Emi", "text": "I moved to Porto."}])
    found["document question in a memory of every kind"] = traced(lambda: memory.ask(plain))
with Engine.open(scratch / "facts", **{chosen: model}) as memory:
    question = "On which island was the builder of the Grey Heron born?"
    found["fact question, trained model"] = traced(lambda: memory.ask(question))
with Engine.open(scratch / "story", create=True, **{chosen: "babi"}) as memory:
    story = scratch / "story.txt"
    story.write_text("Mary moved to the bathroom.\\nJohn went to the hallway.\\n")
    memory.ingest(story)
    found["story question"] = traced(lambda: memory.ask("Where is Mary?"))
with Engine.open(scratch / "statements", create=True) as memory:
    tell = memory.tell if hasattr(memory, "tell") else memory.write
    texts = iter(["Ann lives in Paris.", "Ann lives in Rome.", "Ann lives in Oslo."])
    found["tell"] = traced(lambda: tell(next(texts)))
json.dump(found, sys.stdout)
"""


def main() -> None:
    """Measure and print, or write to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=_ROOT)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    root = given.root.resolve()
    sizes = _sizes(root)
    result = {
        "environment": environment(),
        "production": {
            "files": len(sizes),
            "lines": sum(sizes.values()),
            "longest": max(sizes.values()),
            "over the limit": sorted(name for name, lines in sizes.items() if lines > _LONGEST),
        },
        "calls": _calls(root),
    }
    text = json.dumps(result, indent=1)
    if given.out:
        given.out.write_text(text + "\n")
    for name, call in result["calls"].items():
        counted = ", ".join(f"{call[what]} {what}" for what in ("files", "functions", "statements"))
        print(f"{name}: {counted}")
    print(result["production"])


def _sizes(root: Path) -> dict[str, int]:
    """Lines of each production file."""
    command = ["git", "-C", str(root), "ls-files", "memnet", "storage", "cli"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    files = [root / name for name in listed if name.endswith(".py")]
    return {
        str(path.relative_to(root)): len(path.read_text().splitlines())
        for path in files
        if not path.is_symlink() and path.is_file()
    }


def _calls(root: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        ferries = root / "examples" / "ferries"
        model, store = scratch / "model", scratch / "facts"
        _memnet(root, "ingest", "--facts", str(ferries / "facts.tsv"), "--store", str(store))
        _memnet(
            root, "train", "facts", "--store", str(store), "--out", str(model),
            "--train", str(ferries / "train.jsonl"), "--dev", str(ferries / "dev.jsonl"),
        )  # fmt: skip
        found = subprocess.run(
            [sys.executable, "-c", _TRACED, str(root), str(scratch), str(model)],
            env=_path(root), cwd=scratch, stdout=subprocess.PIPE, text=True, check=True,
        ).stdout  # fmt: skip
        calls: dict[str, Any] = json.loads(found)
        return calls


def _memnet(root: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "memnet", *arguments]
    subprocess.run(command, env=_path(root), check=True, capture_output=True, cwd="/")


def _path(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root)}


if __name__ == "__main__":
    main()
