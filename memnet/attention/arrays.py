"""Attention and logistic regression over NumPy arrays.

Torch is not needed for them, whose import takes longer than an answer.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def cosines(query: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosines [K] float32 of a query [D] and keys [K, D], 0 for a vector of zeros.

    Source: Graves et al. 2014, equation 6.
    """
    norms = np.linalg.norm(keys, axis=1) * np.linalg.norm(query)
    result: NDArray[np.float32] = np.divide(
        keys @ query, norms, out=np.zeros(len(keys), np.float32), where=norms > 0
    )
    return result


def softmax(
    scores: NDArray[np.float32], mask: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Attention weights of scores [..., K] float32 of any finite size, by the softmax.

    ``mask``, of the shape of the scores or one that fits it, is True where a slot may be attended
    to; None for all. Rows sum to one, and are zeros where there is nothing to attend to.

    Source: Bahdanau et al. 2015, equation 6.
    """
    masked = scores if mask is None else np.where(mask, scores, np.float32(-np.inf))
    highest = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(masked - np.where(np.isneginf(highest), np.float32(0), highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = np.zeros_like(scores)
    np.divide(exponentials, total, out=weights, where=total > 0)
    return weights


def sigmoid(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logistic function of each number, of the shape and dtype of ``values``."""
    small = np.exp(-np.abs(values))  # never overflows
    above: NDArray[np.float32] = np.reciprocal(1 + small)
    return np.where(values < 0, small * above, above)


def top_k_softmax(
    scores: NDArray[np.float32], mask: NDArray[np.bool_], kept: int
) -> NDArray[np.float32]:
    """The softmax over the largest scores only, as a sparse gate weighs its experts.

    Of scores [E] float32, masked by [E] bool, the ``kept`` largest get weights [E] float32 that sum
    to one, of equal ones the first; the others get zero.

    Source: Shazeer et al. 2017, equations 3 and 5 (KeepTopK).
    """
    order = np.argsort(np.where(mask, -scores, np.inf), kind="stable")[: min(kept, mask.sum())]
    chosen = np.zeros(len(scores), np.bool_)
    chosen[order] = True
    return softmax(scores, chosen)


def gelu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each number times the share of the normal distribution that lies below it.

    Source: Hendrycks and Gimpel 2016; the distribution by Abramowitz and Stegun 1964, 7.1.26, which
    is right to 1.5e-7.
    """
    half = np.abs(values) * np.float32(math.sqrt(1 / 2))
    near = np.reciprocal(1 + np.float32(0.3275911) * half)
    tail = np.zeros_like(near)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = (tail + np.float32(factor)) * near
    within = np.sign(values) * (1 - tail * np.exp(-half * half))
    below: NDArray[np.float32] = ((1 + within) / 2).astype(np.float32)
    return values * below


_PENALTY = 1e-2  # On squared weights of standardised features
_STEPS = 100
_CONVERGED = 1e-9  # Largest change of a weight in the last step
_MAX_LOGIT = 30.0


def log_odds(probability: float, epsilon: float = 1e-4) -> float:
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
