"""The story controller: a learned hop over the sentences of a story, and when to stop."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention import MultiHeadAttention


class StoryState(NamedTuple):
    """What a hop starts from and ends with."""

    slots: Tensor
    """[B, N, D] float32: sentences, with what they have read of earlier ones."""
    questions: Tensor
    """[B, Q, D] float32: query states."""


class Reach(NamedTuple):
    """What may be attended to from where: rows are the N slots, then the Q questions."""

    mask: Tensor
    """[B, N + Q, N] bool: a sentence reaches itself and what came before, a question all that came
    before it."""
    distance: Tensor
    """[B, N + Q, N] float32: how many sentences ago; zero where not permitted."""


def reach(sentences: Tensor, after: Tensor) -> Reach:
    """What the sentences and questions of stories may attend to.

    Args:
        sentences: [B, N] bool: which places hold a sentence.
        after: [B, Q] int64: how many sentences come before each question.
    """
    number = torch.arange(sentences.shape[1], device=sentences.device)
    own = number.expand(sentences.shape)
    last = torch.cat([own, after - 1], dim=1)
    ago = last.unsqueeze(2) - number
    mask = (ago >= 0) & sentences.unsqueeze(1)
    return Reach(mask, ago.clamp(min=0).float())


class StoryHop(nn.Module):
    """One hop: sentences and questions attend to what came before, and are updated by the read.

    Each head has a learned liking for recent sentences, so that "the last one that matches" is
    easily learned. All hops may share one ``StoryHop``.

    Source: Sukhbaatar et al. 2015, section 2.2 (the hop); Dehghani et al. 2019, section 2.1 (one
    block for slots and query, applied again and again); Press et al. 2022, section 3 (distance as a
    bias of the score), here with learned slopes.
    """

    def __init__(self, width: int, heads: int, inner: int) -> None:
        """Make a hop of ``heads`` heads on vectors of ``width``, ``inner`` wide inside."""
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads)
        self.recency = nn.Parameter(torch.linspace(-8.0, 0.0, heads))
        self.update_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)

    def forward(self, state: StoryState, within: Reach) -> tuple[StoryState, Tensor]:
        """Read and update once.

        Returns:
            The next state, and the weights of the questions [B, H, Q, N].
        """
        rows = torch.cat([state.slots, state.questions], dim=1)
        normed = self.attention_norm(rows)
        slots = normed[:, : state.slots.shape[1]]
        bias = -self.recency.exp().view(1, -1, 1, 1) * within.distance.unsqueeze(1)
        read, weights = self.attention(normed, slots, slots, within.mask, bias)
        rows = rows + read
        rows = rows + self.contract(nn.functional.gelu(self.expand(self.update_norm(rows))))
        count = state.slots.shape[1]
        return StoryState(rows[:, :count], rows[:, count:]), weights[:, :, count:]


class Halting(nn.Module):
    """How probable it is that a question has read enough.

    Source: Banino et al. 2021, equations 2 and 3 (the conditional probability of halting); Graves
    2016 (the answer's state as the mean under these probabilities).
    """

    def __init__(self, width: int) -> None:
        """Make the unit; untrained, it halts at a hop with probability 0.007."""
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.constant_(self.score.bias, -5.0)

    def forward(self, questions: Tensor) -> Tensor:
        """Probability [B, Q] float32 of halting now, for query states [B, Q, D]."""
        probability: Tensor = torch.sigmoid(self.score(questions)).squeeze(-1)
        return probability
