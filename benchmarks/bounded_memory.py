"""Does the memory of an ingest grow with its input?

    python -m benchmarks.bounded_memory [--megabytes N] [--scratch DIR] [--out FILE]

The input is one JSON lines file (half of it), large text files (three tenths) and many small ones,
a thousand to a folder. It is ingested by a process of its own with an encoder that costs nothing:
what is measured is reading, windows, names and rows, not the network. As the run goes by each mark
it tells the largest resident size so far of that process; what the vectors of the index take of it
is told apart.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.cheap_encoder import CheapEncoder
from benchmarks.environment import environment
from memnet import Config, Engine, MemoryStore
from memnet.ingest.pipeline import Progress

_RESULTS = Path(__file__).parent / "results" / "bounded_memory.json"
_MARKS = (10, 50, 125, 250, 500, 1000, 1500, 2000)
"""Megabytes of input that are safely stored."""
_SMALL, _A_FOLDER, _LARGE, _LINE = 4_000, 1_000, 20_000_000, 50_000
"""Characters of a small file, files of a folder, characters of a large file and of a JSON line."""
_WORDS, _SENTENCES = 2000, 20_000


def main() -> None:
    """Make the files, ingest them and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=2010)
    parser.add_argument("--scratch", help="folder with room for five times as much")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _ingest(options.child)
        return
    work = Path(tempfile.mkdtemp(dir=options.scratch))
    try:
        result: dict[str, Any] = {
            "environment": environment(),
            "input": _make(work / "input", options.megabytes * 1_000_000),
            "marks": [],
        }
        command = [sys.executable, "-m", "benchmarks.bounded_memory", "--child", str(work)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout or ():
                print(line, end="", flush=True)
                result["marks"].append(json.loads(line))
                options.out.write_text(json.dumps(result, indent=1) + "\n")
        sys.exit(child.returncode)
    finally:
        shutil.rmtree(work)


def _ingest(work: Path) -> None:
    """Ingest what was made, and print a line at each mark and at the end."""
    encoder = CheapEncoder()
    store = MemoryStore(
        work / "store", fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    marks = list(_MARKS)
    begun = time.perf_counter()

    def tell(progress: Progress, *, end: bool = False) -> None:
        if not end and (not marks or progress.characters < marks[0] * 1_000_000):
            return
        if not end:
            marks.pop(0)
        slots = store.counts().slots
        mark = {
            "megabytes": round(progress.characters / 1_000_000),
            "documents": progress.documents,
            "slots": slots,
            "peak_mib": round(_peak(), 1),
            "vectors_mib": round(slots * (4 * encoder.dimension + 8) / 2**20, 1),
            "seconds": round(time.perf_counter() - begun),
            "end": end,
        }
        print(json.dumps(mark), flush=True)

    with Engine(store, encoder, Config(threads=1), "untrained", "sentences") as engine:
        last = [Progress(0, 0)]

        def advance(progress: Progress) -> None:
            last[0] = progress
            tell(progress)

        engine.ingest(work / "input", on_progress=advance)
        tell(last[0], end=True)


def _peak() -> float:
    """The largest resident size so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _make(folder: Path, size: int) -> dict[str, int]:
    """Files of about ``size`` bytes in all."""
    random = Random(size)
    words = ["".join(random.choices("abcdefghijklmnoprstuvw", k=7)) for _ in range(_WORDS)]
    pool = [_sentence(random.choices(words, k=12)) for _ in range(_SENTENCES)]
    folder.mkdir(parents=True)
    written = files = 0
    with (folder / "giant.jsonl").open("w") as file:
        number = 0
        while written < size // 2:
            line = json.dumps({"id": f"j{number}", "text": _text(random, pool, _LINE)})
            written += file.write(line + "\n")
            number += 1
    while written < size * 4 // 5:
        with (folder / f"large-{files}.txt").open("w") as file:
            written += file.write(_text(random, pool, min(_LARGE, size // 5)))
        files += 1
    while written < size:
        path = folder / f"small-{files // _A_FOLDER}" / f"{files}.txt"
        path.parent.mkdir(exist_ok=True)
        written += path.write_text(_text(random, pool, _SMALL))
        files += 1
    return {"bytes": written, "files": files + 1}


def _sentence(words: list[str]) -> str:
    return f"{words[0].title()} {' '.join(words[1:])}. "


def _text(random: Random, pool: list[str], length: int) -> str:
    """Sentences, in an order that no other text has."""
    return "".join(random.choices(pool, k=max(1, length // len(pool[0]))))


if __name__ == "__main__":
    main()
