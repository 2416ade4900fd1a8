"""Train the statement network on the scenarios.

    python -m benchmarks.statements --out DIR [--start DIR]

The weights that ship are averages of such runs, the later ones from the earlier ones' weights:
decisions 026 and 033 say which.

A run that was stopped is resumed by the same command; the state of an unfinished one lies in the
same folder.
"""

import argparse
from pathlib import Path

from benchmarks.statements import scenarios
from benchmarks.statements.templates import plain_scenarios
from benchmarks.statements.train import train_statements
from memnet.checkpoints import SHIPPED
from memnet.cli.train import ProgressLines

_PLAIN = 1_200
"""Scenarios from templates, which are learned from besides."""


def main() -> None:
    """Read the arguments, train, and print the score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--start", type=Path, default=SHIPPED / "spans", help="folder of the reader to start from"
    )
    parser.add_argument("--passes", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    learned, held_out = scenarios()
    score = train_statements(
        [*learned, *plain_scenarios(_PLAIN)],
        held_out,
        given.out,
        start=given.start,
        seed=given.seed,
        passes=given.passes,
        learning_rate=given.learning_rate,
        threads=given.threads,
        on_epoch=lambda report: print(report.epoch, report.loss, dict(report.errors), flush=True),
        on_progress=ProgressLines(),
    )
    print(f"score on {len(held_out)} scenarios held out: {score:.3f}")


if __name__ == "__main__":
    main()
