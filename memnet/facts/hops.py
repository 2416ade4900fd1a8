"""Hops over facts: from the entities a question names, along the relations it asks for."""

import math
from typing import Any, Literal, NamedTuple, Protocol, Self

from pydantic import Field, model_validator

from memnet.attention.either import (
    Array,
    Weights,
    as_float,
    feed_forward,
    largest_of,
    layer_norm,
    library,
    linear,
    masked_softmax,
    multi_head,
    repeated,
    sigmoid,
    stable_order,
    without_gradient,
)
from memnet.checkpoints import shapes_of
from memnet.types import Value

MAX_DISTANCE = 16  # Tokens from the mention; farther ones share a position embedding.
# Share of a chain's largest weight below which an entity, or a fact, is not followed.
_MIN_SHARE = 1e-3
_MIN_CONTINUING = 0.01  # Probability of going on below which a chain has halted
_EPSILON = 1e-9


class FactModelConfig(Value):
    """The sizes of a fact model."""

    width: int = Field(default=128, ge=1, le=4096)
    heads: int = Field(default=4, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=3, ge=1, le=100)  # At most; a hop follows one relation.
    mentions: int = Field(default=4, ge=1, le=100)  # Names of a question to start from, at most
    # While training, of encoded tokens and of relation embeddings.
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} can't be split into {self.heads} equal heads")
        return self


class RelationKeys(NamedTuple):
    """R relations, as they are scored."""

    vectors: Array  # [R, E] float32: their encoded words, of length one
    # [R] int64: their row among the learned embeddings, 0 for a relation unseen in training.
    numbers: Array


class Outgoing(NamedTuple):
    """The facts about some entities, grouped by entity and relation: G groups, R relations."""

    entity: Array  # [G] int64, rising: index among the entities
    relation: Array  # [G] int64: index among the relations
    size: Array  # [G] int64: how many facts
    relations: Array  # [R] int64: ids, each once
    keys: RelationKeys


class Facts(NamedTuple):
    """M facts."""

    group: Array  # [M] int64: index of the pair of entity and relation that each belongs to
    object: Array  # [M] int64: the entity that each leads to
    slot: Array  # [M] int64: ids; 0 in arrays, which don't keep them.


class FactGraph(Protocol):
    """Facts, addressed by entity and relation. Their ids are the graph's own."""

    def outgoing(self, entities: Array) -> Outgoing:
        """The groups of facts about entities [F] int64, which rise and are distinct."""
        ...

    def facts(self, entities: Array, relations: Array) -> Facts:
        """The facts about entities [G] int64 with relations [G] int64."""
        ...


class MentionBatch(NamedTuple):
    """Questions as seen from a name that each mentions: C chains, T tokens, E wide."""

    # [C, T, E] float32: encoded tokens, rows of length one; a name is one mask token.
    tokens: Array
    mask: Array  # [C, T] bool: where there is a token
    # [C, T] int64: 1 for the name that the chain starts from, 2 for another name, else 0.
    role: Array
    distance: Array  # [C, T] int64: tokens after that name, negative before it


class Entities(NamedTuple):
    """Weighted entities of C chains, F in all."""

    chain: Array  # [F] int64, rising
    entity: Array  # [F] int64; distinct within a chain.
    weight: Array  # [F] float32, 0..1


class AttendedFacts(NamedTuple):
    """The facts that a hop attended to, M in all."""

    chain: Array  # [M] int64
    subject: Array  # [M] int64
    object: Array  # [M] int64
    slot: Array  # [M] int64
    unseen: Array  # [M] bool: whether the relation was unseen in training
    weight: Array  # [M] float32, 0..1


class HopStep(NamedTuple):
    """What one hop did."""

    facts: AttendedFacts
    reached: Entities
    halting: Array  # [C] float32: the probability that this hop is the last
    continuing: Array  # [C] float32: the probability that a chain had not halted before it


class HopTrace(NamedTuple):
    """All hops of C chains."""

    steps: list[HopStep]
    # [C, H] float32: the probability that each hop is the last; rows sum to one, or to less where
    # the hops ended before every chain had halted.
    halting: Array
    importance: Array  # [C] float32: score of the mention among those of its question


_LAYER, _HOP = "encoder.layers.0.", "hop.layer."
_NORM_EPSILON = 1e-12  # In the norms of Transformer layers, and of lengths
# The weights of a controller, and of one of its Transformer layers, for ``checkpoints.shapes_of``.
_SHAPES = """
tensor 3,width roles.weight
tensor places,width places.weight
tensor hops,width steps
tensor learned,width learned.weight
tensor , likeness
layer width,encoded input key
layer width,width query read
layer width norm
layer 1,width halt back weigh
"""
_LAYER_SHAPES = """
layer width,width #attention.query #attention.key #attention.value #attention.output
layer width #attention_norm #output_norm
layer inner,width #expand
layer width,inner #contract
"""


class FactController:
    """Reads a question token by token and scores at each hop the relations to follow.

    A relation is scored by its words and by a learned embedding; the words alone serve relations
    unseen in training. Attention over the question's tokens, with a query that each hop updates,
    decides what the hop is about.

    Source: Miller et al. 2016, section 3.2 (key addressing and the query's update); Shi et al.
    2021 (TransferNet), section 3.2 (a hop attends to the question, then scores relations).
    """

    def __init__(self, weights: Weights, config: FactModelConfig, learner: Any = None) -> None:
        """Take the weights by their names; while learning, the module of torch that holds them."""
        self._weights = weights
        self._config = config
        self.learner = learner

    @property
    def training(self) -> bool:
        """Whether it is being trained."""
        return self.learner is not None and bool(self.learner.training)

    def start(self, mentions: MentionBatch) -> tuple[Array, Array]:
        """The tokens [C, T, D] as hops read them, and the first query [C, D]: the name's token."""
        weights = self._weights
        positions = mentions.distance.clip(-MAX_DISTANCE, MAX_DISTANCE) + MAX_DISTANCE
        tokens = linear(weights, "input", mentions.tokens)
        tokens = tokens + weights["roles.weight"][mentions.role]
        tokens = tokens + weights["places.weight"][positions]
        if self.training:
            tokens = self.learner.dropout(tokens)
        tokens, _ = self._layer(_LAYER, tokens, tokens, mentions.mask)
        own = as_float(mentions.role == 1)[:, :, None]
        return tokens, (tokens * own).sum(1) / own.sum(1).clip(min=1)

    def keys(self, relations: RelationKeys) -> Array:
        """Keys [R, D] float32 of relations."""
        seen = (relations.numbers > 0)[:, None]
        learned = self._weights["learned.weight"][relations.numbers] * seen
        if self.training:
            learned = self.learner.without_some(learned)
        return linear(self._weights, "key", relations.vectors) + learned

    def score(
        self, hop: int, query: Array, tokens: Array, mentions: MentionBatch,
        relations: RelationKeys, keys: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Score the relations, whose keys are [R, D], that a hop, counted from 0, may follow.

        For queries [C, D] and tokens [C, T, D] of ``start``. Returns the queries [C, D] after
        reading the questions, and the scores of the relations [C, R].
        """
        asked = (query + self._weights["steps"][hop])[:, None]
        read, weights = self._layer(_HOP, asked, tokens, mentions.mask)
        query = read[:, 0]
        words = (weights.mean(1) @ mentions.tokens)[:, 0]
        lengths = ((words * words).sum(-1) ** 0.5).clip(min=_NORM_EPSILON)
        words = words / lengths[:, None]
        learned = linear(self._weights, "query", query) @ keys.T / math.sqrt(keys.shape[1])
        return query, learned + self._weights["likeness"] * (words @ relations.vectors.T)

    def update(self, query: Array, weights: Array, keys: Array) -> Array:
        """The query [C, D] of the next hop, after reading relations with weights [C, R]."""
        read = linear(self._weights, "read", weights @ keys)
        return layer_norm(self._weights, "norm", query + read)

    def signal(self, name: Literal["weigh", "halt", "back"], query: Array) -> Array:
        """A signal [C] of queries [C, D].

        Score of a mention among those of its question; log-odds of halting now, and of following
        facts that lead back to a chain's start.
        """
        return linear(self._weights, name, query)[:, 0]

    def _layer(self, prefix: str, query: Array, tokens: Array, mask: Array) -> tuple[Array, Array]:
        """Queries [C, Q, D] after a ``TransformerLayer`` over tokens; its weights [C, H, Q, T]."""
        weights, heads = self._weights, self._config.heads
        name = f"{prefix}attention"
        read, attended = multi_head(weights, name, heads, query, tokens, mask[:, None])
        states = layer_norm(weights, f"{prefix}attention_norm", query + read, _NORM_EPSILON)
        updated = states + feed_forward(weights, prefix, states)
        return layer_norm(weights, f"{prefix}output_norm", updated, _NORM_EPSILON), attended


def controller_shapes(
    config: FactModelConfig, encoded: int, relations: int
) -> dict[str, tuple[Any, ...]]:
    """Shape and dtype of each weight of a controller."""
    sizes = {
        "width": config.width, "inner": config.inner, "hops": config.hops, "encoded": encoded,
        "places": 2 * MAX_DISTANCE + 1, "learned": relations + 1,
    }  # fmt: skip
    layers = (_LAYER_SHAPES.replace("#", prefix) for prefix in (_LAYER, _HOP))
    return shapes_of("".join([_SHAPES, *layers]), sizes)


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
    arrays = library(start.weight)
    tokens, query = controller.start(mentions)
    importance = controller.signal("weigh", query)
    active, continuing = start, library(importance).ones_like(importance)
    steps: list[HopStep] = []
    for hop in range(max_hops):
        # Address: the facts about active entities, grouped by relation.
        entities, index = arrays.unique(active.entity, return_inverse=True)
        outgoing = graph.outgoing(entities)
        keys = controller.keys(outgoing.keys)
        # Attend: a weight for each relation of a chain, then for each group of facts.
        query, scores = controller.score(hop, query, tokens, mentions, outgoing.keys, keys)
        bounds = arrays.searchsorted(outgoing.entity, arrays.arange(len(entities) + 1))
        row, group = expand_ranges(bounds[index], bounds[index + 1])
        chain, relation, prior = active.chain[row], outgoing.relation[group], active.weight[row]
        weights = _attention(scores, chain, relation, prior)
        weight = prior * weights[chain, relation]
        kept = _within_budget(
            chain, without_gradient(weight), outgoing.size[group], budget, controller.training
        )
        row, chain, relation, weight = row[kept], chain[kept], relation[kept], weight[kept]
        # Read: the entities that the facts lead to.
        found = graph.facts(active.entity[row], outgoing.relations[relation])
        returning = _in_same_chain(chain[found.group], found.object, start)
        discount = sigmoid(controller.signal("back", query))[chain[found.group]]
        discount = arrays.where(returning, discount, 1.0)
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
        halting = continuing * (1.0 if is_last else sigmoid(controller.signal("halt", query)))
        steps.append(HopStep(facts, reached, halting, continuing))
        # Update: the query, and the entities that are worth following.
        query = controller.update(query, weights, keys)
        continuing = continuing - halting
        kept = _above_min_share(reached.chain, without_gradient(reached.weight))
        active = Entities(*(part[kept] for part in reached))
        halted = not controller.training and bool((continuing < _MIN_CONTINUING).all())
        if halted or not len(active.entity):
            break
    return HopTrace(steps, arrays.stack([step.halting for step in steps], 1), importance)


def unique_pairs(first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Both parts of the distinct pairs of integers, rising, and the index of each given pair."""
    width = int(second.max()) + 1 if len(second) else 1
    pairs, index = library(first).unique(first * width + second, return_inverse=True)
    return pairs // width, pairs % width, index


def max_weights(chain: Array, entity: Array, weight: Array) -> Entities:
    """Each entity of a chain once, with the largest of its weights. All [M]."""
    chain, entity, index = unique_pairs(chain, entity)
    return Entities(chain, entity, largest_of(len(chain), index, weight))


def _attention(scores: Array, chain: Array, relation: Array, prior: Array) -> Array:
    """Attention [C, R] over the relations that a chain can follow, from scores [C, R].

    The prior of a relation is the largest weight of an entity that has it. The others are [G].
    """
    chains, relations = scores.shape
    priors = largest_of(chains * relations, chain * relations + relation, prior)
    priors, arrays = priors.reshape(scores.shape), library(scores)
    return masked_softmax(scores + arrays.log(arrays.clip(priors, _EPSILON, None)), priors > 0)


def _within_budget(chain: Array, weight: Array, size: Array, budget: int, training: bool) -> Array:
    """Indices of the groups of facts to follow, of groups whose parts are [G].

    Those of a weight not far below the largest of their chain, and of these as many as its budget
    allows, the heaviest first. The first is followed whatever its size.
    """
    # In early training many relations are possible, so that small groups come first.
    worth = weight / size**0.5 if training else weight
    order = stable_order(-worth)
    order = order[stable_order(chain[order])]
    chain, size = chain[order], size[order]
    arrays = library(chain)
    total = arrays.cumsum(size, 0)
    first = arrays.searchsorted(chain, chain)
    spent = total - (total - size)[first]
    affordable = (spent <= budget) | (arrays.arange(len(chain)) == first)
    return order[affordable & _above_min_share(chain, weight[order])]


def _above_min_share(chain: Array, weight: Array) -> Array:
    """[M] bool: whether weights [M] are not far below the largest of their chain [M], rising."""
    chains = int(chain[-1]) + 1 if len(chain) else 0
    largest = largest_of(chains, chain, weight)
    return weight > _MIN_SHARE * largest[chain]


def _in_same_chain(chain: Array, entity: Array, others: Entities) -> Array:
    """[M] bool: whether an entity of a chain, both [M], is among the others of that chain."""
    arrays = library(entity)
    width = int(arrays.concatenate([entity, others.entity]).max()) + 1 if len(entity) else 1
    return arrays.isin(chain * width + entity, others.chain * width + others.entity)


def expand_ranges(start: Array, end: Array) -> tuple[Array, Array]:
    """The integers of ranges [F] int64, ends excluded: [M] int64 which range, [M] int64."""
    count = end - start
    arrays = library(start)
    row = repeated(arrays.arange(len(count)), count)
    before = arrays.cumsum(count, 0) - count
    return row, arrays.arange(len(row)) - before[row] + start[row]
