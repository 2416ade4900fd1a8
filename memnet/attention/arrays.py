"""Attention of one query over arrays: what the hops over a store do, where nothing is learned.

The same as ``attend`` does with tensors, without torch, whose import takes longer than an answer.
"""

import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Attention weights [K] float32 of scores [K] float32, any finite size of which is safe.

    Source: Bahdanau et al. 2015, equation 6.
    """
    exponentials = np.exp(scores - scores.max(initial=-np.inf))
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
