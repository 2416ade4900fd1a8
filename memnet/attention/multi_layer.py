"""Multi-layer attention: queries read the same memory again and again, each time a hop further."""

import torch
from torch import Tensor, nn

from memnet.attention.general import Attended
from memnet.attention.transformer import TransformerLayer


class HopLayer(nn.Module):
    """A Transformer layer whose queries read a memory rather than each other.

    Source: Sukhbaatar et al. 2015, equation 4 (the query's update); Vaswani et al. 2017, section
    3.1 (norm and token-wise network).
    """

    def __init__(self, width: int, heads: int, inner: int) -> None:
        """Make one layer; the arguments are those of ``TransformerLayer``."""
        super().__init__()
        self.layer = TransformerLayer(width, heads, inner)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Attended:
        """Read once; shapes as in ``MultiHeadAttention``, but the read is the updated query."""
        attended = self.layer.attention(query, keys, values, mask)
        return Attended(self.layer.update(query, attended.read), attended.weights)


class MultiLayerAttention(nn.Module):
    """Hops over one memory: what a layer reads decides what the next one looks for.

    Source: Sukhbaatar et al. 2015, section 2.2 (layers, and their layer-wise weight sharing).
    """

    def __init__(
        self, layers: int, width: int, heads: int, inner: int, shared: bool = False
    ) -> None:
        """Make the layers.

        Args:
            layers: L, number of hops.
            width: D, width of queries, keys and values.
            heads: H, number of attention heads.
            inner: width of the hidden layer of the token-wise network.
            shared: whether all hops use the same weights.
        """
        super().__init__()
        own = 1 if shared else layers
        self.layers = nn.ModuleList(HopLayer(width, heads, inner) for _ in range(own))
        self.rounds = layers // own

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Attended:
        """Read a memory L times.

        Args:
            query: [B, Q, D] float.
            keys: [B, K, D] float.
            values: [B, K, D] float.
            mask: bool, broadcastable to [B, Q, K]; True where a slot may be attended to.

        Returns:
            The query after the last hop [B, Q, D] and the weights of all hops [B, L, H, Q, K].
        """
        weights: list[Tensor] = []
        for _ in range(self.rounds):
            for layer in self.layers:
                query, hop_weights = layer(query, keys, values, mask)
                weights.append(hop_weights)
        return Attended(query, torch.stack(weights, dim=1))
