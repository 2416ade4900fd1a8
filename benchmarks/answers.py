"""Short answers and their confidence: right, wrong and withheld.

    python -m benchmarks.answers --multihop DIR --squad DIR --store STORE [--reader READER]

The store holds the passages of both, and is made where it is missing. The multi-hop folder has
``corpus.jsonl`` and question files with "question", "type", "answers" and "gold"; the other one has
``corpus.jsonl`` and ``dev.jsonl``, half of whose questions have no answer. Intervals are
bootstrapped over questions.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Answer, Config, Document, Engine
from memnet.config import AnswerConfig
from memnet.learning.evaluation import (
    answers_hold,
    area_under_roc,
    calibration_error,
    exact_match,
    f1,
    reliability,
)
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.spans import Passage, Reading

_RESAMPLES = 10_000
_PREFIX = "squad-"
"""Of the ids of SQuAD's paragraphs, which are numbers."""


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--multihop", type=Path, required=True)
    parser.add_argument("--squad", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--reader", default=SPANS)
    parser.add_argument("--without-rules", action="store_true")
    parser.add_argument(
        "--whatever-confidence",
        action="store_true",
        help="Give the likeliest answer also where it would be withheld or shown as a passage.",
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/answers.json")
    parser.add_argument("--wrong", type=Path, help="Where to write the wrong answers.")
    options = parser.parse_args()
    paragraphs = {one["id"]: one for one in _lines(options.squad / "corpus.jsonl")}
    _fill(options.store, options.multihop / "corpus.jsonl", paragraphs)
    groups = {
        file.stem: list(_lines(file))
        for file in sorted(options.multihop.glob("*.jsonl"))
        if file.name != "corpus.jsonl"
    }
    groups["squad"] = list(_lines(options.squad / "dev.jsonl"))
    results: dict[str, Any] = {
        "environment": environment(["onnx", "onnxruntime"]),
        "rules": not options.without_rules,
        "whatever confidence": options.whatever_confidence,
        "from the store": {},
    }
    answers: dict[str, list[Answer]] = {}
    settings = AnswerConfig(rules=not options.without_rules)
    if options.whatever_confidence:
        settings = settings.model_copy(update={"threshold": 0.0, "answer_threshold": 0.0})
    config = Config(answer=settings)
    with Engine.open(options.store, config=config, reader=options.reader) as memory:
        memory.ask("Who?")
        for name, questions in groups.items():
            answers[name] = [memory.ask(asked["question"]) for asked in questions]
            results["from the store"][name] = _scores(questions, answers[name])
    every = [pair for name in groups for pair in zip(groups[name], answers[name], strict=True)]
    results["confidence"] = _confidence(every)
    latency = np.percentile([answer.elapsed_ms for _, answer in every], [50, 95])
    results["latency_ms"] = {"p50": latency[0], "p95": latency[1]}
    results["given"] = _given(groups["squad"], paragraphs, options.reader)
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    if options.wrong is not None:
        _write_wrong(options.wrong, groups, answers)


def _fill(store: Path, corpus: Path, paragraphs: dict[str, Any]) -> None:
    """Ingest all passages; nothing happens where they are stored already."""
    if store.exists():
        return
    with Engine.open(store, create=True, answerer="untrained") as memory:
        memory.ingest(
            Document(id=one["id"], title=one["title"], text=one["text"]) for one in _lines(corpus)
        )
        memory.ingest(
            Document(id=_PREFIX + one["id"], title=_title(one), text=one["text"])
            for one in paragraphs.values()
        )


def _title(paragraph: dict[str, Any]) -> str:
    return str(paragraph["title"]).replace("_", " ")


def _scores(questions: Sequence[dict[str, Any]], answers: Sequence[Answer]) -> dict[str, Any]:
    """Scores of the questions that have an answer, of each kind, and how often none is given."""
    pairs = list(zip(questions, answers, strict=True))
    known = [pair for pair in pairs if pair[0]["answers"] and pair[0].get("answerable", True)]
    unknown = [answer for question, answer in pairs if not question.get("answerable", True)]
    kinds = sorted({question.get("type", "") for question, _ in known} - {""})
    return {
        "all": _summary(known),
        "kinds": {kind: _summary([p for p in known if p[0]["type"] == kind]) for kind in kinds},
        "without an answer": {
            "n": len(unknown),
            "withheld": float(np.mean([answer.abstained for answer in unknown])),
        }
        if unknown
        else None,
    }


def _summary(pairs: Sequence[tuple[dict[str, Any], Answer]]) -> dict[str, Any]:
    given = np.array([f1(_given_answer(answer), asked["answers"]) for asked, answer in pairs])
    best = [f1(_best(answer), asked["answers"]) for asked, answer in pairs]
    exact = [exact_match(_given_answer(answer), asked["answers"]) for asked, answer in pairs]
    chosen = np.random.default_rng(0).integers(len(given), size=(_RESAMPLES, len(given)))
    low, high = np.percentile(given[chosen].mean(axis=1), [2.5, 97.5])
    return {
        "n": len(given),
        "em": float(np.mean(exact)),
        "f1": float(given.mean()),
        "low": low,
        "high": high,
        "f1 of the best candidate": float(np.mean(best)),
        "withheld": float(np.mean([answer.abstained for _, answer in pairs])),
    }


def _confidence(pairs: Iterable[tuple[dict[str, Any], Answer]]) -> dict[str, Any]:
    """How confidence goes with being right, and with having an answer."""
    calibrated = [pair for pair in pairs if pair[1].confidence is not None]
    sure = [answer.confidence or 0.0 for _, answer in calibrated]
    answerable = [bool(asked.get("answerable", True)) for asked, _ in calibrated]
    right = [
        answers_hold(answer.answer or _best(answer), asked["answers"]) * so
        for (asked, answer), so in zip(calibrated, answerable, strict=True)
    ]
    paired = [
        (value, so)
        for value, so, (asked, _) in zip(sure, answerable, calibrated, strict=True)
        if "answerable" in asked
    ]
    return {
        "n": len(sure),
        "calibration_error": calibration_error(sure, right),
        "answerable_auroc": area_under_roc(
            [value for value, _ in paired], [so for _, so in paired]
        ),
        "reliability": [one.model_dump() for one in reliability(sure, right)],
    }


def _given(
    questions: Sequence[dict[str, Any]], paragraphs: dict[str, Any], name: str
) -> dict[str, Any]:
    """The reader alone, given the right paragraph."""
    reader = LazyReader(name).load().reader
    if reader is None:
        raise SystemExit("there is no reader to be given paragraphs")
    exact: list[float] = []
    shared: list[float] = []
    answerable: list[float] = []
    for asked in questions:
        paragraph = paragraphs[asked["gold"][0]]
        passage = Passage(_title(paragraph), paragraph["text"])
        reading = reader.read(asked["question"], [passage])
        answerable.append(reading.answerable)
        if asked["answerable"]:
            exact.append(exact_match(_said(reading, passage), asked["answers"]))
            shared.append(f1(_said(reading, passage), asked["answers"]))
    return {
        "n": len(shared),
        "em": float(np.mean(exact)),
        "f1": float(np.mean(shared)),
        "answerable_auroc": area_under_roc(
            answerable, [asked["answerable"] for asked in questions]
        ),
    }


def _said(reading: Reading, passage: Passage) -> str:
    best = reading.spans[0] if reading.spans else None
    return passage.text[best.start : best.end] if best else ""


def _given_answer(answer: Answer) -> str:
    return answer.short or answer.answer or ""


def _best(answer: Answer) -> str:
    return answer.candidates[0].text if answer.candidates else ""


def _write_wrong(
    path: Path, groups: dict[str, list[dict[str, Any]]], answers: dict[str, list[Answer]]
) -> None:
    """Questions whose best candidate is not right, with what was read for them."""
    with path.open("w", encoding="utf-8") as file:
        for name, questions in groups.items():
            for asked, answer in zip(questions, answers[name], strict=True):
                if asked["answers"] and exact_match(_best(answer), asked["answers"]) < 1:
                    line = {
                        "set": name,
                        "question": asked["question"],
                        "right": asked["answers"],
                        "gold": asked["gold"],
                        "read": [item.source for item in answer.evidence[:5]],
                        "said": _best(answer),
                        "confidence": answer.confidence,
                    }
                    file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
