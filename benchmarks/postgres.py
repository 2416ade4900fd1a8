"""A store on PostgreSQL beside the same one in a folder: the same answers, and what they cost.

python -m benchmarks.postgres --data DIR --server ADDRESS --scratch DIR [--encoder NAME]
    [--questions N] [--passages N]

DIR is that of ``benchmarks.multihop``. The corpus is ingested into a folder, exported and imported
to the address, whose schema must be empty; what is in the scratch folder and at the address already
is used again. Of the corpus a number of passages may be chosen: those that answer the questions,
and the first others. Every question is asked of both, in turns, so that a change in the machine's
speed meets both.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.environment import environment
from memnet import Answer, Engine
from memnet.storage import stored_fingerprint

_RESULTS = Path(__file__).parent / "results"
_GOLD_AMONG = 5
_Found = TypeVar("_Found")


def timed(call: Callable[[], _Found]) -> tuple[_Found, float]:
    """What a call gives, and its milliseconds by the clock."""
    started = time.perf_counter()
    found = call()
    return found, 1000 * (time.perf_counter() - started)


def asked(arguments: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """The questions of each file."""
    files = [file for file in sorted(arguments.data.glob("*.jsonl")) if file.stem != "corpus"]
    lines = {file.stem: file.read_text(encoding="utf-8").splitlines() for file in files}
    return {
        name: [json.loads(line) for line in some[: arguments.questions]]
        for name, some in lines.items()
    }


def chosen(arguments: argparse.Namespace) -> Path:
    """The corpus, or a part of it that holds what answers the questions."""
    whole: Path = arguments.data / "corpus.jsonl"
    if arguments.passages is None:
        return whole
    gold = {name for some in asked(arguments).values() for one in some for name in one["gold"]}
    lines = whole.read_text(encoding="utf-8").splitlines()
    lines.sort(key=lambda line: json.loads(line)["id"] not in gold)
    part: Path = arguments.scratch / "corpus.jsonl"
    part.write_text("\n".join(lines[: arguments.passages]) + "\n", encoding="utf-8")
    return part


def prepare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Make both stores as far as they are not there; gives what that took."""
    result: dict[str, Any] = {}
    folder: Path = arguments.scratch / "store"
    if not folder.exists():
        with Engine.open(folder, create=True, encoder=arguments.encoder) as memory:
            memory.ingest(chosen(arguments))
    if stored_fingerprint(arguments.server) is None:
        bundle = arguments.scratch / "bundle.zip"
        with Engine.open(folder) as memory:
            memory.export_bundle(bundle)
        _, milliseconds = timed(
            lambda: Engine.import_bundle(bundle, arguments.server, arguments.encoder)
        )
        result["import_seconds"] = milliseconds / 1000
        bundle.unlink()
    return result


def compare(questions: Sequence[dict[str, Any]], engines: dict[str, Engine]) -> dict[str, Any]:
    """Ask each question of both stores, twice, and count what differs."""
    times: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in engines} for what in ("first", "again")
    }
    found: dict[str, list[Answer]] = {name: [] for name in engines}
    for number, question in enumerate(questions):
        order = list(engines) if number % 2 else list(engines)[::-1]
        for what in times:
            for name in order:
                engine = engines[name]
                answer, milliseconds = timed(lambda: engine.ask(question["question"], top_k=10))  # noqa: B023
                times[what][name].append(milliseconds)
                if what == "first":
                    found[name].append(answer)
    one, other = found.values()
    return {
        "questions": len(questions),
        "same_answer": sum(a.answer == b.answer for a, b in zip(one, other, strict=True)),
        "same_evidence": sum(_places(a) == _places(b) for a, b in zip(one, other, strict=True)),
        "largest_difference_of_confidence": max(
            abs((a.confidence or 0.0) - (b.confidence or 0.0))
            for a, b in zip(one, other, strict=True)
        ),
        "recall_at_5": {
            name: float(np.mean([_recall(*pair) for pair in zip(questions, answers, strict=True)]))
            for name, answers in found.items()
        },
        "ask_ms": {
            what: {
                **{name: _percentiles(values) for name, values in by_store.items()},
                "difference": _percentiles(
                    np.subtract(by_store["postgresql"], by_store["folder"]).tolist()
                ),
            }
            for what, by_store in times.items()
        },
    }


def _places(answer: Answer) -> list[tuple[str, int, int]]:
    return [(item.source, item.start, item.end) for item in answer.evidence]


def _recall(question: dict[str, Any], answer: Answer) -> float:
    """The share of the gold passages that are among the first five."""
    first = {item.source for item in answer.evidence[:_GOLD_AMONG]}
    return len(first.intersection(question["gold"])) / len(question["gold"])


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": float(np.percentile(values, share)) for share in (50, 95)}


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--encoder")
    parser.add_argument("--questions", type=int, help="of each file; all if not given")
    parser.add_argument("--passages", type=int, help="of the corpus; all if not given")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {"environment": environment(["psycopg"]), **prepare(arguments)}
    places = {"folder": arguments.scratch / "store", "postgresql": arguments.server}
    engines = {name: Engine.open(place) for name, place in places.items()}
    for engine in engines.values():
        engine.ask("What loads the networks?")
    result["bytes"] = {name: engine.info().bytes for name, engine in engines.items()}
    result["files"] = {}
    for name, questions in asked(arguments).items():
        result["files"][name] = compare(questions, engines)
        print(name, json.dumps(result["files"][name]), flush=True)
    for engine in engines.values():
        engine.close()
    (_RESULTS / "postgres.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
