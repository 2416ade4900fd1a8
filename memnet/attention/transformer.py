"""The Transformer encoder, in the post-norm form of the original and of BERT."""

from torch import Tensor, nn

from memnet.attention.multi_head import MultiHeadAttention


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
