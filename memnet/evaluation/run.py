"""Asking every question of a file and scoring what comes back."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from memnet.engine import Engine
from memnet.evaluation.scores import exact_match, f1, recall, set_f1
from memnet.ingest.questions import Question
from memnet.types import Answer, Evaluation

_SLOTS = 50
"""Evidence asked for, so that ten distinct sources come up where documents have several slots."""


def evaluate(
    engine: Engine,
    questions: Sequence[Question],
    *,
    hops: int | None = None,
    namespace: str | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Ask questions and score evidence, answers and time.

    Args:
        engine: the memory.
        questions: at least one.
        hops: as for ``Engine.ask``.
        namespace: as for ``Engine.ask``.
        on_answer: called after each answer.

    Returns:
        Means over the questions that support each score. Recall needs gold sources; hits@1, EM and
        F1 need answers, and of a question without a right answer an abstention is right.
        Confidence scores stay None while nothing calibrates confidence.
    """
    answers: list[Answer] = []
    for question in questions:
        answers.append(engine.ask(question.question, hops=hops, top_k=_SLOTS, namespace=namespace))
        on_answer()
    pairs = list(zip(questions, answers, strict=True))
    recalls = {
        first: _mean(
            recall([item.source for item in answer.evidence], question.gold, first)
            for question, answer in pairs
            if question.gold
        )
        for first in (1, 2, 5, 10)
    }
    judged = any(question.answers for question in questions)
    elapsed = [answer.elapsed_ms for answer in answers]
    return Evaluation(
        n=len(questions),
        recall_at_1=recalls[1],
        recall_at_2=recalls[2],
        recall_at_5=recalls[5],
        recall_at_10=recalls[10],
        hits_at_1=_mean(
            exact_match(answer.candidates[0].text if answer.candidates else "", question.answers)
            for question, answer in pairs
            if question.answers
        ),
        em=_mean(_judge(exact_match, *pair) for pair in pairs) if judged else None,
        f1=_mean(_judge(f1, *pair) for pair in pairs) if judged else None,
        set_f1=_mean(
            set_f1([candidate.text for candidate in answer.candidates], question.answers)
            for question, answer in pairs
            if question.answers and answer.evidence and answer.evidence[0].kind == "fact"
        ),
        answerable_auroc=None,
        ece=None,
        latency_ms={
            "p50": float(np.percentile(elapsed, 50)),
            "p95": float(np.percentile(elapsed, 95)),
        },
    )


def _judge(
    score: Callable[[str, Sequence[str]], float], question: Question, answer: Answer
) -> float:
    if not question.answers:
        return float(answer.abstained)
    return score(answer.answer or "", question.answers)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None
