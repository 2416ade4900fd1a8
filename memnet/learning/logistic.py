"""Logistic regression: from signals to the probability that an answer is right."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

_PENALTY = 1e-2  # On squared weights of standardised features
_STEPS = 100
_CONVERGED = 1e-9  # Largest change of a weight in the last step
_MAX_LOGIT = 30.0


def log_odds(probability: float, epsilon: float) -> float:
    """The logarithm of p / (1 - p), of a probability that is kept ``epsilon`` away from 0 and 1."""
    clipped = min(max(probability, epsilon), 1 - epsilon)
    return math.log(clipped / (1 - clipped))


def probability_of(logit: float) -> float:
    """The logistic function, 0..1, of a number that is kept within 30 of 0."""
    return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))))


def weighted(weights: Iterable[float], features: Iterable[float]) -> float:
    """The sum of features by their weights, of which there are as many."""
    return sum(weight * feature for weight, feature in zip(weights, features, strict=True))


def fit_logistic(features: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Weights by logistic regression on standardised features, by Newton's method.

    Args:
        features: of each case, the first of them 1.
        right: of each case 1, 0, or a probability of being right.

    Returns:
        The weight of each feature as it is given.
    """
    given, wanted = np.array(features, np.float64), np.array(right, np.float64)
    mean, std = given.mean(axis=0), given.std(axis=0, ddof=1).clip(min=1e-6)
    mean[0], std[0] = 0.0, 1.0
    scaled = (given - mean) / std
    # Of the mean loss, to which the penalty on all weights but the first is added.
    penalty = np.full(len(mean), 2 * _PENALTY)
    penalty[0] = 1e-12
    weights = np.zeros(len(mean))
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-(scaled @ weights).clip(-_MAX_LOGIT, _MAX_LOGIT)))
        slope = scaled.T @ (shares - wanted) / len(wanted) + penalty * weights
        curvature = (scaled.T * (shares * (1 - shares))) @ scaled / len(wanted) + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        weights -= step
        if np.abs(step).max() < _CONVERGED:
            break
    unscaled = weights / std
    unscaled[0] = weights[0] - (mean / std * weights).sum()
    return [float(weight) for weight in unscaled]
