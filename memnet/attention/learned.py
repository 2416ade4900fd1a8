"""Attention that only users of the library need: learned scores, and sparse reads."""

import torch
from torch import Tensor, nn

from memnet.attention.functional import (
    Attended,
    attend,
    dot_product_score,
    masked_softmax,
    scaled_dot_product_score,
)


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
