"""Fit what yes, no and cells of tables are judged by: weights of the signals of each.

    python -m benchmarks.fit_signals --data DIR [--reader READER]

Verdicts: of pairs of a question and a quotation (part "fit" of ``questions/verdicts.jsonl.gz``, of
everyday collections, and of the collections of documents that no reader learned from; of part
"train" those that rules say something of, which are few elsewhere), how likely the word that is
likelier is what the quotation says. Cells: of those that are looked up for the questions about the
everyday collections of part "fit", how likely they are right. What is printed is cross-validated by
question; the weights stand in ``memnet.reader.support`` and ``.tables``.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.documents import holds
from benchmarks.questions import FOLDER, phrases, quotes
from benchmarks.reader_data.documents import collections, everyday_memories
from benchmarks.reader_data.files import lines
from benchmarks.reader_data.held_out import part_of_collection
from memnet import Engine
from memnet.attention.arrays import fit_logistic, probability_of, weighted
from memnet.documents.training.calibration import Predictor
from memnet.learning.evaluation import area_under_roc
from memnet.reader import tables
from memnet.reader.answers import asks_whether
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.spans import Passage
from memnet.reader.support import VerdictSignals, verdict_signals
from memnet.reader.tables import CellSignals
from memnet.text.restated import restates

_FOLDS = 5
_LEAST = (0.5, 0.6, 0.7, 0.8, 0.9)


class _Case(NamedTuple):
    signals: VerdictSignals | CellSignals
    right: bool


class _Pair(NamedTuple):
    question: str
    title: str
    quoted: str
    verdict: str  # "yes", "no", "" for neither


def main() -> None:
    """Ask, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path, default=LazyReader(SPANS).folder)
    options = parser.parse_args()
    verdicts: list[_Case] = []
    cells: list[_Case] = []
    pairs = [*_written(), *_documents(options.data)]
    for _, asked, memory in everyday_memories("fit", "text", str(options.reader)):
        pairs += filter(None, map(_everyday, asked))
        cells += _cells(memory, asked)
        while pairs:
            verdicts.append(_judged(memory, pairs.pop()))
    for name, cases in (("verdicts", verdicts), ("cells", cells)):
        _report(name, cases)


def _written() -> Iterator[_Pair]:
    for one in lines(FOLDER / "verdicts.jsonl.gz"):
        [passage] = one["passages"]
        question, title, text = one["question"], passage["title"], passage["text"]
        by_rules = one["part"] == "train" and restates(question, text, title) is not None
        if one["part"] == "fit" or by_rules:
            yield _Pair(question, title, text, "".join(one["answers"]))


def _documents(data: Path) -> Iterator[_Pair]:
    for name, asked in collections(data).items():
        for one in asked if part_of_collection(name) != "train" else ():
            if one["type"] == "yesno" and asks_whether(one["question"]):
                title, text = Path(one["source"]).stem, "\n".join(one.get("best") or quotes(one))
                yield _Pair(one["question"], title, text, one["answers"][0])


def _everyday(one: dict[str, Any]) -> _Pair | None:
    """The pair of a question with its quotation, or the one that tempts to answer."""
    sources = {piece["source"] for piece in one["evidence"]}
    judges = one["type"] in ("yesno", "unanswerable") and asks_whether(one["question"])
    if not judges or len(sources) != 1:
        return None
    text = "\n".join(piece["quote"] for piece in one["evidence"])
    return _Pair(one["question"], Path(sources.pop()).stem, text, "".join(one["answers"]))


def _judged(memory: Engine, pair: _Pair) -> _Case:
    question, title, quoted, verdict = pair
    reader = memory.reader.load().reader
    if reader is None:
        raise SystemExit("the memory has no reader")
    reading = reader.read(question, [Passage(title, quoted)])
    encode = memory.encoder.encode
    word, signals = verdict_signals(question, quoted, title, "", reading, encode)
    return _Case(signals, word == verdict)


def _cells(memory: Engine, asked: Sequence[dict[str, Any]]) -> Iterator[_Case]:
    """The cells that are looked up, each with whether it is right."""
    if not isinstance(memory.answerer, Predictor):
        raise SystemExit("the memory has no reader")
    for one in asked:
        found: list[CellSignals] = []

        def record(signals: CellSignals, found: list[CellSignals] = found) -> float:
            found.append(signals)
            return 1.0

        with patch.object(tables, "probability_of_cell", record):
            prediction = memory.answerer.predict(one["question"])
        if found and prediction.kind == "table":
            said = prediction.candidates[0].text
            short = one["type"] in ("value", "multi")
            right = any(holds(said, phrase) or holds(phrase, said) for phrase in phrases(one))
            yield _Case(found[0], short and right)


def _report(name: str, cases: Sequence[_Case]) -> None:
    probabilities = [0.0] * len(cases)
    for fold in range(_FOLDS):
        weights = _weights([one for place, one in enumerate(cases) if place % _FOLDS != fold])
        for place in range(fold, len(cases), _FOLDS):
            probabilities[place] = probability_of(weighted(weights, cases[place].signals))
    rights = [one.right for one in cases]
    print(
        f"{name}: {len(cases)}, right {sum(rights)}, AUROC {area_under_roc(probabilities, rights)}"
    )
    for least in _LEAST:
        given = [right for one, right in zip(probabilities, rights, strict=True) if one >= least]
        print(f"  from {least}: {len(given)} given, {sum(given)} right")
    signals = cases[0].signals
    weights = _weights(cases)
    print(type(signals)(*(round(weight, 3) for weight in weights)))


def _weights(cases: Sequence[_Case]) -> list[float]:
    return fit_logistic([one.signals for one in cases], [float(one.right) for one in cases])


if __name__ == "__main__":
    main()
