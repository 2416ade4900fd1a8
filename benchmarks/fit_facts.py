"""Fit the confidence of answers from facts without a trained model, and say how well it fits.

    python -m benchmarks.fit_facts --metaqa DIR [--questions 200]

Asked are the questions of ``asked_facts.toml``, and training questions of one hop of MetaQA, each
of these twice: as it is, and with the relation that answers it hidden, so that nothing is right.
"""

import argparse
import random
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memnet import Engine
from memnet.attention.arrays import fit_logistic
from memnet.documents.answers import TextAnswers
from memnet.documents.facts import FactGroup, confidence_of, fact_groups
from memnet.documents.hops import Retrieval
from memnet.learning.evaluation import calibration_error, exact_match, read_questions, reliability
from memnet.reader.passages import RankedSlot
from memnet.storage import EVERYWHERE

_FOLDS = 5
_OWN_WEIGHT = 3  # MetaQA asks for nine relations only
_OWN = Path(__file__).with_name("asked_facts.toml")


class _Case(NamedTuple):
    groups: Sequence[FactGroup]
    answers: Sequence[str]
    own: bool = False

    def right(self, group: FactGroup) -> bool:
        return any(exact_match(item.slot.value, self.answers) for item in group.facts)


def main() -> None:
    """Ask, fit, and say how well it fits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metaqa", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    cases = [*_own(), *_metaqa(options.metaqa, options.questions)]
    judged: list[tuple[float, bool]] = []
    for fold in range(_FOLDS):
        weights = _fit([one for index, one in enumerate(cases) if index % _FOLDS != fold])
        for case in cases[fold::_FOLDS]:
            scored = [(confidence_of(group.signals, weights), group) for group in case.groups]
            if scored:
                confidence, best = max(scored, key=lambda pair: pair[0])
                judged.append((confidence, case.right(best)))
    print("weights", [round(weight, 3) for weight in _fit(cases)])
    confidences = [confidence for confidence, _ in judged]
    rights = [float(is_right) for _, is_right in judged]
    print("calibration error", calibration_error(confidences, rights))
    for one in reliability(confidences, rights):
        print(f"{one.size:4}  confidence {one.confidence:.2f}  right {one.right:.2f}")


def _fit(cases: Sequence[_Case]) -> list[float]:
    pairs = [
        (case, group)
        for case in cases
        for group in case.groups
        for _ in range(_OWN_WEIGHT if case.own else 1)
    ]
    return fit_logistic(
        [group.signals.features() for _, group in pairs],
        [float(case.right(group)) for case, group in pairs],
    )


def _own() -> Iterator[_Case]:
    for table in tomllib.loads(_OWN.read_text(encoding="utf-8"))["tables"]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "table.csv")
            path.write_text(table["csv"].strip(), encoding="utf-8")
            with Engine.open(Path(folder, "store"), create=True, answerer="text") as engine:
                engine.ingest(path, facts=True)
                for question, answer in table["questions"]:
                    facts = _ranked(engine, question)
                    yield _Case(
                        _groups(engine, question, facts), [answer] if answer else [], own=True
                    )


def _metaqa(folder: Path, count: int) -> Iterator[_Case]:
    asked = read_questions(folder / "1hop" / "train.jsonl")
    with (
        tempfile.TemporaryDirectory() as store,
        Engine.open(store, create=True, answerer="text") as engine,
    ):
        engine.ingest(folder / "facts.tsv")
        for one in random.Random(0).sample(asked, count):
            facts = _ranked(engine, one.question)
            case = _Case(_groups(engine, one.question, facts), one.answers)
            yield case
            right = {group.facts[0].slot.relation for group in case.groups if case.right(group)}
            others = [item for item in facts if item.slot.relation not in right]
            yield _Case(_groups(engine, one.question, others), ())


def _ranked(engine: Engine, question: str) -> list[RankedSlot]:
    answerer = engine.answerer
    if not isinstance(answerer, TextAnswers):
        raise SystemExit("the engine has no answers from documents")
    with engine.store.reading():
        asked = answerer.question(question, EVERYWHERE)
        ranked = Retrieval(asked, answerer.controller, engine.config).search(
            engine.config.hop.hops, engine.config.hop.evidence
        )
    return [one for one in ranked if one.slot.kind != "passage"]


def _groups(engine: Engine, question: str, facts: Sequence[RankedSlot]) -> list[FactGroup]:
    return fact_groups(question, facts, engine.reader.load().reader)


if __name__ == "__main__":
    main()
