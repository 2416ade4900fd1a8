"""Sparse attention: an index picks a few slots of a large memory, attention reads only those."""

import torch
from torch import Tensor

from memnet.attention.general import Attended, attend
from memnet.attention.scores import scaled_dot_product_score
from memnet.attention.softmax import masked_softmax


def attend_selected(
    query: Tensor, keys: Tensor, values: Tensor, ids: Tensor, mask: Tensor
) -> Attended:
    """Read the candidates of each query, by scaled dot product.

    The candidates may come from anywhere and pass no gradient; query, keys and values get theirs.

    Args:
        query: [B, Q, D] float.
        keys: [N, D] float, the memory that all questions share.
        values: [N, V] float.
        ids: [B, Q, C] int64, candidates of each query as rows of ``keys``; one named again counts
            where it stands first.
        mask: [B, Q, C] bool; True where an id is real. Other ids may be any number.

    Returns:
        The read [B, Q, V] and the weights of the candidates [B, Q, C]; without one, zeros.

    Source: Rae et al. 2016, section 3.1 (sparse reads); Lample et al. 2019, equation 2 (a softmax
    over the selected slots only).
    """
    real = _first_of_each(ids, mask)
    rows = ids.masked_fill(~real, 0)
    if not len(keys):  # then no id is real, but rows have to be there to be passed over
        keys, values = keys.new_zeros(1, keys.shape[1]), values.new_zeros(1, values.shape[1])
    scores = scaled_dot_product_score(query.unsqueeze(-2), keys[rows])
    read, weights = attend(scores, values[rows], real.unsqueeze(-2))
    return Attended(read.squeeze(-2), weights.squeeze(-2))


def kept_mass(scores: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """The share of full attention that falls on the candidates: what sparse attention keeps.

    Args:
        scores: [..., N] float, of every slot.
        ids: [..., C] int64, candidates as places in ``scores``; one named again counts once.
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
    """Where each real id stands first, of [..., C] int64 and bool: [..., C] bool."""
    ordered, places = ids.masked_fill(~mask, -1).sort(dim=-1, stable=True)
    new = torch.diff(ordered, prepend=ordered[..., :1] - 1) != 0
    return mask & torch.zeros_like(mask).scatter(-1, places, new)
