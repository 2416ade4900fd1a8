"""The fact model: from a question to the entities that facts lead to, and its checkpoints."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from memnet.attention.arrays import log_odds, probability_of
from memnet.attention.either import Array, largest_of, library, sum_of, without_gradient
from memnet.checkpoints import check_tensors, parse_description
from memnet.encoders.protocol import MENTION, TokenStates
from memnet.facts.hops import (
    Entities,
    FactController,
    FactGraph,
    FactModelConfig,
    HopTrace,
    MentionBatch,
    controller_shapes,
    follow_facts,
    unique_pairs,
)
from memnet.text.names import MAX_QUESTION_WORDS, edits, is_name, normalise, stems, word_runs

_MAX_NAME_WORDS = 12
_MAX_MISSPELLED_WORDS = 4  # Max. words of a name that may be misspelled
# Characters. Too many shorter words are one edit apart; longer ones have too many edits, 74 for
# each character.
_MISSPELLED_LENGTH = range(5, 61)
# Runs of words that are tried, so that a question of unknown words comes to an end.
_MAX_MISSPELLED = 200

# Filters normalised names by those that the memory knows.
Lookup = Callable[[Iterable[str]], Collection[str]]


class Mention(NamedTuple):
    """Words of a question that name something."""

    start: int  # First word
    end: int  # The word after the last
    # Candidate names with weights that sum to one: several where the spelling is wrong.
    names: Mapping[str, float]


class LinkedQuestion(NamedTuple):
    """A question and what it names."""

    words: tuple[str, ...]  # Normalised
    mentions: tuple[Mention, ...]  # In order of appearance; they don't overlap


def asked_stems(linked: LinkedQuestion) -> frozenset[str]:
    """The stems of the words of a question beside the names in it."""
    named = {word for one in linked.mentions for word in range(one.start, one.end)}
    rest = (word for index, word in enumerate(linked.words) if index not in named)
    return content_stems(" ".join(rest))


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that say what is asked: "who" and "the" say nothing."""
    return frozenset(one for one in stems(text) if is_name(one))


def link(question: str, lookup: Lookup) -> LinkedQuestion:
    """Find what a question names: the longest names first, and none within another.

    Words such as "who" and "it" count as names only where there is no other; only where there is
    none at all, names one edit away from words of the question are looked for.
    """
    words = tuple(normalise(question).split()[:MAX_QUESTION_WORDS])
    spans = word_runs(words, _MAX_NAME_WORDS)
    known = lookup(spans)
    names = [run for run in spans if run in known]
    likely = [name for name in names if is_name(name) or name.isdigit()]
    mentions: list[Mention] = []
    for name in likely or names:
        start, end = spans[name]
        if all(end <= other.start or other.end <= start for other in mentions):
            mentions.append(Mention(start, end, {name: 1.0}))
    mentions = mentions or _misspelled(words, lookup)
    return LinkedQuestion(words, tuple(sorted(mentions)))


def _misspelled(words: tuple[str, ...], lookup: Lookup) -> list[Mention]:
    """The longest run of words that is one edit away from a name, if any."""
    spans = word_runs(words, _MAX_MISSPELLED_WORDS)
    possible = (run for run in spans if len(run) in _MISSPELLED_LENGTH and is_name(run))
    for run in islice(possible, _MAX_MISSPELLED):
        if found := sorted(lookup(edits(run))):
            return [Mention(*spans[run], dict.fromkeys(found, 1 / len(found)))]
    return []


KIND = "facts"  # Kind of the model, as its description gives it
PREFIX = "controller."  # Of the names of weights in a checkpoint
# Weight of an entity in a chain that does not reach it: several mentions are a conjunction, but one
# that leads nowhere must not rule out everything.
_UNREACHED = 1e-3
LEAST = 1e-4  # The weight of an entity is kept so far away from 0 and 1
# What is taken from the log-odds of an answer for what training did not know.
_UNKNOWN, _UNSEEN, _MISSPELLED = 5.0, 1.5, 1.0
_MAX_ENCODED = 100_000  # Width of an encoded token


class AnswerRule(NamedTuple):
    """Which of the reached entities are answers, and how likely the best is right."""

    threshold: float  # An entity is one when its weight is at least this share of the largest
    # The log-odds that the best is right: shift + scale * the log-odds of its weight (Platt 1999)
    scale: float
    shift: float
    # Stems of the training questions beside names: what else is asked for is unknown
    words: frozenset[str] = frozenset()

    def confidence(self, weight: float, unknown: float, unseen: bool, misspelled: bool) -> float:
        """The probability, 0..1, that the best entity is right.

        Args:
            weight: of the entity, the probability of the chain that leads to it.
            unknown: share of the question's content words that nothing in training had.
            unseen: whether a relation on the way was unseen in training.
            misspelled: whether a name of the question was linked by a similar spelling.
        """
        penalty = _UNKNOWN * unknown + _UNSEEN * unseen + _MISSPELLED * misspelled
        return probability_of(self.shift + self.scale * log_odds(weight, LEAST) - penalty)


class Chain(NamedTuple):
    """A question as seen from one name in it."""

    name: str  # As the memory spells it; of several spellings, the first.
    # The question's words, with ``MENTION`` for the name and for other names but common ones.
    text: str
    own: int  # Index of the ``MENTION`` that the chain starts from
    start: Mapping[int, float]  # The entities of the name, with weights that sum to one


class FactBatch(NamedTuple):
    """Questions about facts. B questions, C chains."""

    mentions: MentionBatch
    start: Entities
    question: Array  # [C] int64, rising: the question of each chain


class FactScores(NamedTuple):
    """The entities that the questions of a batch lead to, A in all."""

    question: Array  # [A] int64, rising
    entity: Array  # [A] int64, rising within a question
    weight: Array  # [A] float32, 0..1


@dataclass
class FactModel:
    """Answers questions over facts.

    Each name in a question starts a chain of hops. The weight of an answer is the geometric mean of
    its weights in the chains, by the importance of their names: a conjunction.
    """

    config: FactModelConfig
    controller: FactController
    relations: tuple[str, ...]  # Seen in training; their numbers are 1, 2, ...
    # Of many training questions, such as "director": also read as words.
    common_names: frozenset[str] = frozenset()
    unused_names: frozenset[str] = frozenset()  # Led to no answer: start no chain beside others

    def score(
        self, batch: FactBatch, graph: FactGraph, budget: int, hops: int | None = None
    ) -> tuple[FactScores, HopTrace]:
        """Score the entities that facts lead to, of which a hop follows ``budget`` in one chain."""
        max_hops = self.config.hops if hops is None else min(hops, self.config.hops)
        trace = follow_facts(self.controller, batch.mentions, batch.start, graph, max_hops, budget)
        return _scores(trace, batch.question), trace

    def chains(self, linked: LinkedQuestion, entities: Mapping[str, int]) -> list[Chain]:
        """A question as seen from each of the names in it that are entities."""
        mentions = [
            mention for mention in linked.mentions if not entities.keys().isdisjoint(mention.names)
        ]
        used = [mention for mention in mentions if self.unused_names.isdisjoint(mention.names)]
        mentions = (used or mentions)[: self.config.mentions]
        return [self._chain(linked.words, mentions, own, entities) for own in range(len(mentions))]

    def _chain(
        self, words: Sequence[str], mentions: Sequence[Mention], own: int,
        entities: Mapping[str, int],
    ) -> Chain:  # fmt: skip
        text: list[str] = []
        end = own_mask = 0
        for index, mention in enumerate(mentions):
            text += words[end : mention.start]
            if index == own:
                own_mask = text.count(MENTION)
            if index == own or self.common_names.isdisjoint(mention.names):
                text.append(MENTION)
            else:
                text += words[mention.start : mention.end]
            end = mention.end
        names = mentions[own].names
        start = {entities[name]: weight for name, weight in names.items() if name in entities}
        return Chain(min(names), " ".join([*text, *words[end:]]), own_mask, start)


def fact_batch(
    questions: Sequence[Sequence[Chain]], encoded: Mapping[str, TokenStates]
) -> FactBatch:
    """Chains of questions, of which some may have none, with the tokens of their texts."""
    chains = [chain for question in questions for chain in question]
    states = [encoded[chain.text] for chain in chains]
    length = max(len(state.states) for state in states)
    tokens = np.zeros((len(chains), length, states[0].states.shape[1]), np.float32)
    mask = np.zeros((len(chains), length), np.bool_)
    role = np.zeros((len(chains), length), np.int64)
    distance = np.tile(np.arange(length), (len(chains), 1))
    for row, (chain, state) in enumerate(zip(chains, states, strict=True)):
        tokens[row, : len(state.states)] = state.states
        mask[row, : len(state.states)] = True
        role[row, list(state.mentions)] = 2
        role[row, state.mentions[chain.own]] = 1
        distance[row] -= state.mentions[chain.own]
    start = [(row, *item) for row, chain in enumerate(chains) for item in chain.start.items()]
    first, entity, weight = (np.array(column) for column in zip(*start, strict=True))
    question = [index for index, question in enumerate(questions) for _ in question]
    return FactBatch(
        MentionBatch(tokens, mask, role, distance),
        Entities(first, entity, weight.astype(np.float32)),
        np.array(question),
    )


def _scores(trace: HopTrace, question: Array) -> FactScores:
    """Join the hops of each chain, and the chains of each question."""
    arrays = library(question)
    reached = [step.reached for step in trace.steps]
    chain = arrays.concatenate([part.chain for part in reached])
    entity = arrays.concatenate([part.entity for part in reached])
    weight = arrays.concatenate(
        [part.weight * trace.halting[part.chain, hop] for hop, part in enumerate(reached)]
    )
    chain, entity, index = unique_pairs(chain, entity)
    weight = sum_of(len(chain), index, weight)
    # Relative to a chain that does not reach the entity, which has no row for it here.
    log_weight = arrays.log(weight + _UNREACHED) - math.log(_UNREACHED)
    importance = grouped_softmax(trace.importance, question)
    asking, entity, index = unique_pairs(question[chain], entity)
    total = sum_of(len(asking), index, importance[chain] * log_weight)
    return FactScores(asking, entity, arrays.exp(total) * _UNREACHED / (1 + _UNREACHED))


def grouped_softmax(scores: Array, group: Array) -> Array:
    """The softmax [C] of scores [C] within each group [C] of them."""
    groups = int(group.max()) + 1
    largest = largest_of(groups, group, without_gradient(scores), -math.inf)
    weight = library(scores).exp(scores - largest[group])
    return weight / sum_of(groups, group, weight)[group]


class _Description(BaseModel):
    """The names of the fields are those of the file."""

    model_config = ConfigDict(allow_inf_nan=False)

    config: FactModelConfig
    encoded: int = Field(ge=1, le=_MAX_ENCODED)
    relations: tuple[str, ...]
    common_names: frozenset[str]
    unused_names: frozenset[str]
    rule: AnswerRule


def fact_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> tuple[FactModel, AnswerRule]:
    """The fact model of the checkpoint in a folder, and its rule; ModelError if it is not one."""
    checked = parse_description(_Description, description, folder)
    shapes = controller_shapes(checked.config, checked.encoded, len(checked.relations))
    check_tensors(arrays, {f"{PREFIX}{name}": one for name, one in shapes.items()}, folder)
    weights = {name.removeprefix(PREFIX): array for name, array in arrays.items()}
    model = FactModel(
        checked.config, FactController(weights, checked.config), checked.relations,
        checked.common_names, checked.unused_names,
    )  # fmt: skip
    return model, checked.rule
