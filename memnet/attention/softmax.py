"""Softmax over scores, safe for large scores, masked slots and rows with nothing to attend to."""

import torch
from torch import Tensor


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
