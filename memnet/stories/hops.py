"""The hops over a story: sentences and questions read what came before, until all have halted."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention.reading import read_in_hops
from memnet.stories.controller import Halting, Reach, StoryHop, StoryState

_HALTED = 0.001
"""Probability of going on below which a question counts as halted."""


class StoryTrace(NamedTuple):
    """What the hops over a batch of stories gave. H hops were made."""

    questions: Tensor
    """[B, Q, D] float32: the mean of the query states, by the probability of halting at each."""
    slots: Tensor
    """[B, N, D] float32: the sentences after the first hop, which is the one that all questions
    make."""
    weights: Tensor
    """[B, H, Q, N] float32: what each hop attended to, the mean over heads."""
    halting: Tensor
    """[B, H, Q] float32: the probability of halting after each hop; sums to one over hops."""


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
            hops: most hops.
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
        within: Reach,
        most: int | None = None,
        halting: bool = True,
    ) -> StoryTrace:
        """Hop until every question has halted, while training always to the end.

        Args:
            state: sentences and questions as encoded.
            within: what may be attended to.
            most: most hops; None for as many as there are.
            halting: whether questions may halt before the last hop.
        """
        reading = _Reading(
            state, torch.zeros_like(state.questions), torch.ones_like(state.questions[..., 0])
        )
        most = len(self.steps) if most is None else min(most, len(self.steps))

        def hop(reading: _Reading, number: int) -> tuple[_Step, _Reading]:
            last = number == most - 1
            return self._hop(reading, within, number, halting, last)

        steps, reading = read_in_hops(reading, hop, self._halted, most)
        return StoryTrace(
            reading.answers,
            self.norm(steps[0].slots),
            torch.stack([step.weights for step in steps], dim=1),
            torch.stack([step.halting for step in steps], dim=1),
        )

    def _hop(
        self, reading: "_Reading", within: Reach, number: int, halting: bool, last: bool
    ) -> tuple["_Step", "_Reading"]:
        before = StoryState(*(rows + self.steps[number] for rows in reading.state))
        state, weights = self.hops[number % len(self.hops)](before, within)
        questions = self.norm(state.questions)
        if last:
            halts = reading.going_on
        elif halting:
            halts = reading.going_on * self.halting(questions)
        else:
            halts = torch.zeros_like(reading.going_on)
        answers = reading.answers + halts.unsqueeze(-1) * questions
        step = _Step(state.slots, weights.mean(dim=1), halts)
        return step, _Reading(state, answers, reading.going_on - halts)

    def _halted(self, _: "_Reading", after: "_Reading") -> bool:
        return not self.training and bool((after.going_on < _HALTED).all())


class _Reading(NamedTuple):
    """What passes from hop to hop."""

    state: StoryState
    answers: Tensor
    """[B, Q, D] float32: the sum of the query states so far, by the probability of halting."""
    going_on: Tensor
    """[B, Q] float32: the probability that a question has not halted yet."""


class _Step(NamedTuple):
    """What one hop gave."""

    slots: Tensor
    """[B, N, D] float32."""
    weights: Tensor
    """[B, Q, N] float32."""
    halting: Tensor
    """[B, Q] float32: the probability of halting after it."""
