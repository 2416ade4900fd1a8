"""Evaluation: ask the questions of a file and score evidence, answers and time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from memnet.evaluation.metrics import (
    area_under_roc,
    calibration_error,
    exact_match,
    f1,
    recall,
    reliability,
    set_f1,
)
from memnet.evaluation.questions import Question
from memnet.types import Answer, Evaluation

_TOP_K = 50
"""Evidence asked for: recall@10 counts sources, and documents have several slots."""
_RECALL_AT = (1, 2, 5, 10)


class Askable(Protocol):
    """What questions can be asked of: an ``Engine``, or anything with its ``ask``."""

    def ask(
        self,
        question: str,
        *,
        hops: int | None = None,
        top_k: int | None = None,
        namespace: str | None = None,
    ) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        ...


def evaluate(
    memory: Askable,
    questions: Sequence[Question],
    *,
    hops: int | None = None,
    namespace: str | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Ask questions and score evidence, answers and time.

    Args:
        memory: usually an ``Engine``.
        questions: at least one.
        hops: as for ``Engine.ask``.
        namespace: as for ``Engine.ask``.
        on_answer: called after each answer.

    Returns:
        Means over the questions that support each score. Recall needs gold sources; hits@1, EM and
        F1 need answers, and to a question without a right answer it is right to abstain. AUROC,
        ECE and the reliability diagram need calibrated confidences.
    """
    answers: list[Answer] = []
    for question in questions:
        answers.append(memory.ask(question.question, hops=hops, top_k=_TOP_K, namespace=namespace))
        on_answer()
    pairs = list(zip(questions, answers, strict=True))
    recalls = {
        k: _mean(
            recall([item.source for item in answer.evidence], question.gold, k)
            for question, answer in pairs
            if question.gold
        )
        for k in _RECALL_AT
    }
    calibrated = [pair for pair in pairs if pair[1].confidence is not None]
    confidences = [answer.confidence or 0.0 for _, answer in calibrated]
    rights = [_best_is_right(*pair) for pair in calibrated]
    answerable = any(question.answers for question in questions)
    elapsed = [answer.elapsed_ms for answer in answers]
    return Evaluation(
        n=len(questions),
        recall_at_1=recalls[1],
        recall_at_2=recalls[2],
        recall_at_5=recalls[5],
        recall_at_10=recalls[10],
        hits_at_1=_mean(_best_is_right(*pair) for pair in pairs if pair[0].answers),
        em=_mean(_score(exact_match, *pair) for pair in pairs) if answerable else None,
        f1=_mean(_score(f1, *pair) for pair in pairs) if answerable else None,
        set_f1=_mean(
            set_f1([candidate.text for candidate in answer.candidates], question.answers)
            for question, answer in pairs
            if question.answers and answer.evidence and answer.evidence[0].kind == "fact"
        ),
        answerable_auroc=area_under_roc(
            confidences, [bool(asked.answers) for asked, _ in calibrated]
        ),
        ece=calibration_error(confidences, rights),
        reliability=tuple(reliability(confidences, rights)),
        latency_ms={
            "p50": float(np.percentile(elapsed, 50)),
            "p95": float(np.percentile(elapsed, 95)),
        },
    )


def _best_is_right(question: Question, answer: Answer) -> float:
    best = answer.candidates[0].text if answer.candidates else ""
    return exact_match(best, question.answers)


def _score(
    score: Callable[[str, Sequence[str]], float], question: Question, answer: Answer
) -> float:
    if not question.answers:
        return float(answer.abstained)
    return score(answer.answer or "", question.answers)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None
