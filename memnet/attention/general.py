"""General attention: scores become weights, weights read values."""

from typing import NamedTuple

from torch import Tensor

from memnet.attention.softmax import masked_softmax


class Attended(NamedTuple):
    """What one attention step gives."""

    read: Tensor
    """[..., Q, V] float: the weighted sum of the values."""
    weights: Tensor
    """[..., Q, K] float: the share of each slot; rows sum to one or are zero."""


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
