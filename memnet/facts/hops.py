"""Hops over facts: from the entities a question names, along the relations it asks for."""

import math
from typing import NamedTuple, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from memnet.attention import TransformerEncoder, masked_softmax
from memnet.attention.layers import HopLayer
from memnet.config import Settings

_MAX_DISTANCE = 16  # Tokens from the mention; farther ones share a position embedding.
# Share of a chain's largest weight below which an entity, or a fact, is not followed.
_MIN_SHARE = 1e-3
_MIN_CONTINUING = 0.01  # Probability of going on below which a chain has halted
_EPSILON = 1e-9


class FactModelConfig(Settings):
    """The sizes of a fact model."""

    width: int = Field(default=128, ge=1, le=4096)
    heads: int = Field(default=4, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=3, ge=1, le=100)  # At most; a hop follows one relation.
    mentions: int = Field(default=4, ge=1, le=100)  # Names of a question to start from, at most
    # While training, of encoded tokens and of relation embeddings.
    dropout: float = Field(default=0.1, ge=0, lt=1)


class RelationKeys(NamedTuple):
    """R relations, as they are scored."""

    vectors: Tensor  # [R, E] float32: their encoded words, of length one
    # [R] int64: their row among the learned embeddings, 0 for a relation unseen in training.
    numbers: Tensor


class Outgoing(NamedTuple):
    """The facts about some entities, grouped by entity and relation: G groups, R relations."""

    entity: Tensor  # [G] int64, rising: index among the entities
    relation: Tensor  # [G] int64: index among the relations
    size: Tensor  # [G] int64: how many facts
    relations: Tensor  # [R] int64: ids, each once
    keys: RelationKeys


class Facts(NamedTuple):
    """M facts."""

    group: Tensor  # [M] int64: index of the pair of entity and relation that each belongs to
    object: Tensor  # [M] int64: the entity that each leads to
    slot: Tensor  # [M] int64: ids; 0 in arrays, which don't keep them.


class FactGraph(Protocol):
    """Facts, addressed by entity and relation. Their ids are the graph's own."""

    def outgoing(self, entities: Tensor) -> Outgoing:
        """The groups of facts about entities [F] int64, which rise and are distinct."""
        ...

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """The facts about entities [G] int64 with relations [G] int64."""
        ...


class MentionBatch(NamedTuple):
    """Questions as seen from a name that each mentions: C chains, T tokens, E wide."""

    # [C, T, E] float32: encoded tokens, rows of length one; a name is one mask token.
    tokens: Tensor
    mask: Tensor  # [C, T] bool: where there is a token
    # [C, T] int64: 1 for the name that the chain starts from, 2 for another name, else 0.
    role: Tensor
    distance: Tensor  # [C, T] int64: tokens after that name, negative before it


class Entities(NamedTuple):
    """Weighted entities of C chains, F in all."""

    chain: Tensor  # [F] int64, rising
    entity: Tensor  # [F] int64; distinct within a chain.
    weight: Tensor  # [F] float32, 0..1


class AttendedFacts(NamedTuple):
    """The facts that a hop attended to, M in all."""

    chain: Tensor  # [M] int64
    subject: Tensor  # [M] int64
    object: Tensor  # [M] int64
    slot: Tensor  # [M] int64
    unseen: Tensor  # [M] bool: whether the relation was unseen in training
    weight: Tensor  # [M] float32, 0..1


class HopStep(NamedTuple):
    """What one hop did."""

    facts: AttendedFacts
    reached: Entities
    halting: Tensor  # [C] float32: the probability that this hop is the last
    continuing: Tensor  # [C] float32: the probability that a chain had not halted before it


class HopTrace(NamedTuple):
    """All hops of C chains."""

    steps: list[HopStep]
    # [C, H] float32: the probability that each hop is the last; rows sum to one, or to less where
    # the hops ended before every chain had halted.
    halting: Tensor
    importance: Tensor  # [C] float32: score of the mention among those of its question


class FactController(nn.Module):
    """Reads a question token by token and scores at each hop the relations to follow.

    A relation is scored by its words and by a learned embedding; the words alone serve relations
    unseen in training. Attention over the question's tokens, with a query that each hop updates,
    decides what the hop is about.

    Source: Miller et al. 2016, section 3.2 (key addressing and the query's update); Shi et al.
    2021 (TransferNet), section 3.2 (a hop attends to the question, then scores relations).
    """

    def __init__(self, config: FactModelConfig, encoded: int, relations: int) -> None:
        width = config.width
        super().__init__()
        # Checkpoints name tensors by these attributes; ``places`` are position embeddings.
        self.input = nn.Linear(encoded, width)
        self.roles = nn.Embedding(3, width)
        self.places = nn.Embedding(2 * _MAX_DISTANCE + 1, width)
        self.encoder = TransformerEncoder(1, width, config.heads, config.inner)
        self.hop = HopLayer(width, config.heads, config.inner)
        self.steps = nn.Parameter(torch.randn(config.hops, width) * 0.1)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(encoded, width)
        self.learned = nn.Embedding(relations + 1, width, padding_idx=0)
        self.likeness = nn.Parameter(torch.tensor(10.0))
        self.read = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        # Log-odds of halting now, and of following facts that lead back to a chain's start; and the
        # score of a mention among those of its question.
        self.halt, self.back, self.weigh = (nn.Linear(width, 1) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.roles, self.places):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.learned.weight)

    def start(self, mentions: MentionBatch) -> tuple[Tensor, Tensor]:
        """The tokens [C, T, D] as hops read them, and the first query [C, D]: the name's token."""
        positions = mentions.distance.clamp(-_MAX_DISTANCE, _MAX_DISTANCE) + _MAX_DISTANCE
        tokens = self.input(mentions.tokens) + self.roles(mentions.role) + self.places(positions)
        tokens = self.encoder(self.dropout(tokens), mentions.mask.unsqueeze(1))
        own = (mentions.role == 1).unsqueeze(-1)
        return tokens, (tokens * own).sum(dim=1) / own.sum(dim=1).clamp(min=1)

    def keys(self, relations: RelationKeys) -> Tensor:
        """Keys [R, D] float32 of relations."""
        learned = self.learned(relations.numbers)
        if self.training:
            learned = learned * (torch.rand(len(learned), 1) >= self.dropout.p)
        keys: Tensor = self.key(relations.vectors) + learned
        return keys

    def score(
        self, hop: int, query: Tensor, tokens: Tensor, mentions: MentionBatch,
        relations: RelationKeys, keys: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Score the relations, whose keys are [R, D], that a hop, counted from 0, may follow.

        For queries [C, D] and tokens [C, T, D] of ``start``. Returns the queries [C, D] after
        reading the questions, and the scores of the relations [C, R].
        """
        asked = (query + self.steps[hop]).unsqueeze(1)
        attended = self.hop(asked, tokens, tokens, mentions.mask.unsqueeze(1))
        query = attended.read.squeeze(1)
        weights = attended.weights.mean(dim=1)
        words = nn.functional.normalize((weights @ mentions.tokens).squeeze(1), dim=-1)
        learned = self.query(query) @ keys.T / math.sqrt(keys.shape[1])
        return query, learned + self.likeness * (words @ relations.vectors.T)

    def update(self, query: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
        """The query [C, D] of the next hop, after reading relations with weights [C, R]."""
        updated: Tensor = self.norm(query + self.read(weights @ keys))
        return updated


def follow_facts(
    controller: FactController,
    mentions: MentionBatch,
    start: Entities,
    graph: FactGraph,
    max_hops: int,
    budget: int,
) -> HopTrace:
    """Move weights over entities along facts, hop by hop.

    A hop addresses only the facts of the entities that carry weight. Attention over their
    relations, with the entity's weight as prior, gives each fact a weight, and each entity that
    facts lead to the largest of theirs: it does not depend on how many others are reached.
    ``budget`` facts at most, the heaviest first, are followed in a chain.

    Source: Miller et al. 2016, section 3.1 (hashing, addressing, reading, again after each update);
    Cohen et al. 2020, section 2 (following relations as a differentiable step over weighted sets);
    Shi et al. 2021, section 3.2 (relation scores of each step from the question); Banino et al.
    2021, equation 3 (halting).
    """
    tokens, query = controller.start(mentions)
    importance = _of_each(controller.weigh, query)
    active, continuing = start, torch.ones_like(importance)
    steps: list[HopStep] = []
    for hop in range(max_hops):
        # Address: the facts about active entities, grouped by relation.
        entities, index = torch.unique(active.entity, return_inverse=True)
        outgoing = graph.outgoing(entities)
        keys = controller.keys(outgoing.keys)
        # Attend: a weight for each relation of a chain, then for each group of facts.
        query, scores = controller.score(hop, query, tokens, mentions, outgoing.keys, keys)
        bounds = torch.searchsorted(outgoing.entity, torch.arange(len(entities) + 1))
        row, group = expand_ranges(bounds[index], bounds[index + 1])
        chain, relation, prior = active.chain[row], outgoing.relation[group], active.weight[row]
        weights = _attention(scores, chain, relation, prior)
        weight = prior * weights[chain, relation]
        kept = _within_budget(
            chain, weight.detach(), outgoing.size[group], budget, controller.training
        )
        row, chain, relation, weight = row[kept], chain[kept], relation[kept], weight[kept]
        # Read: the entities that the facts lead to.
        found = graph.facts(active.entity[row], outgoing.relations[relation])
        returning = _in_same_chain(chain[found.group], found.object, start)
        discount = torch.sigmoid(_of_each(controller.back, query))[chain[found.group]]
        discount = torch.where(returning, discount, 1.0)
        facts = AttendedFacts(
            chain[found.group],
            active.entity[row][found.group],
            found.object,
            found.slot,
            (outgoing.keys.numbers == 0)[relation][found.group],
            weight[found.group] * discount,
        )
        reached = max_weights(facts.chain, facts.object, facts.weight)
        is_last = hop == max_hops - 1
        halting = continuing * (1.0 if is_last else torch.sigmoid(_of_each(controller.halt, query)))
        steps.append(HopStep(facts, reached, halting, continuing))
        # Update: the query, and the entities that are worth following.
        query = controller.update(query, weights, keys)
        continuing = continuing - halting
        kept = _above_min_share(reached.chain, reached.weight.detach())
        active = Entities(*(part[kept] for part in reached))
        halted = not controller.training and bool((continuing < _MIN_CONTINUING).all())
        if halted or not len(active.entity):
            break
    return HopTrace(steps, torch.stack([step.halting for step in steps], dim=1), importance)


def _of_each(layer: nn.Linear, query: Tensor) -> Tensor:
    """One number [C] of each query [C, D]."""
    numbers: Tensor = layer(query).squeeze(-1)
    return numbers


def unique_pairs(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both parts of the distinct pairs of integers, rising, and the index of each given pair."""
    width = int(second.max()) + 1 if len(second) else 1
    pairs, index = torch.unique(first * width + second, return_inverse=True)
    return pairs // width, pairs % width, index


def max_weights(chain: Tensor, entity: Tensor, weight: Tensor) -> Entities:
    """Each entity of a chain once, with the largest of its weights. All [M]."""
    chain, entity, index = unique_pairs(chain, entity)
    return Entities(chain, entity, torch.zeros(len(chain)).scatter_reduce(0, index, weight, "amax"))


def _attention(scores: Tensor, chain: Tensor, relation: Tensor, prior: Tensor) -> Tensor:
    """Attention [C, R] over the relations that a chain can follow, from scores [C, R].

    The prior of a relation is the largest weight of an entity that has it. The others are [G].
    """
    priors = torch.zeros(scores.numel()).scatter_reduce(
        0, chain * scores.shape[1] + relation, prior, "amax"
    )
    priors = priors.view_as(scores)
    return masked_softmax(scores + priors.clamp(min=_EPSILON).log(), priors > 0)


def _within_budget(
    chain: Tensor, weight: Tensor, size: Tensor, budget: int, training: bool
) -> Tensor:
    """Indices of the groups of facts to follow, of groups whose parts are [G].

    Those of a weight not far below the largest of their chain, and of these as many as its budget
    allows, the heaviest first. The first is followed whatever its size.
    """
    # In early training many relations are possible, so that small groups come first.
    worth = weight / size.float().sqrt() if training else weight
    order = torch.argsort(worth, descending=True, stable=True)
    order = order[torch.argsort(chain[order], stable=True)]
    chain, size = chain[order], size[order]
    total = torch.cumsum(size, 0)
    first = torch.searchsorted(chain, chain)
    spent = total - (total - size)[first]
    affordable = (spent <= budget) | (torch.arange(len(chain)) == first)
    return order[affordable & _above_min_share(chain, weight[order])]


def _above_min_share(chain: Tensor, weight: Tensor) -> Tensor:
    """[M] bool: whether weights [M] are not far below the largest of their chain [M], rising."""
    chains = int(chain[-1]) + 1 if len(chain) else 0
    largest = torch.zeros(chains).scatter_reduce(0, chain, weight, "amax")
    return weight > _MIN_SHARE * largest[chain]


def _in_same_chain(chain: Tensor, entity: Tensor, others: Entities) -> Tensor:
    """[M] bool: whether an entity of a chain, both [M], is among the others of that chain."""
    width = int(torch.cat([entity, others.entity]).max()) + 1 if len(entity) else 1
    return torch.isin(chain * width + entity, others.chain * width + others.entity)


def expand_ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The integers of ranges [F] int64, ends excluded: [M] int64 which range, [M] int64."""
    count = end - start
    row = torch.repeat_interleave(torch.arange(len(count)), count)
    before = torch.cumsum(count, 0) - count
    return row, torch.arange(len(row)) - before[row] + start[row]
