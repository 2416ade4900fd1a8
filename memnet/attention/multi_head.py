"""Multi-head attention."""

from torch import Tensor, nn

from memnet.attention.general import Attended, attend
from memnet.attention.scores import scaled_dot_product_score


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
