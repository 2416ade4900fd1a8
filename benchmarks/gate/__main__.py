"""How often the gate sends a question to the right expert, and what it costs.

    python -m benchmarks.gate [--work DIR]

A store of documents, facts with a model trained on them, statements and a story, all written or
invented for this (``measured``), and 500 questions about them: 150 by hand, 350 in forms that the
gate was not trained on. None of them was used to make the gate, but it was changed after a look at
its mistakes; 45 further questions were written after that (``later.jsonl``).
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Engine
from memnet.experts.answers import ExpertAnswers
from memnet.experts.gate import EXPERTS
from memnet.learning.evaluation import read_questions
from memnet.storage import EVERYWHERE
from memnet.training import train_facts

MEASURED = Path(__file__).parent / "measured"
RESULTS = Path(__file__).parents[1] / "results" / "gate.json"


def main() -> None:
    """Make the store where it is not there, ask the gate, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="Folder of the store, to keep it.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--wrong", action="store_true", help="Print what is sent elsewhere.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        make_store(work / "store")
        with Engine.open(work / "store") as memory:
            result = measure(memory, arguments.wrong)
    arguments.out.write_text(json.dumps({**result, "environment": environment()}, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def make_store(path: Path) -> None:
    """A store of everything, with a fact model of its own."""
    if path.exists():
        return
    with Engine.open(path, create=True) as memory:
        memory.ingest(*(MEASURED / name for name in ("documents.jsonl", "plants.jsonl")))
        memory.ingest(MEASURED / "facts.tsv", MEASURED / "story.txt")
        for name in ("statements.txt", "more_statements.txt"):
            for line in (MEASURED / name).read_text(encoding="utf-8").splitlines():
                memory.tell(line)
        train_facts(
            memory,
            read_questions(MEASURED / "facts_train.jsonl"),
            read_questions(MEASURED / "facts_dev.jsonl"),
        )


def measure(memory: Engine, show_wrong: bool = False) -> dict[str, Any]:
    """Scores of the gate over all questions, and its time."""
    answerer = memory.answerer
    if not isinstance(answerer, ExpertAnswers):
        raise TypeError("open the memory without a model of its own")
    confusion: Counter[tuple[str, str]] = Counter()
    right: dict[str, list[bool]] = {"hand": [], "formed": [], "later": []}
    second, warm, cold = [], [], []
    for by in right:
        for line in (MEASURED / f"{by}.jsonl").read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            started = time.perf_counter()
            routed = answerer.route(asked["question"], EVERYWHERE)
            cold.append(time.perf_counter() - started)
            started = time.perf_counter()
            answerer.route(asked["question"], EVERYWHERE)  # its vector is known now
            warm.append(time.perf_counter() - started)
            first = next(iter(routed.weights))
            right[by].append(first == asked["expert"])
            if by != "later":
                confusion[asked["expert"], first] += 1
                second.append(asked["expert"] in routed.weights)
            if show_wrong and first != asked["expert"]:
                print(by, asked["expert"], dict(routed.weights), asked["question"])
    everything = [*right["hand"], *right["formed"]]
    return {
        "questions": len(everything),
        "right_first": round(float(np.mean(everything)), 4),
        "right_among_two": round(float(np.mean(second)), 4),
        **{f"right_first_{by}": round(float(np.mean(part)), 4) for by, part in right.items()},
        "confusion": {
            name: {other: confusion[name, other] for other in EXPERTS} for name in EXPERTS
        },
        "gate_ms_with_vector_known": _percentiles(warm),
        "gate_ms_with_encoding": _percentiles(cold),
    }


def _percentiles(seconds: list[float]) -> dict[str, float]:
    return {f"p{p}": round(1000 * float(np.percentile(seconds, p)), 2) for p in (50, 95)}


if __name__ == "__main__":
    main()
