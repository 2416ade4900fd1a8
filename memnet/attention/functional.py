"""Scores of keys, given or learned, masked softmax, and weighted reads, dense or sparse."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


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


class MultiplicativeScore(nn.Module):
    """Dot products of keys and linearly mapped queries: s^T W h.

    Source: Luong et al. 2015, section 3.1 ("general").
    """

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, key_width, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """[..., Q, query width] and [..., K, key width] float -> scores [..., Q, K] float."""
        return dot_product_score(self.query(query), keys)


class AdditiveScore(nn.Module):
    """A network with one hidden layer of width I on each query and key: v^T tanh(W1 h + W2 s).

    Source: Bahdanau et al. 2015, section A.1.2.
    """

    def __init__(self, query_width: int, key_width: int, inner: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, inner, bias=False)
        self.key = nn.Linear(key_width, inner, bias=False)
        self.output = nn.Linear(inner, 1, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """[..., Q, query width] and [..., K, key width] float -> scores [..., Q, K] float.

        The hidden layer takes memory for [..., Q, K, I] values.
        """
        hidden = self.query(query).unsqueeze(-2) + self.key(keys).unsqueeze(-3)
        scores: Tensor = self.output(hidden.tanh()).squeeze(-1)
        return scores


def attend_selected(
    query: Tensor, keys: Tensor, values: Tensor, ids: Tensor, mask: Tensor
) -> Attended:
    """Read the candidates of each query, by scaled dot product.

    Gradients flow to query, keys and values, and not to the choice of candidates.

    Args:
        query: [B, Q, D] float.
        keys: [N, D] float, the memory that all questions share.
        values: [N, V] float.
        ids: [B, Q, C] int64, candidates of each query as rows of ``keys``; of duplicates only the
            first counts.
        mask: [B, Q, C] bool; True where an id is real. Other ids may be any number.

    Returns:
        The read [B, Q, V] and the weights of the candidates [B, Q, C]; without one, zeros.

    Source: Rae et al. 2016, section 3.1 (sparse reads); Lample et al. 2019, equation 2 (a softmax
    over the selected slots only).
    """
    real = _first_of_each(ids, mask)
    rows = ids.masked_fill(~real, 0)
    if not len(keys):  # no id is real, but masked ids still index row 0
        keys, values = keys.new_zeros(1, keys.shape[1]), values.new_zeros(1, values.shape[1])
    scores = scaled_dot_product_score(query.unsqueeze(-2), keys[rows])
    read, weights = attend(scores, values[rows], real.unsqueeze(-2))
    return Attended(read.squeeze(-2), weights.squeeze(-2))


def kept_mass(scores: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """The share of full attention that falls on the candidates of sparse attention.

    Args:
        scores: [..., N] float, of every slot.
        ids: [..., C] int64, candidates as indices of ``scores``; duplicates count once.
        mask: [..., C] bool; True where an id is real. Other ids may be any number.

    Returns:
        [...] float, 0..1.

    Source: the weights are those of Vaswani et al. 2017, equation 1; their sum over candidates is
    this project's own measure.
    """
    real = _first_of_each(ids, mask)
    kept = masked_softmax(scores).gather(-1, ids.masked_fill(~real, 0))
    return kept.masked_fill(~real, 0.0).sum(dim=-1)


def _first_of_each(ids: Tensor, mask: Tensor) -> Tensor:
    """[..., C] bool: True for the first occurrence of each real id of ``ids`` [..., C] int64."""
    ordered, order = ids.masked_fill(~mask, -1).sort(dim=-1, stable=True)
    is_new = torch.diff(ordered, prepend=ordered[..., :1] - 1) != 0
    return mask & torch.zeros_like(mask).scatter(-1, order, is_new)
