"""Fit the confidence of the shipped reader, by one command.

    python -m benchmarks.fit_confidence --data DIR --work DIR [--out memnet/shipped/spans]

DIR holds the training sets of ``benchmarks.prepare_reader`` and the corpus in ``multihop``. The
questions that reader and controller were not trained on are asked of a store of all passages, which
is made in the work folder where it is missing. What was fitted before plays no part. The same
data, reader and arithmetic give the same weights.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from memnet import Engine
from memnet.evaluation import read_questions
from memnet.reader.checkpoint import copy_reader
from memnet.reader.loading import SPANS, LazyReader
from memnet.training import calibrate


def main() -> None:
    """Prepare what is missing, fit, and say how well it fits."""
    shipped = LazyReader(SPANS).folder
    if shipped is None:
        raise SystemExit("the weights of the shipped reader are not installed")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=shipped)
    options = parser.parse_args()
    questions, passages = options.work / "reader", options.work / "multihop"
    _run("prepare_reader", "--data", options.data, "--out", questions)
    _run(
        "prepare_multihop",
        *("--data", options.data / "multihop_train"),
        *("--corpus", options.data / "multihop" / "corpus.jsonl"),
        *("--held-out", questions / "held_out.jsonl"),
        *("--out", passages),
    )
    plain = options.work / "uncalibrated"
    shutil.rmtree(plain, ignore_errors=True)
    copy_reader(shipped, plain)
    with Engine.open(options.work / "store", create=True, reader=str(plain)) as memory:
        memory.ingest(passages / "documents.jsonl", questions / "documents.jsonl")
        asked = read_questions(questions / "held_out.jsonl")
        print(calibrate(memory, asked, options.out))


def _run(module: str, *arguments: object) -> None:
    """Run another module of this package as a program."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
