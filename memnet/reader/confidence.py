"""Confidence: the calibrated probability that an answer is right."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_EPSILON = 1e-6
_MAX_LOGIT = 30.0


class Signals(NamedTuple):
    """What the confidence in an answer is calculated from."""

    answer: float
    """Probability of the answer, by the reader."""
    second: float
    """Of the best other answer."""
    answerable: float
    """That the passages hold an answer, by the reader."""
    similarity: float
    """Highest cosine of question and key among the passages."""
    overlap: float
    """Share of the question's stems in the answer's sentence and title; of yes and no, in the
    passages that they were judged by."""
    unknown: bool
    """Whether a name or a number of the question stands in nothing that was read: the question
    then presupposes what the evidence does not say."""
    rank: int
    """Of the passage that the answer stands in, from 0."""

    def features(self) -> tuple[float, ...]:
        """The input of a ``Calibration``: ``FEATURES`` numbers."""
        return (
            1.0,
            _logit(self.answer),
            _logit(self.second),
            _logit(self.answerable),
            self.similarity,
            self.overlap,
            float(self.unknown),
            math.log1p(self.rank),
        )


FEATURES = 8


class Calibration:
    """Logistic regression from signals to the probability that an answer is right.

    Source: Platt 1999 (logistic calibration), with more than one signal as in Kamath et al. 2020.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Take the weights of ``FEATURES`` features."""
        self.weights = tuple(weights)

    def confidence(self, signals: Signals) -> float:
        """The probability, 0..1."""
        pairs = zip(self.weights, signals.features(), strict=True)
        logit = sum(weight * feature for weight, feature in pairs)
        return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))))


def _logit(probability: float) -> float:
    clipped = min(max(probability, _EPSILON), 1 - _EPSILON)
    return math.log(clipped / (1 - clipped))
