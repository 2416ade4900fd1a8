"""Attention of one query over NumPy arrays, for inference.

Torch is not needed for it, whose import takes longer than an answer.
"""

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
    """Turn scores into attention weights.

    Args:
        scores: [K] float32. Any finite size is safe: the softmax is shifted by the maximum.
        mask: [K] bool, True where a slot may be attended to; None for all.

    Returns:
        [K] float32, which sum to one; zeros where there is nothing to attend to.

    Source: Bahdanau et al. 2015, equation 6.
    """
    masked = scores if mask is None else np.where(mask, scores, -np.inf)
    highest = masked.max(initial=-np.inf)
    if highest == -np.inf:
        return np.zeros_like(scores)
    exponentials = np.exp(masked - highest)
    weights: NDArray[np.float32] = exponentials / exponentials.sum()
    return weights


def sigmoid(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logistic function of each number, of the shape and dtype of ``values``."""
    result: NDArray[np.float32] = np.reciprocal(1 + np.exp(-values))
    return result


def top_k_softmax(
    scores: NDArray[np.float32], mask: NDArray[np.bool_], kept: int
) -> NDArray[np.float32]:
    """The softmax over the largest scores only, as a sparse gate weighs its experts.

    Args:
        scores: [E] float32.
        mask: [E] bool, True for experts that may be chosen.
        kept: how many get a weight; of equal scores the first.

    Returns:
        [E] float32, which sum to one; zeros for the others, and everywhere without a choice.

    Source: Shazeer et al. 2017, equations 3 and 5 (KeepTopK).
    """
    order = np.argsort(np.where(mask, -scores, np.inf), kind="stable")[: min(kept, mask.sum())]
    chosen = np.zeros(len(scores), np.bool_)
    chosen[order] = True
    return softmax(scores, chosen)
