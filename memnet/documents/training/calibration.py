"""The confidence preset: learns from questions with answers how often a reader is right."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, Protocol, runtime_checkable

from memnet.attention.arrays import fit_logistic
from memnet.errors import InputError
from memnet.learning import OnProgress, counted, no_progress
from memnet.learning.evaluation import (
    Question,
    answers_hold,
    area_under_roc,
    calibration_error,
    normalised_answer,
)
from memnet.reader.answers import Prediction
from memnet.reader.checkpoint import copy_reader, save_calibration
from memnet.reader.confidence import Calibration, Signals
from memnet.reader.loading import LazyReader

_FOLDS = 5
_PROMISED = 0.8  # Share of what is shown as an answer that is to be right
_SAMPLES = 200
_MIN_PROMISED = 10  # Answers of which that share is taken, at least


class CalibrationReport(NamedTuple):
    """Scores of a calibration, cross-validated in five folds."""

    questions: int
    right: float
    """Share of questions to which what is shown holds a right answer, 0..1."""
    calibration_error: float
    answerable_auroc: float | None
    """None where all questions have an answer, or none has."""


@runtime_checkable
class Predictor(Protocol):
    """An answerer that gives the possible answers from documents with their signals."""

    def predict(self, question: str) -> Prediction:
        """As ``TextAnswers.predict``."""
        ...


class _ReadingMemory(Protocol):
    """The parts of an ``Engine`` that a calibration needs."""

    @property
    def answerer(self) -> object: ...

    @property
    def reader(self) -> LazyReader: ...


class _Case(NamedTuple):
    signals: Signals
    right: bool
    answerable: bool


def calibrate(
    memory: _ReadingMemory,
    questions: Sequence[Question],
    out: str | os.PathLike[str],
    *,
    on_progress: OnProgress = no_progress,
) -> CalibrationReport:
    """Learn how often a memory's reader is right about its documents.

    Args:
        memory: an ``Engine`` with the answerer "text" and a reader of spans.
        questions: that the reader was not trained on, with their right answers; none for those
            whose answer the memory does not hold.
        out: folder of a copy of the reader, calibrated; to be given to ``Engine.open``.
        on_progress: called after each question.

    Raises:
        InputError: there is nothing to learn from, or the memory has no reader of spans.
        ModelError: ``out`` can't be written.
    """
    folder = memory.reader.folder
    if folder is None or not isinstance(memory.answerer, Predictor):
        raise InputError(
            "only answers that a reader of spans gives can be calibrated; open the memory "
            "with the model 'text' and such a reader"
        )
    calibration, report = fit_calibration(questions, memory.answerer.predict, on_progress)
    copy_reader(folder, Path(out))
    save_calibration(Path(out), calibration, report._asdict())
    return report


def fit_calibration(
    questions: Sequence[Question],
    predict: Callable[[str], Prediction],
    on_progress: OnProgress = no_progress,
) -> tuple[Calibration, CalibrationReport]:
    """Fit a calibration to answers; InputError for fewer than ten, or all right or all wrong."""
    cases = [
        _Case(prediction.signals, right, bool(question.answers))
        for question in counted(questions, "answering questions", on_progress)
        if (prediction := predict(question.question)).signals is not None
        and (right := _is_right(prediction, question)) is not None
    ]
    rights = [case.right for case in cases]
    if len(cases) < 2 * _FOLDS or all(rights) or not any(rights):
        raise InputError(
            f"there is nothing to learn from: {sum(rights)} of {len(cases)} questions that the "
            "reader answered are answered right; expected ten or more, some right and some wrong"
        )
    confidences = [0.0] * len(cases)
    for fold in range(_FOLDS):
        part = [case for index, case in enumerate(cases) if index % _FOLDS != fold]
        calibration = Calibration(_weights(part), 0.0)
        for index in range(fold, len(cases), _FOLDS):
            confidences[index] = calibration.confidence(cases[index].signals)
    judged = zip(confidences, cases, strict=True)
    shown = [(one, case.right) for one, case in judged if not case.signals.left_open]
    report = CalibrationReport(
        questions=len(cases),
        right=sum(rights) / len(cases),
        calibration_error=calibration_error(confidences, [float(right) for right in rights]) or 0.0,
        answerable_auroc=area_under_roc(confidences, [case.answerable for case in cases]),
    )
    return Calibration(_weights(cases), promised_from(shown)), report


def _is_right(prediction: Prediction, question: Question) -> bool | None:
    """Whether what is shown holds a right answer, of a short one what is marked.

    What leaves yes or no open is right if it shows a sentence that answers; None if none is known.
    """
    left_open = prediction.signals is not None and prediction.signals.left_open
    if left_open and {*map(str.casefold, question.answers)} & {"yes", "no"}:
        shown = normalised_answer(prediction.shown)
        quotes = [text for one in question.quotes if (text := normalised_answer(one))]
        return any(one in shown or shown in one for one in quotes) if quotes else None
    marked = prediction.short if prediction.kind == "value" else None
    return bool(
        answers_hold(prediction.shown, question.answers)
        and (marked is None or answers_hold(marked, question.answers))
    )


def promised_from(judged: Sequence[tuple[float, bool]]) -> float:
    """The lowest confidence from which ``_PROMISED`` of some answers are right, in 0..1.

    Where no confidence promises that, the highest. Of one sample it hinges on a few answers (0.08
    of standard deviation with 600), so that it is the mean over samples drawn with replacement.

    Args:
        judged: confidence of each answer, and whether it is right.

    Source: Breiman 1996 (bagging).
    """
    draw = random.Random(0)
    return fmean(_promised_of(draw.choices(judged, k=len(judged))) for _ in range(_SAMPLES))


def _promised_of(judged: Sequence[tuple[float, bool]]) -> float:
    promised, right = 1.0, 0
    for count, (confidence, is_right) in enumerate(sorted(judged, reverse=True), start=1):
        right += is_right
        if right >= _PROMISED * count and count >= _MIN_PROMISED:
            promised = confidence
    return promised


def _weights(cases: Sequence[_Case]) -> list[float]:
    features = [case.signals.features() for case in cases]
    return fit_logistic(features, [float(case.right) for case in cases])
