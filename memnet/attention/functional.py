"""Attention as functions: scores, masked softmax, and the weighted read.

A scoring function takes ``query`` [..., Q, D] and ``keys`` [..., K, D] and returns scores
[..., Q, K]; leading axes broadcast. Any of them can stand before ``attend``; those with weights to
learn are in ``memnet.attention.learned``.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Attended(NamedTuple):
    """The result of one attention step."""

    read: Tensor  # [..., Q, V] float: the weighted sum of the values
    weights: Tensor  # [..., Q, K] float; rows sum to one or are zero.


def dot_product_score(query: Tensor, keys: Tensor) -> Tensor:
    """Dot products of queries [..., Q, D] and keys [..., K, D] float: [..., Q, K] float.

    Source: Luong et al. 2015, section 3.1 ("dot"); Sukhbaatar et al. 2015, equation 1.
    """
    return query @ keys.transpose(-1, -2)


def scaled_dot_product_score(query: Tensor, keys: Tensor) -> Tensor:
    """Dot products of queries [..., Q, D] and keys [..., K, D] float, over sqrt(D): [..., Q, K].

    Source: Vaswani et al. 2017, equation 1.
    """
    return (query * (1.0 / math.sqrt(query.shape[-1]))) @ keys.transpose(-1, -2)


def cosine_score(query: Tensor, keys: Tensor) -> Tensor:
    """Cosines of queries [..., Q, D] and keys [..., K, D] float: [..., Q, K] float, -1..1.

    Zero for a vector of zeros, and so is its gradient.

    Source: Graves et al. 2014, equation 6.
    """
    return dot_product_score(_unit(query), _unit(keys))


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn scores into attention weights along the last axis.

    Args:
        scores: [..., K] float. Any finite size is safe: the softmax is shifted by the row maximum.
        mask: [..., K] bool, broadcastable to ``scores``; True where a slot may be attended to.

    Returns:
        [..., K] float of the dtype of ``scores``. Each row sums to one; a row without any
        permitted slot (all masked, or K = 0) is all zeros, never NaN, and so is its gradient.

    Source: Bahdanau et al. 2015, equation 6 (the softmax of alignment scores); the convention for
    empty rows is this project's own.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    # The most negative finite number rather than -inf: an all-masked row then has an ordinary
    # softmax (and an ordinary gradient), which the last line turns into zeros.
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> Attended:
    """Read values with the softmax of their scores.

    Args:
        scores: [..., Q, K] float, from any scoring function.
        values: [..., K, V] float.
        mask: bool, broadcastable to [..., Q, K]; True where a slot may be attended to.

    Returns:
        The read [..., Q, V] and its weights [..., Q, K]; without a permitted slot, zeros.

    Source: Bahdanau et al. 2015, equations 5 and 6; Vaswani et al. 2017, equation 1.
    """
    weights = masked_softmax(scores, mask)
    return Attended(weights @ values, weights)


def _unit(vectors: Tensor) -> Tensor:
    """[..., D] float of length one; zeros stay zeros."""
    # Scaled so that the squares neither overflow nor vanish. No factor changes the direction, so
    # this one needs no gradient.
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)
    empty = largest == 0
    scaled = vectors / largest.masked_fill(empty, 1.0)
    length: Tensor = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return scaled / length.masked_fill(empty, math.inf)
