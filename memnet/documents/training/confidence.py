"""The confidence preset: learns from questions with answers how often a reader is right."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import nn

from memnet.errors import InputError
from memnet.evaluation.metrics import area_under_roc, calibration_error, exact_match
from memnet.evaluation.questions import Question
from memnet.reader.answers import Prediction
from memnet.reader.confidence import Calibration, Signals
from memnet.training.progress import OnProgress, counted, no_progress

_PENALTY = 1e-2
"""On squared weights of features brought to one scale."""
_FOLDS = 5
_STEPS = 100


class ConfidenceReport(NamedTuple):
    """What came of a calibration, cross-validated in five parts."""

    questions: int
    right: float
    """Share of questions whose best candidate is right, 0..1."""
    calibration_error: float
    answerable_auroc: float | None
    """None where all questions have an answer, or none has."""


class _Case(NamedTuple):
    signals: Signals
    right: bool
    answerable: bool


def calibrate(
    questions: Sequence[Question],
    predict: Callable[[str], Prediction],
    on_progress: OnProgress = no_progress,
) -> tuple[Calibration, ConfidenceReport]:
    """Fit a calibration to how a reader answers questions that it was not trained on.

    Args:
        questions: with their right answers; none where the memory does not hold one.
        predict: answers a question, with its signals.
        on_progress: called after each question.

    Raises:
        InputError: fewer than ten questions are answered by the reader, or all are answered right
            or all wrong.
    """
    cases = [
        _Case(prediction.signals, _right(prediction, question), bool(question.answers))
        for question in counted(questions, "answering questions", on_progress)
        if (prediction := predict(question.question)).signals is not None
    ]
    rights = [case.right for case in cases]
    if len(cases) < 2 * _FOLDS or all(rights) or not any(rights):
        raise InputError(
            f"there is nothing to learn from: {sum(rights)} of {len(cases)} questions that the "
            "reader answered are answered right; expected ten or more, some right and some wrong"
        )
    guesses = [0.0] * len(cases)
    for fold in range(_FOLDS):
        held_out = range(fold, len(cases), _FOLDS)
        rest = [case for place, case in enumerate(cases) if place % _FOLDS != fold]
        fitted = _fit(rest)
        for place in held_out:
            guesses[place] = fitted.confidence(cases[place].signals)
    report = ConfidenceReport(
        questions=len(cases),
        right=sum(rights) / len(cases),
        calibration_error=calibration_error(guesses, [float(right) for right in rights]) or 0.0,
        answerable_auroc=area_under_roc(guesses, [case.answerable for case in cases]),
    )
    return _fit(cases), report


def _right(prediction: Prediction, question: Question) -> bool:
    candidates = prediction.candidates
    return bool(candidates and exact_match(candidates[0].text, question.answers))


def _fit(cases: Sequence[_Case]) -> Calibration:
    """Logistic regression, by Newton-like steps, on features of equal spread."""
    features = torch.tensor([case.signals.features() for case in cases], dtype=torch.float64)
    right = torch.tensor([float(case.right) for case in cases], dtype=torch.float64)
    spread = features.std(dim=0).clamp(min=1e-6)
    spread[0] = 1.0
    centre = features.mean(dim=0)
    centre[0] = 0.0
    weights = torch.zeros(features.shape[1], dtype=torch.float64, requires_grad=True)
    scaled = (features - centre) / spread
    optimizer = torch.optim.LBFGS([weights], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        error = nn.functional.binary_cross_entropy_with_logits(scaled @ weights, right)
        error = error + _PENALTY * (weights[1:] ** 2).sum()
        error.backward()  # type: ignore[no-untyped-call]
        return error

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    plain = weights.detach() / spread
    plain[0] = weights.detach()[0] - (centre / spread * weights.detach()).sum()
    return Calibration(plain.tolist())
