"""Fit what yes, no and cells of tables are judged by: weights of the signals of each.

    python -m benchmarks.fit_signals --data DIR [--reader READER]

Verdicts: of pairs of a question and a quotation, of everyday collections, of the collections of
documents that no reader learned from, and of those that were written as people ask, how likely the
word that is likelier is what the quotation says. Cells: of those that are looked up for the
questions about the everyday collections of part "fit", how likely they are right. What is printed
is cross-validated by question; the weights stand in ``memnet.reader.support`` and ``.cells``.
READER reads the cells; verdicts are those of the shipped network.

With ``--attention`` the weights of attention over rows, from the questions about the same
collections that one cell answers: those of cells are fitted to it.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from benchmarks.documents import holds
from benchmarks.questions import phrases, quotes
from benchmarks.reader_data.answered import right_cells
from benchmarks.reader_data.documents import collections, everyday_memories
from benchmarks.reader_data.held_out import part_of_collection
from benchmarks.reader_data.verdicts import Pair, Verdict, judged
from memnet import Engine
from memnet.attention.arrays import fit_logistic, probability_of, weighted
from memnet.documents.training.calibration import Predictor
from memnet.learning.evaluation import area_under_roc
from memnet.reader import tables
from memnet.reader.answers import asks_whether
from memnet.reader.cells import Asked, CellSignals, RowRead, RowSignals, cell_signals, row_signals
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.rows import Cell, Row, under_headings
from memnet.reader.spans import Passage, Reader
from memnet.reader.support import VerdictSignals, verdict_signals
from memnet.reader.tables import asked_of as tables_asked_of

_FOLDS = 5
_LEAST = (0.5, 0.6, 0.7, 0.8, 0.9)


class _Case(NamedTuple):
    signals: VerdictSignals | CellSignals
    right: bool


def main() -> None:
    """Ask, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path, default=LazyReader(SPANS).folder)
    parser.add_argument("--attention", action="store_true")
    options = parser.parse_args()
    if options.attention:
        _fit_attention(options.reader)
        return
    verdicts: list[_Case] = []
    cells: list[_Case] = []
    plain = (one for one in judged("fit") if one.origin == "plain")
    pairs = [*_documents(options.data), *plain]
    for _, asked, memory in everyday_memories("fit", "text", str(options.reader)):
        pairs += filter(None, map(_everyday, asked))
        cells += _cells(memory, asked)
        while pairs:
            verdicts.append(_case_of(memory, pairs.pop()))
    _report("verdicts", verdicts)
    _report("cells", cells)


def _documents(data: Path) -> Iterator[Pair]:
    for name, asked in collections(data).items():
        for one in asked if part_of_collection(name) != "train" else ():
            if one["type"] == "yesno" and asks_whether(one["question"]):
                title, text = Path(one["source"]).stem, "\n".join(one.get("best") or quotes(one))
                yield Pair(one["question"], title, text, one["answers"][0])


def _everyday(one: dict[str, Any]) -> Pair | None:
    """The pair of a question with its quotation, or the one that tempts to answer."""
    sources = {piece["source"] for piece in one["evidence"]}
    judges = one["type"] in ("yesno", "unanswerable") and asks_whether(one["question"])
    if not judges or len(sources) != 1:
        return None
    text = "\n".join(piece["quote"] for piece in one["evidence"])
    verdict: Verdict = one["answers"][0] if one["answers"] else "open"
    return Pair(one["question"], Path(sources.pop()).stem, text, verdict)


def _case_of(memory: Engine, pair: Pair) -> _Case:
    reader = memory.reader.load_verdicts()
    if reader is None:
        raise SystemExit("the memory has no reader")
    reading = reader.read(pair.question, [Passage(pair.title, pair.text)])
    word, signals = verdict_signals(pair.question, pair.text, pair.title, "", reading)
    return _Case(signals, word == pair.verdict)


def _cells(memory: Engine, asked: Sequence[dict[str, Any]]) -> Iterator[_Case]:
    """The cells that are looked up, each with whether it is right."""
    if not isinstance(memory.answerer, Predictor):
        raise SystemExit("the memory has no reader")
    for one in asked:
        seen: list[Any] = []

        def signals_of(
            question: Asked, rows: Sequence[Row], row: Row, cell: Cell, read: RowRead,
            judge: Reader | None, seen: list[Any] = seen,
        ) -> CellSignals:  # fmt: skip
            seen.append(cell.text)
            return cell_signals(question, rows, row, cell, read, judge)

        def sure(signals: CellSignals, seen: list[Any] = seen) -> float:
            seen.append(signals)
            return 1.0

        with (
            patch.object(tables, "cell_signals", signals_of),
            patch.object(tables, "probability_of_cell", sure),
        ):
            memory.answerer.predict(one["question"])
        if seen:
            said, signals = seen[:2]
            short = one["type"] in ("value", "multi")
            right = any(holds(said, phrase) or holds(phrase, said) for phrase in phrases(one))
            yield _Case(signals, short and right)


class _Choice(NamedTuple):
    """Of what attention is to choose one, as signals, and which are right."""

    signals: Sequence[RowSignals]
    right: Sequence[bool]


def _fit_attention(folder: Path) -> None:
    """Print the weights by which most attention goes to rows that answer."""
    choices: list[_Choice] = []
    for _, asked, memory in everyday_memories("fit", "text", str(folder)):
        for one in asked:
            if one["type"] not in ("value", "multi") or not isinstance(memory.answerer, Predictor):
                continue
            questions: list[Asked] = []
            seen: list[list[Row]] = []

            def asked_of(*given: Any, questions: list[Asked] = questions) -> Asked:
                questions.append(tables_asked_of(*given))
                return questions[-1]

            def rows_read(*given: Any, seen: list[list[Row]] = seen) -> list[Row]:
                seen.append(under_headings(*given))
                return seen[-1]

            with (
                patch.object(tables, "asked_of", asked_of),
                patch.object(tables, "under_headings", rows_read),
            ):
                memory.answerer.predict(one["question"])
            for question, rows in zip(questions, seen, strict=True):
                right = [
                    any(right_cells(row.cells, quotes(one), phrases(one)) or ()) for row in rows
                ]
                if any(right) and not all(right):
                    choices.append(_Choice(row_signals(question, rows), right))
    weights = [round(weight, 3) for weight in _chosen_weights(choices)]
    logits = [[weighted(weights, each) for each in one.signals] for one in choices]
    best = [one.index(max(one)) for one in logits]
    right_ones = sum(one.right[place] for one, place in zip(choices, best, strict=True))
    print(f"rows: {len(choices)}, right {right_ones}", RowSignals(*weights))


def _chosen_weights(choices: Sequence[_Choice]) -> list[float]:
    """Weights by conditional logistic regression: the right of each choice against all of it."""
    signals = [torch.tensor(one.signals, dtype=torch.float64) for one in choices]
    scale = torch.cat(signals).std(0).clamp_min(1e-6)
    weights = torch.zeros(len(scale), dtype=torch.float64, requires_grad=True)
    right = [torch.tensor(one.right) for one in choices]
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = [one / scale @ weights for one in signals]
        of_right = (one[good].logsumexp(0) for one, good in zip(logits, right, strict=True))
        lost = sum(one.logsumexp(0) for one in logits) - sum(of_right) + (weights**2).sum() / 2
        lost.backward()  # type: ignore[no-untyped-call]
        return lost

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return (weights.detach() / scale).tolist()


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
