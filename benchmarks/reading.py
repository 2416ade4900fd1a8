"""What reading files costs beside encoding: ``python -m benchmarks.reading FOLDER --suffix .pdf``.

The files are read by their loaders alone, then ingested into a new store; both are timed.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from benchmarks.environment import environment
from memnet import Engine
from memnet.errors import Problem
from memnet.loaders.formats import find_format
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits

_LIMITS = LoadLimits(512 << 20, 25_000_000, 1000, 2 << 30, 60.0)


def main() -> None:
    """Print the times as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suffix", required=True)
    parser.add_argument("--limit", type=int, default=50, help="files")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    files = sorted(path for path in given.folder.rglob(f"*{given.suffix}") if path.is_file())
    chosen = random.Random(given.seed).sample(files, min(given.limit, len(files)))
    characters = 0
    started = time.perf_counter()
    with LoaderProcess(_LIMITS) as loaders:
        for path in chosen:
            known = find_format(path.name)
            if known is None:
                raise SystemExit(f"no loader reads {given.suffix}")
            for item in loaders.load(FileToLoad(str(path), str(path), known.name)):
                characters += 0 if isinstance(item, Problem) else item.size()
    reading = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as memory:
        memory.encoder.encode(["warm"])
        report = memory.ingest(chosen, on_problem=lambda _: None)
    print(
        json.dumps(
            {
                "files": len(chosen),
                "characters": characters,
                "slots": report.slots,
                "reading_seconds": round(reading, 2),
                "ingest_seconds": round(report.seconds, 2),
                "reading_share": round(reading / report.seconds, 3),
                "environment": environment(),
            }
        )
    )


if __name__ == "__main__":
    main()
