"""Logistic regression: from signals to the probability that an answer is right."""

import math
from collections.abc import Iterable, Sequence

_PENALTY = 1e-2  # On squared weights of standardised features
_STEPS = 100
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
    """Weights by logistic regression on standardised features, by L-BFGS.

    Args:
        features: of each case, the first of them 1.
        right: of each case 1, 0, or a probability of being right.

    Returns:
        The weight of each feature as it is given.
    """
    # Answers need no torch, whose import takes longer than one.
    import torch
    from torch import nn

    given = torch.tensor(features, dtype=torch.float64)
    wanted = torch.tensor(right, dtype=torch.float64)
    std = given.std(dim=0).clamp(min=1e-6)
    std[0] = 1.0
    mean = given.mean(dim=0)
    mean[0] = 0.0
    weights = torch.zeros(given.shape[1], dtype=torch.float64, requires_grad=True)
    scaled = (given - mean) / std
    optimizer = torch.optim.LBFGS([weights], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        error = nn.functional.binary_cross_entropy_with_logits(scaled @ weights, wanted)
        error = error + _PENALTY * (weights[1:] ** 2).sum()
        error.backward()  # type: ignore[no-untyped-call]
        return error

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    unscaled = weights.detach() / std
    unscaled[0] = weights.detach()[0] - (mean / std * weights.detach()).sum()
    return unscaled.tolist()
