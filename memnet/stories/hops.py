"""Hops over a story: sentences and questions read what came before, until all have halted."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention import MultiHeadAttention

_MIN_CONTINUING = 0.001
"""Probability of going on below which a question has halted."""


class StoryState(NamedTuple):
    """What a hop starts from and ends with."""

    slots: Tensor
    """[B, N, D] float32: sentences, with what they have read of earlier ones."""
    questions: Tensor
    """[B, Q, D] float32: query states."""


class CausalMask(NamedTuple):
    """What may be attended to from where: rows are the N slots, then the Q questions."""

    mask: Tensor
    """[B, N + Q, N] bool: a sentence sees itself and those before it, a question those before."""
    distance: Tensor
    """[B, N + Q, N] float32: how many sentences ago; zero where masked."""


def causal_mask(is_sentence: Tensor, after: Tensor) -> CausalMask:
    """What the sentences and questions of stories may attend to.

    Args:
        is_sentence: [B, N] bool; False where padded.
        after: [B, Q] int64: how many sentences come before each question.
    """
    number = torch.arange(is_sentence.shape[1], device=is_sentence.device)
    last = torch.cat([number.expand(is_sentence.shape), after - 1], dim=1)
    ago = last.unsqueeze(2) - number
    return CausalMask((ago >= 0) & is_sentence.unsqueeze(1), ago.clamp(min=0).float())


class StoryTrace(NamedTuple):
    """The H hops over a batch of stories."""

    questions: Tensor
    """[B, Q, D] float32: the mean of the query states, by the probability of halting at each."""
    slots: Tensor
    """[B, N, D] float32: the sentences after the first hop, the only one that all questions
    make."""
    weights: Tensor
    """[B, H, Q, N] float32: attention of each hop, the mean over heads."""
    halting: Tensor
    """[B, H, Q] float32: the probability of halting after each hop; sums to one over hops."""


class StoryHop(nn.Module):
    """One hop: sentences and questions attend to what came before, and are updated by the read.

    Each head has a learned preference for recent sentences, so that "the last one that matches" is
    easily learned.

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

    def forward(self, state: StoryState, causal: CausalMask) -> tuple[StoryState, Tensor]:
        """Read and update once.

        Returns:
            The next state, and the weights of the questions [B, Q, N], the mean over heads.
        """
        count = state.slots.shape[1]
        rows = torch.cat([state.slots, state.questions], dim=1)
        normed = self.attention_norm(rows)
        slots = normed[:, :count]
        bias = -self.recency.exp().view(1, -1, 1, 1) * causal.distance.unsqueeze(1)
        read, weights = self.attention(normed, slots, slots, causal.mask, bias)
        rows = rows + read
        rows = rows + self.contract(nn.functional.gelu(self.expand(self.update_norm(rows))))
        return StoryState(rows[:, :count], rows[:, count:]), weights[:, :, count:].mean(dim=1)


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


class StoryHops(nn.Module):
    """Reads a story in as many hops as its questions need.

    Source: Dehghani et al. 2019, section 2 (one block applied in turn to all positions, with the
    number of the step); Banino et al. 2021, section 2 (halting).
    """

    def __init__(self, width: int, heads: int, inner: int, hops: int, blocks: int) -> None:
        """Make the hops.

        Args:
            width: D, width of slots and query states.
            heads: attention heads of a hop.
            inner: width of the hidden layer of a hop's token-wise network.
            hops: H, the maximum.
            blocks: hops with weights of their own; they take turns.
        """
        super().__init__()
        self.hops = nn.ModuleList(StoryHop(width, heads, inner) for _ in range(blocks))
        self.steps = nn.Parameter(torch.randn(hops, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.halting = Halting(width)

    def forward(
        self,
        state: StoryState,
        causal: CausalMask,
        max_hops: int | None = None,
        may_halt: bool = True,
    ) -> StoryTrace:
        """Hop until every question has halted, while training always to the end.

        Args:
            state: sentences and questions as encoded.
            causal: what may be attended to.
            max_hops: None for as many as there are.
            may_halt: whether questions may halt before the last hop.
        """
        count = len(self.steps) if max_hops is None else min(max_hops, len(self.steps))
        continuing = torch.ones_like(state.questions[..., 0])
        answers = torch.zeros_like(state.questions)
        first_slots = state.slots
        weights: list[Tensor] = []
        halting: list[Tensor] = []
        for hop in range(count):
            before = StoryState(*(rows + self.steps[hop] for rows in state))
            state, attention = self.hops[hop % len(self.hops)](before, causal)
            questions = self.norm(state.questions)
            if hop == count - 1:
                halts = continuing
            elif may_halt:
                halts = continuing * self.halting(questions)
            else:
                halts = torch.zeros_like(continuing)
            answers = answers + halts.unsqueeze(-1) * questions
            continuing = continuing - halts
            first_slots = state.slots if hop == 0 else first_slots
            weights.append(attention)
            halting.append(halts)
            if not self.training and bool((continuing < _MIN_CONTINUING).all()):
                break
        return StoryTrace(
            answers,
            self.norm(first_slots),
            torch.stack(weights, dim=1),
            torch.stack(halting, dim=1),
        )
