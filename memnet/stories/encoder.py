"""A small sentence encoder that is trained with the model it serves."""

import torch
from torch import Tensor, nn

from memnet.attention import FixedAttention
from memnet.stories.vocabulary import PADDING


class SentenceEncoder(nn.Module):
    """Words to one vector a sentence: fixed attention over words and their places.

    Each learned query picks a role out of a sentence ("who", "what", "where to"); a two-layer
    network joins what the queries read. Sentences that are equal are encoded once.

    Source: Lin et al. 2017 (a sentence as the reads of several learned queries); Sukhbaatar et al.
    2015, section 4.1 (the place of a word as part of its meaning).
    """

    def __init__(self, words: int, width: int, queries: int, longest: int) -> None:
        """Make the encoder.

        Args:
            words: size of the vocabulary.
            width: D, width of words and of the result.
            queries: number of learned queries.
            longest: words of the longest sentence; what comes after is not seen.
        """
        super().__init__()
        self.longest = longest
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        nn.init.normal_(self.words.weight, std=0.1)
        self.places = nn.Parameter(torch.randn(longest, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.values = nn.Linear(width, width // 2)
        self.attention = FixedAttention(width, queries)
        self.join = nn.Linear(queries * (width // 2), width)
        self.join_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 2 * width)
        self.contract = nn.Linear(2 * width, width)

    def forward(self, sentences: Tensor) -> Tensor:
        """Encode sentences.

        Args:
            sentences: [S, T] int64, padded with ``PADDING``, T at most ``longest``.

        Returns:
            [S, D] float32; one vector of no meaning for a sentence without words.
        """
        distinct, places = torch.unique(sentences, dim=0, return_inverse=True)
        words = self.norm(self.words(distinct) + self.places[: distinct.shape[1]])
        mask = (distinct != PADDING).unsqueeze(1)
        joined = self.join(self.attention(words, self.values(words), mask).read)
        hidden = nn.functional.gelu(self.expand(self.join_norm(joined)))
        encoded: Tensor = joined + self.contract(hidden)
        return encoded[places]
