"""The hops over facts: from the entities a question names, along the relations it asks for."""

from typing import NamedTuple

import torch
from torch import Tensor

from memnet.attention.functional import masked_softmax
from memnet.attention.reading import read_in_hops
from memnet.facts.controller import ChainState, FactController, MentionBatch
from memnet.facts.memory import FactMemory, ranges

_FLOOR = 1e-3
"""Share of a chain's largest weight below which an entity, or a fact, is not followed."""
_HALTED = 0.01
"""Probability of going on below which a chain counts as halted."""
_TINY = 1e-9


class Entities(NamedTuple):
    """Weighted entities of C chains, F in all."""

    chain: Tensor
    """[F] int64, rising."""
    entity: Tensor
    """[F] int64; each once in a chain."""
    weight: Tensor
    """[F] float32, 0..1."""


class FollowedFacts(NamedTuple):
    """The facts that a hop attended to, M in all, for showing."""

    chain: Tensor
    """[M] int64."""
    subject: Tensor
    """[M] int64."""
    relation: Tensor
    """[M] int64: its place among the relations that could be followed."""
    object: Tensor
    """[M] int64."""
    slot: Tensor
    """[M] int64."""
    weight: Tensor
    """[M] float32, 0..1."""


class FactStep(NamedTuple):
    """What one hop did."""

    reached: Entities
    halting: Tensor
    """[C] float32: the probability that this hop is the last."""
    going_on: Tensor
    """[C] float32: the probability that a chain had not halted before it."""
    unseen: Tensor
    """[R] bool: which of the relations that could be followed training never saw."""
    facts: FollowedFacts


class FactTrace(NamedTuple):
    """All hops of some chains."""

    steps: list[FactStep]
    halting: Tensor
    """[C, H] float32: the probability that each hop is the last; rows sum to one, or to less where
    the hops ended before every chain had halted."""
    importance: Tensor
    """[C] float32: score of the mention among those of its question."""


class _Reading(NamedTuple):
    """What passes from hop to hop."""

    state: ChainState
    active: Entities
    going_on: Tensor
    """[C] float32: the probability that a chain has not halted yet."""


class FactHops:
    """Moves weights over entities along facts.

    A hop addresses only the facts of the entities that carry weight. Attention over their
    relations, with the entity's weight as prior, gives each fact a weight, and each entity that
    facts lead to the largest of theirs: the weight of an entity says how surely it is reached,
    however many others are.

    Source: Miller et al. 2016, section 3.1 (hashing, addressing, reading, again after each update);
    Cohen et al. 2020, section 2 (following relations as a differentiable step over weighted sets);
    Shi et al. 2021, section 3.2 (relation scores of each step from the question); Banino et al.
    2021, equation 3 (halting).
    """

    def __init__(self, controller: FactController, most: int, budget: int) -> None:
        """Join a controller with limits.

        Args:
            controller: scores relations.
            most: most hops.
            budget: most facts that a hop follows in one chain, the most worthwhile first.
        """
        self._controller = controller
        self._most = most
        self._budget = budget

    def run(self, mentions: MentionBatch, start: Entities, memory: FactMemory) -> FactTrace:
        """Hop from the named entities.

        Args:
            mentions: C questions, each seen from a name in it.
            start: the entities that the names stand for.
            memory: facts.
        """
        state = self._controller.start(mentions)
        importance = self._controller.importance(state.query)

        def hop(reading: _Reading, number: int) -> tuple[FactStep, _Reading]:
            return self._hop(reading, number, mentions, start, memory)

        reading = _Reading(state, start, torch.ones_like(importance))
        steps, _ = read_in_hops(reading, hop, self._done, self._most)
        return FactTrace(steps, torch.stack([step.halting for step in steps], dim=1), importance)

    def _done(self, _: _Reading, after: _Reading) -> bool:
        if not self._controller.training and bool((after.going_on < _HALTED).all()):
            return True
        return not len(after.active.entity)

    def _hop(
        self,
        reading: _Reading,
        number: int,
        mentions: MentionBatch,
        start: Entities,
        memory: FactMemory,
    ) -> tuple[FactStep, _Reading]:
        controller, active = self._controller, reading.active
        entities, place = torch.unique(active.entity, return_inverse=True)
        outgoing = memory.outgoing(entities)
        row, group = _groups_of(place, outgoing.row, len(entities))
        relations, of_group = torch.unique(outgoing.relation, return_inverse=True)
        keys = memory.keys(relations)
        key_vectors = controller.keys(keys)
        query, scores = controller.score(reading.state, mentions, keys, key_vectors, number)
        chain, relation, prior = active.chain[row], of_group[group], active.weight[row]
        weights = _attended(scores, chain, relation, prior)
        weight = prior * weights[chain, relation]
        size = outgoing.size[group]
        # While training is under way, so much is possible that small groups come first.
        worth = weight.detach() / (size.float().sqrt() if controller.training else 1.0)
        kept = _worthwhile(chain, weight.detach(), worth, size, self._budget)
        row, group, chain, relation, weight = (
            part[kept] for part in (row, group, chain, relation, weight)
        )
        found = memory.followed(active.entity[row], outgoing.relation[group])
        share = _coming_back(start, chain[found.row], found.object, controller.returning(query))
        facts = FollowedFacts(
            chain[found.row],
            active.entity[row][found.row],
            relation[found.row],
            found.object,
            found.slot,
            weight[found.row] * share,
        )
        reached = strongest(facts.chain, facts.object, facts.weight)
        going_on = reading.going_on
        last = number == self._most - 1
        halting = going_on * (1.0 if last else controller.halting(query))
        step = FactStep(reached, halting, going_on, keys.known == 0, facts)
        state = ChainState(reading.state.tokens, controller.update(query, weights, key_vectors))
        return step, _Reading(state, _active(reached, len(weights)), going_on - halting)


def strongest(chain: Tensor, entity: Tensor, weight: Tensor) -> Entities:
    """Each entity of a chain once, with the largest of its weights. All [M]."""
    width = int(entity.max()) + 1 if len(entity) else 1
    pairs, place = torch.unique(chain * width + entity, return_inverse=True)
    largest = torch.zeros(len(pairs)).scatter_reduce(0, place, weight, "amax")
    return Entities(pairs // width, pairs % width, largest)


def _groups_of(place: Tensor, row: Tensor, entities: int) -> tuple[Tensor, Tensor]:
    """For each place [F] of an entity its groups: which place, and which group. ``row`` is [G]."""
    order = torch.argsort(row, stable=True)
    bounds = torch.searchsorted(row[order], torch.arange(entities + 1))
    of_place, found = ranges(bounds[place], bounds[place + 1])
    return of_place, order[found]


def _attended(scores: Tensor, chain: Tensor, relation: Tensor, prior: Tensor) -> Tensor:
    """Attention [C, R] over the relations that a chain can follow, from scores [C, R].

    The prior of a relation is the weight of the strongest entity that has it.
    """
    priors = torch.zeros(scores.numel()).scatter_reduce(
        0, chain * scores.shape[1] + relation, prior, "amax"
    )
    priors = priors.view_as(scores)
    return masked_softmax(scores + priors.clamp(min=_TINY).log(), priors > 0)


def _worthwhile(chain: Tensor, weight: Tensor, worth: Tensor, count: Tensor, budget: int) -> Tensor:
    """Which of the groups of facts [G] to follow, in any order.

    Those of a weight not far below the best, and of these as many as the budget of a chain
    allows, by their worth. The first is followed whatever it takes.
    """
    order = torch.argsort(worth, descending=True, stable=True)
    order = order[torch.argsort(chain[order], stable=True)]
    chain, count = chain[order], count[order]
    total = torch.cumsum(count, 0)
    first = torch.searchsorted(chain, chain)
    spent = total - (total - count)[first]
    affordable = (spent <= budget) | (torch.arange(len(chain)) == first)
    chains = int(chain[-1]) + 1 if len(chain) else 0
    best = torch.zeros(chains).scatter_reduce(0, chain, weight[order], "amax")
    return order[affordable & (weight[order] > _FLOOR * best[chain])]


def _coming_back(start: Entities, chain: Tensor, entity: Tensor, share: Tensor) -> Tensor:
    """[M]: the share [C] of its chain where a fact leads back to the start, else one."""
    width = int(torch.cat([entity, start.entity]).max()) + 1 if len(entity) else 1
    back = torch.isin(chain * width + entity, start.chain * width + start.entity)
    return torch.where(back, share[chain], 1.0)


def _active(reached: Entities, chains: int) -> Entities:
    """The entities whose facts the next hop looks at."""
    best = torch.zeros(chains).scatter_reduce(0, reached.chain, reached.weight.detach(), "amax")
    kept = reached.weight.detach() > _FLOOR * best[reached.chain]
    return Entities(*(part[kept] for part in reached))
