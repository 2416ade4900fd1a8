"""Confidence: how often an answer like this one is right."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_FLOOR = 1e-6


class Signals(NamedTuple):
    """What is known about an answer before one knows whether it is right."""

    answer: float
    """Probability of the answer, by the reader."""
    second: float
    """Of the best other answer."""
    answerable: float
    """That the passages hold an answer, by the reader."""
    similarity: float
    """Highest cosine of question and key among the passages."""
    said: float
    """Share of the question's words, by their first letters, that the sentence of the answer and
    its title hold; of yes and no, the passages that they were judged by."""
    unknown: bool
    """Whether a name or a number of the question stands in nothing that was read: the question
    then takes for granted what the evidence does not say."""
    place: int
    """Rank of the passage that the answer stands in, from 0."""

    def features(self) -> tuple[float, ...]:
        """The numbers that a ``Calibration`` weighs."""
        return (
            1.0,
            _logit(self.answer),
            _logit(self.second),
            _logit(self.answerable),
            self.similarity,
            self.said,
            float(self.unknown),
            math.log1p(self.place),
        )


FEATURES = 8
"""Numbers that ``Signals.features`` gives."""


class Calibration:
    """Turns signals into the probability that an answer is right.

    Source: Platt 1999 (logistic calibration), with more than one signal as in Kamath et al. 2020.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Take the weights of ``FEATURES`` features."""
        self.weights = tuple(weights)

    def confidence(self, signals: Signals) -> float:
        """The probability, 0..1."""
        pairs = zip(self.weights, signals.features(), strict=True)
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, sum(a * b for a, b in pairs)))))


def _logit(probability: float) -> float:
    kept = min(max(probability, _FLOOR), 1 - _FLOOR)
    return math.log(kept / (1 - kept))
