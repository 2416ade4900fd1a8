"""Attention of one query over arrays: what reads and writes of a store do, as nothing is learned.

The same as with tensors, without torch, whose import takes longer than an answer.
"""

import numpy as np
from numpy.typing import NDArray


def cosines(query: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosines [K] float32 of a query [D] and keys [K, D], 0 with a vector of zeros.

    Source: Graves et al. 2014, equation 6.
    """
    lengths = np.linalg.norm(keys, axis=1) * np.linalg.norm(query)
    found: NDArray[np.float32] = np.divide(
        keys @ query, lengths, out=np.zeros(len(keys), np.float32), where=lengths > 0
    )
    return found


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
    seen = scores if mask is None else np.where(mask, scores, -np.inf)
    highest = seen.max(initial=-np.inf)
    if highest == -np.inf:
        return np.zeros_like(scores)
    exponentials = np.exp(seen - highest)
    weights: NDArray[np.float32] = exponentials / exponentials.sum()
    return weights


def attend_once(
    scores: NDArray[np.float32], values: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Read values with the softmax of their scores.

    Args:
        scores: [K] float32.
        values: [K, V] float32.

    Returns:
        The read [V] float32, and its weights [K] float32; without a slot, zeros.

    Source: Bahdanau et al. 2015, equations 5 and 6; Vaswani et al. 2017, equation 1.
    """
    weights = softmax(scores)
    return weights @ values, weights
