"""Scoring functions with weights to learn, of the same shapes as those in ``scores``."""

from torch import Tensor, nn

from memnet.attention.scores import dot_product_score


class MultiplicativeScore(nn.Module):
    """Dot products of keys and linearly mapped queries: s^T W h.

    Source: Luong et al. 2015, section 3.1 ("general").
    """

    def __init__(self, query_width: int, key_width: int) -> None:
        """Make the matrix.

        Args:
            query_width: width of a query.
            key_width: width of a key.
        """
        super().__init__()
        self.query = nn.Linear(query_width, key_width, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score every key for every query.

        Args:
            query: [..., Q, query width] float.
            keys: [..., K, key width] float.

        Returns:
            [..., Q, K] float.
        """
        return dot_product_score(self.query(query), keys)


class AdditiveScore(nn.Module):
    """A network with one hidden layer on each pair of query and key: v^T tanh(W1 h + W2 s).

    Source: Bahdanau et al. 2015, section A.1.2.
    """

    def __init__(self, query_width: int, key_width: int, inner: int) -> None:
        """Make the network.

        Args:
            query_width: width of a query.
            key_width: width of a key.
            inner: I, width of the hidden layer.
        """
        super().__init__()
        self.query = nn.Linear(query_width, inner, bias=False)
        self.key = nn.Linear(key_width, inner, bias=False)
        self.output = nn.Linear(inner, 1, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score every key for every query, by way of [..., Q, K, I] hidden values.

        Args:
            query: [..., Q, query width] float.
            keys: [..., K, key width] float.

        Returns:
            [..., Q, K] float.
        """
        hidden = self.query(query).unsqueeze(-2) + self.key(keys).unsqueeze(-3)
        scores: Tensor = self.output(hidden.tanh()).squeeze(-1)
        return scores
