"""Fixed attention: the queries are learned and the same for every memory."""

import torch
from torch import Tensor, nn

from memnet.attention.general import Attended, attend
from memnet.attention.scores import scaled_dot_product_score


class FixedAttention(nn.Module):
    """Learned queries read a memory, and what they read is joined to one vector.

    Source: Lin et al. 2017, section 2.1 (several queries); Yang et al. 2016, equation 6 (one query,
    there called the context vector). The score is the scaled dot product.
    """

    def __init__(self, width: int, queries: int) -> None:
        """Make the queries.

        Args:
            width: D, width of a key.
            queries: Q, number of queries.
        """
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, width))

    def forward(self, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Attended:
        """Read a memory with every query.

        Args:
            keys: [..., K, D] float.
            values: [..., K, V] float.
            mask: bool, broadcastable to [..., Q, K]; True where a slot may be attended to.

        Returns:
            What the queries read, one after the other [..., Q * V], and their weights [..., Q, K].
        """
        read, weights = attend(scaled_dot_product_score(self.queries, keys), values, mask)
        return Attended(read.flatten(-2), weights)
