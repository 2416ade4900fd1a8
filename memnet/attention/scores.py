"""Scoring functions: how well each key answers each query, before the softmax.

Each takes ``query`` [..., Q, D] and ``keys`` [..., K, D] and returns scores [..., Q, K]; leading
axes broadcast. They differ in nothing else, so any of them can stand before ``attend``. Those with
weights to learn are in ``learned_scores``.
"""

import math

import torch
from torch import Tensor


def dot_product_score(query: Tensor, keys: Tensor) -> Tensor:
    """Dot products of queries and keys.

    Args:
        query: [..., Q, D] float.
        keys: [..., K, D] float.

    Returns:
        [..., Q, K] float.

    Source: Luong et al. 2015, section 3.1 ("dot"); Sukhbaatar et al. 2015, equation 1.
    """
    return query @ keys.transpose(-1, -2)


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


def cosine_score(query: Tensor, keys: Tensor) -> Tensor:
    """Cosines of the angles between queries and keys.

    Args:
        query: [..., Q, D] float.
        keys: [..., K, D] float.

    Returns:
        [..., Q, K] float, -1..1; zero for a vector of zeros, and so is its gradient.

    Source: Graves et al. 2014, equation 6.
    """
    return dot_product_score(_unit(query), _unit(keys))


def _unit(vectors: Tensor) -> Tensor:
    """[..., D] float of length one; zeros stay zeros."""
    # Any factor leaves the direction as it is, so this one needs no gradient; with it the squares
    # neither overflow nor vanish.
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)
    empty = largest == 0
    scaled = vectors / largest.masked_fill(empty, 1.0)
    length: Tensor = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return scaled / length.masked_fill(empty, math.inf)
