"""Facts: questions over knowledge bases, by a controller trained on questions and answers.

    python -m benchmarks.facts --metaqa DIR --pathquestion DIR [--only PART ...]

DIR of ``--metaqa`` holds ``facts.tsv`` and a folder for each number of hops with ``train.jsonl``
and ``dev.jsonl``: one model is trained for all of them. Each folder in ``--pathquestion`` holds the
three files of a knowledge base of its own. Then the first memory is filled up to a million facts
with renamed copies of its facts, and asked the same questions again.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Engine
from memnet.learning.evaluation import Question, evaluate, read_questions
from memnet.training import train_facts

_MILLION = 1_000_000
_TIMED = 200
"""Questions of each file whose answers are timed."""
_RESULTS = Path(__file__).parent / "results" / "facts.json"


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metaqa", type=Path, required=True)
    parser.add_argument("--pathquestion", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    sets = sorted(path for path in options.pathquestion.iterdir() if path.is_dir())
    names = options.only or ["metaqa", *(path.name for path in sets)]
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.only else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            work = Path(folder, name)
            if name == "metaqa":
                hops = sorted(path for path in options.metaqa.iterdir() if path.is_dir())
                facts = options.metaqa / "facts.tsv"
                result = _base(work, facts, hops, options.seed)
                result["untrained"] = _untrained(work / "store", hops[0])
                result["million"] = _million(work, facts, hops)
            else:
                path = options.pathquestion / name
                result = _base(work, path / "facts.tsv", [path], options.seed)
            results[name] = {"environment": environment(), "seed": options.seed, **result}
            print(name, json.dumps(result), flush=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n")


def _base(work: Path, facts: Path, folders: Sequence[Path], seed: int) -> dict[str, Any]:
    """Ingest, train and ask: one model for the questions of all folders."""
    result: dict[str, Any] = {}
    with Engine.open(work / "store", create=True) as engine:
        with _timed(result, "ingest_seconds"):
            engine.ingest(facts)
        result["facts"] = engine.info().facts
        with _timed(result, "train_seconds"):
            report = train_facts(
                engine,
                _questions(folders, "train"),
                _questions(folders, "dev"),
                work / "model",
                seed=seed,
            )
        result["trained"] = report._asdict()
    with Engine.open(work / "store", answerer=work / "model") as engine:
        result["dev"] = {folder.name: _scores(engine, folder / "dev.jsonl") for folder in folders}
    return result


def _questions(folders: Sequence[Path], part: str) -> list[Question]:
    return [question for folder in folders for question in read_questions(folder / f"{part}.jsonl")]


def _scores(engine: Engine, path: Path) -> dict[str, Any]:
    scores = evaluate(engine, read_questions(path))
    return {
        "n": scores.n, "hits@1": scores.hits_at_1, "set_f1": scores.set_f1,
        "latency_ms": scores.latency_ms,
    }  # fmt: skip


def _untrained(store: Path, folder: Path) -> dict[str, Any]:
    """The default model, which was trained on nothing, on questions of one hop."""
    with Engine.open(store) as engine:
        return _scores(engine, folder / "dev.jsonl")


def _million(work: Path, facts: Path, folders: Sequence[Path]) -> dict[str, Any]:
    """The time of the same questions before and after the memory has grown to a million facts."""
    questions = [
        question for folder in folders for question in read_questions(folder / "dev.jsonl")[:_TIMED]
    ]
    large = work / "large"
    shutil.copytree(work / "store", large)
    result: dict[str, Any] = {}
    lines = [line.split("\t") for line in facts.read_text().splitlines()]
    with Engine.open(large) as engine, _timed(result, "ingest_seconds"):
        for copy in range(2, 2 + _MILLION // len(lines)):
            path = work / f"copy-{copy}.tsv"
            path.write_text(
                "".join(f"{subject} {copy}\t{relation}\t{value} {copy}\n"
                        for subject, relation, value in lines)
            )  # fmt: skip
            engine.ingest(path)
        info = engine.info()
    result |= {"facts": info.facts, "bytes": info.bytes}
    for name, store in (("small", work / "store"), ("large", large)):
        result[name] = _latency(store, work / "model", questions)
    return result


def _latency(store: Path, model: Path, questions: Sequence[Question]) -> dict[str, float]:
    with Engine.open(store, answerer=model) as engine:
        for question in questions[:20]:
            engine.ask(question.question)
        elapsed = [engine.ask(question.question).elapsed_ms for question in questions]
    return {"n": len(elapsed), "p50": float(np.percentile(elapsed, 50)),
            "p95": float(np.percentile(elapsed, 95))}  # fmt: skip


@contextmanager
def _timed(result: dict[str, Any], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    result[name] = round(time.perf_counter() - started, 1)


if __name__ == "__main__":
    main()
