"""memnet beside its neighbours.

    python -m benchmarks.neighbours --data DIR --python PYTHON [--passages 3000]

DIR holds ``corpus.jsonl`` and question files with "question" and "gold". PYTHON is that of an
environment with ``requirements.txt`` beside this file. Every task runs in a process of its own, and
the neighbours take turns: at each part of the passages, at each cold start. Where not all passages
are taken, those that the questions are about come first.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from benchmarks.neighbours.chart import draw
from benchmarks.neighbours.turns import ROWS, Neighbour, TaskError
from memnet.encoders.weights import model_folder
from memnet.learning.evaluation import recall

_PARTS = 2
_COLD = 2
_AGAIN = 100
_NEW = 25
_FIRST = 5
_RESULTS = Path(__file__).parent.parent / "results"


def main() -> None:
    """Run the benchmark and write its results and their chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--passages", type=int, default=3000)
    parser.add_argument("--questions", type=int, help="of each file; all by default")
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--out", type=Path, default=_RESULTS / "neighbours.json")
    options = parser.parse_args()
    questions = {
        file.stem: [json.loads(line) for line in file.open("rb")][: options.questions]
        for file in sorted(options.data.glob("*.jsonl"))
        if file.name != "corpus.jsonl"
    }
    passages, others = _passages(options.data / "corpus.jsonl", questions, options.passages)
    with tempfile.TemporaryDirectory() as folder:
        neighbours = {
            name: Neighbour(name, options.python, Path(folder), model_folder())
            for name in options.rows
        }
        results = {
            "environment": environment(["onnx", "onnxruntime"]),
            "neighbour_versions": _versions(),
            "passages": len(passages),
            "questions": {name: len(group) for name, group in questions.items()},
            "again": _AGAIN,
            "rows": {name: one.found for name, one in neighbours.items()},
        }

        def keep() -> None:
            options.out.write_text(json.dumps(results, indent=1) + "\n")

        run = _Run(neighbours, keep)
        for part in range(_PARTS):
            run.all(partial(Neighbour.add, passages=passages[part::_PARTS]))
        for _ in range(_COLD):
            run.all(lambda one: one.start(questions["hotpot"][0]))
        run.all(lambda one: _asked(one, questions), readers=True)
        run.all(lambda one: one.add_again(passages[:_AGAIN]))
        run.all(lambda one: one.delete(passages[7]))
        run.all(lambda one: one.killed(others[:_NEW], passages[:10]))
    draw(results, options.out.with_suffix(".svg"))


class _Run:
    """The neighbours in turn; one that fails once stays out, with the reason."""

    def __init__(self, neighbours: dict[str, Neighbour], keep: Callable[[], None]) -> None:
        self._neighbours = neighbours
        self._keep = keep

    def all(self, task: Callable[[Neighbour], None], readers: bool = False) -> None:
        """Let each do a task; ``readers``: also those that only ask."""
        for neighbour in self._neighbours.values():
            if neighbour.lost is not None or (neighbour.only_asks and not readers):
                continue
            try:
                task(neighbour)
            except TaskError as error:
                neighbour.fail(str(error))
        self._keep()


def _passages(
    corpus: Path, questions: dict[str, list[dict[str, Any]]], most: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The passages to store, those of the questions first, and some others."""
    lines = [json.loads(line) for line in corpus.open(encoding="utf-8")]
    gold = {own for group in questions.values() for one in group for own in one["gold"]}
    lines.sort(key=lambda one: one["id"] not in gold)
    chosen = lines[: min(most, len(lines) - _NEW)]
    return chosen, lines[len(chosen) : len(chosen) + _NEW]


def _asked(neighbour: Neighbour, questions: dict[str, list[dict[str, Any]]]) -> None:
    """Every question, warm: latency and recall."""
    every = [one for group in questions.values() for one in group]
    answers = iter(neighbour.ask(every))
    neighbour.found["recall@5"] = {
        name: sum(recall(next(answers), one["gold"], _FIRST) for one in group) / len(group)
        for name, group in questions.items()
    }


def _versions() -> list[str]:
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


if __name__ == "__main__":
    main()
