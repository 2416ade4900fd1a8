"""Recall of the right passages, by kind of question, before and after training.

    python -m benchmarks.recall --data DIR --store STORE --untitled STORE

DIR holds ``corpus.jsonl`` and question files with "question", "type" and "gold". Both stores hold
the corpus, the second one without its titles; they are made where they are missing. Intervals are
bootstrapped over questions.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Document, Engine
from memnet.learning.evaluation import recall

_WAYS = (("one hop", "untrained", 1), ("untrained", "untrained", None), ("trained", "text", None))
_FIRST = 5
_RESAMPLES = 10_000


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--untitled", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/recall.json")
    options = parser.parse_args()
    stores = {"titled": options.store, "untitled": options.untitled}
    questions = {
        file.stem: [json.loads(line) for line in file.open(encoding="utf-8")]
        for file in sorted(options.data.glob("*.jsonl"))
        if file.name != "corpus.jsonl"
    }
    results: dict[str, Any] = {"environment": environment()}
    for kind, store in stores.items():
        if store is not None:
            _fill(store, options.data / "corpus.jsonl", titles=kind == "titled")
            results[kind] = {
                way: {name: _asked(store, model, hops, group) for name, group in questions.items()}
                for way, model, hops in _WAYS
            }
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _fill(store: Path, corpus: Path, titles: bool) -> None:
    """Ingest the corpus; nothing happens where it is stored already."""
    if store.exists():
        return
    documents = [json.loads(line) for line in corpus.open(encoding="utf-8")]
    with Engine.open(store, create=True, answerer="untrained") as memory:
        memory.ingest(
            Document(id=one["id"], title=one["title"] if titles else "", text=one["text"])
            for one in documents
        )


def _asked(
    store: Path, model: str, hops: int | None, questions: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Recall over some questions and over each kind of them, and the time of an answer."""
    recalls: list[float] = []
    seconds: list[float] = []
    with Engine.open(store, answerer=model, reader="sentences") as memory:
        memory.ask(questions[0]["question"])
        for asked in questions:
            started = time.perf_counter()
            answer = memory.ask(asked["question"], hops=hops)
            seconds.append(time.perf_counter() - started)
            found = [item.source for item in answer.evidence]
            recalls.append(recall(found, asked["gold"], _FIRST))
    kinds = [asked["type"] for asked in questions]
    p50, p95 = np.percentile(seconds, [50, 95])
    return {
        "all": _summary(recalls),
        "latency_ms": {"p50": 1000 * p50, "p95": 1000 * p95},
        "kinds": {
            kind: _summary([one for one, own in zip(recalls, kinds, strict=True) if own == kind])
            for kind in sorted(set(kinds))
        },
    }


def _summary(recalls: Sequence[float]) -> dict[str, Any]:
    """Mean recall and the middle 95 % of its means over resampled questions."""
    values = np.array(recalls)
    chosen = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])
    return {"n": len(values), "recall@5": values.mean(), "low": low, "high": high}


if __name__ == "__main__":
    main()
