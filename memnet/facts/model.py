"""The fact model: from a question to the entities that facts lead to."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from memnet.config import Settings
from memnet.encoders import MENTION, TokenStates
from memnet.facts.controller import FactController, MentionBatch
from memnet.facts.hops import Entities, FactHops, FactTrace
from memnet.facts.linking import LinkedQuestion, Mention
from memnet.facts.memory import FactMemory

_FAINTEST = 1e-3
"""Weight of an entity that a chain does not reach at all: several mentions are a conjunction, but
one that leads nowhere may not rule out everything."""


class FactModelConfig(Settings):
    """The sizes of a fact model."""

    width: int = Field(default=128, ge=1, le=4096)
    heads: int = Field(default=4, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=3, ge=1, le=100)
    """Most relations in a row."""
    mentions: int = Field(default=4, ge=1, le=100)
    """Most names of a question to start from."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """While training, of encoded tokens and of what is learned about relations."""


class AnswerRule(NamedTuple):
    """Which of the entities that are reached are answers."""

    threshold: float
    """An entity is one when its weight is at least this share of the best."""
    floor: float
    """Weight of the best below which the memory is held not to know."""


class Chain(NamedTuple):
    """A question as seen from one name in it."""

    name: str
    """What the memory calls it; of several, the first."""
    text: str
    """Its words, with ``MENTION`` for the name and for others that mean nothing by themselves."""
    own: int
    """Which ``MENTION`` in the text is the name that the chain starts from."""
    start: Mapping[int, float]
    """The entities that the name stands for, with weights that sum to one."""


class FactBatch(NamedTuple):
    """Questions about facts. B questions, C chains."""

    mentions: MentionBatch
    start: Entities
    question: Tensor
    """[C] int64, rising: the question of each chain."""


class FactScores(NamedTuple):
    """The entities that the questions of a batch lead to, A in all."""

    question: Tensor
    """[A] int64, rising."""
    entity: Tensor
    """[A] int64, rising within a question."""
    weight: Tensor
    """[A] float32, 0..1: how surely the entity is an answer."""


class FactModel(nn.Module):
    """Answers questions over facts.

    Each name in a question starts a chain of hops. The weight of an answer is the geometric mean of
    its weights in the chains, by the importance of their names: a conjunction.
    """

    def __init__(
        self, config: FactModelConfig, encoded: int, relations: Sequence[str],
        familiar: frozenset[str] = frozenset(), idle: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Make a model with untrained weights.

        Args:
            config: sizes.
            encoded: width of an encoded token.
            relations: what names the relations that training sees, in the order of their numbers.
            familiar: names that so many questions hold that they are read as words as well, such
                as "director".
            idle: those of the familiar names that no answer was ever found from: they start no
                chain where a question has another name.
        """
        super().__init__()
        self.config = config
        self.relations = tuple(relations)
        self.familiar = familiar
        self.idle = idle
        self.controller = FactController(
            encoded, config.width, config.heads, config.inner, config.hops, len(relations),
            config.dropout,
        )  # fmt: skip

    def known(self) -> dict[str, int]:
        """The number of each relation that training saw."""
        return {name: number for number, name in enumerate(self.relations, start=1)}

    def forward(
        self, batch: FactBatch, memory: FactMemory, budget: int, hops: int | None = None
    ) -> tuple[FactScores, FactTrace]:
        """Follow facts.

        Args:
            batch: questions.
            memory: facts.
            budget: as for ``FactHops``.
            hops: most hops; None for the model's own number.
        """
        most = self.config.hops if hops is None else min(hops, self.config.hops)
        trace = FactHops(self.controller, most, budget).run(batch.mentions, batch.start, memory)
        return _scores(trace, batch.question), trace

    def chains(self, linked: LinkedQuestion, entities: Mapping[str, int]) -> list[Chain]:
        """A question as seen from each of the names in it, as far as they are entities."""
        known = [
            mention
            for mention in linked.mentions
            if any(name in entities for name in mention.names)
        ]
        busy = [mention for mention in known if self.idle.isdisjoint(mention.names)]
        mentions = (busy or known)[: self.config.mentions]
        return [self._chain(linked.words, mentions, own, entities) for own in range(len(mentions))]

    def _chain(
        self, words: Sequence[str], mentions: Sequence[Mention], own: int,
        entities: Mapping[str, int],
    ) -> Chain:  # fmt: skip
        text: list[str] = []
        at, hidden, place = 0, 0, 0
        for number, mention in enumerate(mentions):
            text += words[at : mention.start]
            if number == own or self.familiar.isdisjoint(mention.names):
                place = hidden if number == own else place
                hidden += 1
                text.append(MENTION)
            else:
                text += words[mention.start : mention.end]
            at = mention.end
        start = {
            entities[name]: weight
            for name, weight in mentions[own].names.items()
            if name in entities
        }
        return Chain(min(mentions[own].names), " ".join([*text, *words[at:]]), place, start)


def fact_batch(
    questions: Sequence[Sequence[Chain]], encoded: Mapping[str, TokenStates]
) -> FactBatch:
    """Questions as a batch.

    Args:
        questions: the chains of each; some may have none.
        encoded: the tokens of each text of a chain.
    """
    chains = [chain for question in questions for chain in question]
    states = [encoded[chain.text] for chain in chains]
    longest = max(len(state.states) for state in states)
    tokens = torch.zeros(len(chains), longest, states[0].states.shape[1])
    mask = torch.zeros(len(chains), longest, dtype=torch.bool)
    role = torch.zeros(len(chains), longest, dtype=torch.int64)
    distance = torch.arange(longest).repeat(len(chains), 1)
    for row, (chain, state) in enumerate(zip(chains, states, strict=True)):
        tokens[row, : len(state.states)] = torch.from_numpy(state.states)
        mask[row, : len(state.states)] = True
        role[row, list(state.mentions)] = 2
        role[row, state.mentions[chain.own]] = 1
        distance[row] -= state.mentions[chain.own]
    start = [(row, *item) for row, chain in enumerate(chains) for item in chain.start.items()]
    of_question = [place for place, question in enumerate(questions) for _ in question]
    return FactBatch(
        MentionBatch(tokens, mask, role, distance),
        Entities(
            torch.tensor([row for row, _, _ in start]),
            torch.tensor([entity for _, entity, _ in start]),
            torch.tensor([weight for _, _, weight in start]),
        ),
        torch.tensor(of_question),
    )


def _scores(trace: FactTrace, question: Tensor) -> FactScores:
    """Join the hops of each chain, and the chains of each question."""
    reached = [step.reached for step in trace.steps]
    chain = torch.cat([part.chain for part in reached])
    entity = torch.cat([part.entity for part in reached])
    weight = torch.cat(
        [part.weight * trace.halting[part.chain, hop] for hop, part in enumerate(reached)]
    )
    width = int(entity.max()) + 1 if len(entity) else 1
    in_chain, place = torch.unique(chain * width + entity, return_inverse=True)
    weight = torch.zeros(len(in_chain)).index_add(0, place, weight)
    chain, entity = in_chain // width, in_chain % width
    nats = (weight + _FAINTEST).log() - math.log(_FAINTEST)
    share = shares(trace.importance, question)
    answers, place = torch.unique(question[chain] * width + entity, return_inverse=True)
    total = torch.zeros(len(answers)).index_add(0, place, share[chain] * nats)
    weight = total.exp() * _FAINTEST / (1 + _FAINTEST)
    return FactScores(answers // width, answers % width, weight)


def shares(score: Tensor, group: Tensor) -> Tensor:
    """The softmax [C] of scores [C] within each group [C] of them."""
    groups = int(group.max()) + 1
    largest = torch.full((groups,), -math.inf).scatter_reduce(0, group, score.detach(), "amax")
    weight = (score - largest[group]).exp()
    return weight / torch.zeros(groups).index_add(0, group, weight)[group]
