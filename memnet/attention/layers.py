"""Attention as layers: fixed, multi-head, the Transformer encoder, and hops over one memory."""

import torch
from torch import Tensor, nn

from memnet.attention.functional import Attended, attend, scaled_dot_product_score


class FixedAttention(nn.Module):
    """Q learned queries of width D read a memory; what they read is concatenated.

    Source: Lin et al. 2017, section 2.1 (several queries); Yang et al. 2016, equation 6 (one query,
    there called the context vector). The score is the scaled dot product.
    """

    def __init__(self, width: int, queries: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, width))

    def forward(self, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Attended:
        """Read a memory with every query.

        Args:
            keys: [..., K, D] float.
            values: [..., K, V] float.
            mask: bool, broadcastable to [..., Q, K]; True where a slot may be attended to.

        Returns:
            The concatenated reads [..., Q * V] and the weights [..., Q, K].
        """
        read, weights = attend(scaled_dot_product_score(self.queries, keys), values, mask)
        return Attended(read.flatten(-2), weights)


class MultiHeadAttention(nn.Module):
    """H attention heads, each on its own projection of queries, keys and values of width D.

    Source: Vaswani et al. 2017, section 3.2.2.

    Raises:
        ValueError: ``heads`` does not divide ``width``.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"width {width} can't be split into {heads} heads of equal size")
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Attended:
        """Attend with every head.

        Args:
            query: [B, Q, D] float.
            keys: [B, K, D] float.
            values: [B, K, D] float.
            mask: bool, broadcastable to [B, Q, K]; True where a slot may be attended to.
            bias: float, broadcastable to [B, H, Q, K]; added to the scores, such as for the
                distance of slots (Press et al. 2022, section 3).

        Returns:
            The read [B, Q, D] and the weights of each head [B, H, Q, K].
        """
        scores = scaled_dot_product_score(
            self._split(self.query(query)), self._split(self.key(keys))
        )
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            mask = mask.expand(query.shape[0], query.shape[1], keys.shape[1]).unsqueeze(1)
        read, weights = attend(scores, self._split(self.value(values)), mask)
        return Attended(self.output(read.transpose(1, 2).flatten(2)), weights)

    def read(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """The read of ``forward`` by a kernel that keeps no weights; arguments as there: [B, Q, D].

        Source: Dao et al. 2022 (attention without a stored matrix of weights).
        """
        empty = None
        if mask is not None:
            # The kernel gives NaN, and gradients of NaN, for a row without any permitted slot.
            empty = ~mask.any(dim=-1, keepdim=True)
            mask = (mask | empty).unsqueeze(1)
        queries = self._split(self.query(query))
        keys, values = self._split(self.key(keys)), self._split(self.value(values))
        if queries.dtype == torch.bfloat16 and queries.device.type == "cpu":
            # The processor's kernel takes twice as long in bfloat16.
            queries, keys, values = queries.float(), keys.float(), values.float()
        with torch.autocast("cpu", enabled=False):
            read = nn.functional.scaled_dot_product_attention(queries, keys, values, mask)
        if empty is not None:
            read = read.masked_fill(empty.unsqueeze(1), 0.0)
        output: Tensor = self.output(read.transpose(1, 2).flatten(2))
        return output

    def _split(self, projected: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, D / H]."""
        batch, tokens, width = projected.shape
        return projected.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)


class TransformerLayer(nn.Module):
    """Self-attention, then a two-layer network on each token, each with a residual and a norm.

    Post-norm, as in the original and in BERT.

    Args:
        width: D, width of a token.
        heads: H, number of attention heads.
        inner: width of the hidden layer of the token-wise network.
        epsilon: added to the variance in both layer norms.
        dropout: probability of zeroing the outputs of attention and network in training.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (dropout); GELU and the norm's epsilon as in
    Devlin et al. 2019.
    """

    def __init__(
        self, width: int, heads: int, inner: int, epsilon: float = 1e-12, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=epsilon)
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)
        self.output_norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, T, D] float -> [B, T, D] float.

        ``mask`` is bool, broadcastable to [B, T, T]; True where a token may be attended to.
        """
        return self.update(tokens, self.attention.read(tokens, tokens, tokens, mask))

    def update(self, tokens: Tensor, read: Tensor) -> Tensor:
        """All that follows the attention, which read [B, T, D] for tokens [B, T, D]: [B, T, D]."""
        tokens = self.attention_norm(tokens + self.dropout(read))
        hidden = nn.functional.gelu(self.expand(tokens))
        output: Tensor = self.output_norm(tokens + self.dropout(self.contract(hidden)))
        return output


class TransformerEncoder(nn.Module):
    """A stack of Transformer layers; arguments as for ``TransformerLayer``.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        inner: int,
        epsilon: float = 1e-12,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerLayer(width, heads, inner, epsilon, dropout) for _ in range(layers)
        )

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, T, D] float -> [B, T, D] float; ``mask`` as in ``TransformerLayer``."""
        for layer in self.layers:
            tokens = layer(tokens, mask)
        return tokens


class HopLayer(nn.Module):
    """A Transformer layer whose queries read a memory rather than each other.

    Source: Sukhbaatar et al. 2015, equation 4 (the query's update); Vaswani et al. 2017, section
    3.1 (norm and token-wise network).
    """

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.layer = TransformerLayer(width, heads, inner)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Attended:
        """Read once; shapes as in ``MultiHeadAttention``, but the read is the updated query."""
        attended = self.layer.attention(query, keys, values, mask)
        return Attended(self.layer.update(query, attended.read), attended.weights)


class MultiLayerAttention(nn.Module):
    """L hops over one memory: the read of a layer updates the query of the next.

    ``shared`` uses the same weights in all hops; the other arguments are as for
    ``TransformerLayer``.

    Source: Sukhbaatar et al. 2015, section 2.2 (layers, and their layer-wise weight sharing).
    """

    def __init__(
        self, layers: int, width: int, heads: int, inner: int, shared: bool = False
    ) -> None:
        super().__init__()
        distinct = 1 if shared else layers
        self.layers = nn.ModuleList(HopLayer(width, heads, inner) for _ in range(distinct))
        self.rounds = layers // distinct

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Attended:
        """Read a memory L times; arguments as in ``MultiHeadAttention``.

        Returns:
            The query after the last hop [B, Q, D] and the weights of all hops [B, L, H, Q, K].
        """
        weights: list[Tensor] = []
        for _ in range(self.rounds):
            for layer in self.layers:
                query, hop_weights = layer(query, keys, values, mask)
                weights.append(hop_weights)
        return Attended(query, torch.stack(weights, dim=1))
