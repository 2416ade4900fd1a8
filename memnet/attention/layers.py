"""Attention as layers: fixed, multi-head, the Transformer encoder, and hops over one memory."""

import torch
from torch import Tensor, nn

from memnet.attention.functional import Attended, attend, scaled_dot_product_score


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


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection of queries, keys and values.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, width: int, heads: int) -> None:
        """Make the projections.

        Args:
            width: D, width of queries, keys, values and of the result.
            heads: H, which must divide D.

        Raises:
            ValueError: ``heads`` does not divide ``width``.
        """
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
        """Attend with every head and join what the heads read.

        Args:
            query: [B, Q, D] float.
            keys: [B, K, D] float.
            values: [B, K, D] float.
            mask: bool, broadcastable to [B, Q, K]; True where a slot may be attended to.
            bias: float, broadcastable to [B, H, Q, K]; added to the scores, so that a head can
                prefer slots for what the keys don't hold, such as their distance (Press et al.
                2022, section 3).

        Returns:
            The read [B, Q, D] and the weights of each head [B, H, Q, K].
        """
        scores = scaled_dot_product_score(
            self._split(self.query(query)), self._split(self.key(keys))
        )
        if mask is not None:
            mask = mask.expand(query.shape[0], query.shape[1], keys.shape[1]).unsqueeze(1)
        attended = attend(
            scores if bias is None else scores + bias,
            self._split(self.value(values)),
            mask,
        )
        joined = attended.read.transpose(1, 2).flatten(2)
        return Attended(self.output(joined), attended.weights)

    def _split(self, projected: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, D / H]."""
        batch, tokens, width = projected.shape
        split = projected.view(batch, tokens, self.heads, width // self.heads)
        return split.transpose(1, 2)


class TransformerLayer(nn.Module):
    """Self-attention, then a two-layer network on each token, each with a residual and a norm.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (dropout); GELU and the norm's epsilon as in
    Devlin et al. 2019.
    """

    def __init__(
        self, width: int, heads: int, inner: int, epsilon: float = 1e-12, dropout: float = 0.0
    ) -> None:
        """Make one layer.

        Args:
            width: D, width of a token.
            heads: H, number of attention heads.
            inner: width of the hidden layer of the token-wise network.
            epsilon: added to the variance in both layer norms.
            dropout: share of what attention and network give that training leaves out.
        """
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=epsilon)
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)
        self.output_norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every token attend to every other.

        Args:
            tokens: [B, T, D] float.
            mask: bool, broadcastable to [B, T, T]; True where a token may be attended to.

        Returns:
            [B, T, D] float.
        """
        return self.update(tokens, self.attention(tokens, tokens, tokens, mask).read)

    def update(self, tokens: Tensor, read: Tensor) -> Tensor:
        """What tokens become once they have read.

        Args:
            tokens: [B, T, D] float.
            read: [B, T, D] float, what each of them read.

        Returns:
            [B, T, D] float.
        """
        tokens = self.attention_norm(tokens + self.dropout(read))
        hidden = nn.functional.gelu(self.expand(tokens))
        output: Tensor = self.output_norm(tokens + self.dropout(self.contract(hidden)))
        return output


class TransformerEncoder(nn.Module):
    """A stack of Transformer layers.

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
        """Make ``layers`` layers; the other arguments are those of ``TransformerLayer``."""
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerLayer(width, heads, inner, epsilon, dropout) for _ in range(layers)
        )

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pass [B, T, D] tokens through every layer; shapes and mask as in ``TransformerLayer``."""
        for layer in self.layers:
            tokens = layer(tokens, mask)
        return tokens


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
