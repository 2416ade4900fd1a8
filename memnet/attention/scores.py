"""Scoring functions: how well each key answers each query, before the softmax.

Each takes ``query`` [..., Q, D] and ``keys`` [..., K, D] and returns scores [..., Q, K]; leading
axes broadcast. They differ in nothing else, so any of them can stand before ``attend``.
"""

import math

from torch import Tensor


def scaled_dot_product_score(query: Tensor, keys: Tensor) -> Tensor:
    """Dot products of queries and keys over the square root of their width.

    Args:
        query: [..., Q, D] float.
        keys: [..., K, D] float.

    Returns:
        [..., Q, K] float.

    Source: Vaswani et al. 2017, equation 1.
    """
    return (query * (1.0 / math.sqrt(query.shape[-1]))) @ keys.transpose(-1, -2)
