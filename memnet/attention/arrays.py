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
    """Attention weights [K] float32 of scores [K] float32 of any finite size, by the softmax.

    ``mask`` [K] bool is True where a slot may be attended to; None for all. The weights sum to one,
    and are zeros where there is nothing to attend to.

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

    Of scores [E] float32, masked by [E] bool, the ``kept`` largest get weights [E] float32 that sum
    to one, of equal ones the first; the others get zero.

    Source: Shazeer et al. 2017, equations 3 and 5 (KeepTopK).
    """
    order = np.argsort(np.where(mask, -scores, np.inf), kind="stable")[: min(kept, mask.sum())]
    chosen = np.zeros(len(scores), np.bool_)
    chosen[order] = True
    return softmax(scores, chosen)
