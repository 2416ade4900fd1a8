"""Training questions over facts: all facts of a store in arrays, and questions linked to them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor

from memnet.encoders import TokenEncoder, TokenStates
from memnet.facts.hops import Facts, Outgoing, RelationKeys, expand_ranges
from memnet.facts.linking import LinkedQuestion
from memnet.facts.model import Chain, FactModel
from memnet.learning import OnProgress, counted
from memnet.learning.evaluation import Question
from memnet.storage import MemoryStore
from memnet.text.names import symbol

_ENCODE_BATCH = 4096
"""Texts that are encoded between two reports of progress."""
_COMMON_SHARE = 0.002
_COMMON_COUNT = 5
"""A name is common when this share of the training questions and this many of them hold it."""


class ArrayGraph:
    """A graph of facts in arrays; entities and relations count from 0."""

    def __init__(self, symbols: Tensor, facts: Tensor, keys: RelationKeys) -> None:
        """Index the facts.

        Args:
            symbols: [N] int64, rising: the symbol of each entity in the store.
            facts: [M, 3] int64 entity, relation, entity; sorted, distinct.
            keys: of all relations.
        """
        self.symbols = symbols
        self._object = facts[:, 2].contiguous()
        pairs, self._count = torch.unique_consecutive(facts[:, :2], dim=0, return_counts=True)
        self._first = torch.cumsum(self._count, 0) - self._count
        self._relation = pairs[:, 1].contiguous()
        self._relations = len(keys.numbers)
        self._pair = pairs[:, 0] * self._relations + pairs[:, 1]
        bounds = torch.arange(len(symbols) + 1) * self._relations
        self._bounds = torch.searchsorted(self._pair, bounds)
        self._keys = keys

    @classmethod
    def of_store(cls, store: MemoryStore) -> tuple[Self, tuple[str, ...]]:
        """The facts of a store, and the names of the relations numbered 1, 2, ... in their keys."""
        links = torch.from_numpy(store.facts.all())
        symbols, entities = torch.unique(links[:, [0, 2]], return_inverse=True)
        relation_ids, relations = torch.unique(links[:, 1], return_inverse=True)
        # Sorted as the links are, for ids are numbered in their order.
        facts = torch.stack([entities[:, 0], relations, entities[:, 1]], dim=1)
        names, vectors = store.facts.relation_keys(relation_ids.tolist())
        keys = RelationKeys(torch.from_numpy(vectors), torch.arange(1, len(names) + 1))
        return cls(symbols, facts, keys), tuple(names)

    def entities(self, symbols: Iterable[int]) -> list[int]:
        """The entities of symbols of the store; symbols without facts are left out."""
        wanted = torch.tensor(list(symbols), dtype=torch.int64)
        index = torch.searchsorted(self.symbols, wanted).clamp(max=len(self.symbols) - 1)
        found: list[int] = index[self.symbols[index] == wanted].tolist()
        return found

    def outgoing(self, entities: Tensor) -> Outgoing:
        """See ``FactGraph.outgoing``."""
        entity, pair = expand_ranges(self._bounds[entities], self._bounds[entities + 1])
        relations, relation = torch.unique(self._relation[pair], return_inverse=True)
        keys = RelationKeys(*(part[relations] for part in self._keys))
        return Outgoing(entity, relation, self._count[pair], relations, keys)

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """See ``FactGraph.facts``."""
        pair = torch.searchsorted(self._pair, entities * self._relations + relations)
        first = self._first[pair]
        group, index = expand_ranges(first, first + self._count[pair])
        return Facts(group, self._object[index], torch.zeros_like(group))


class FactExample(NamedTuple):
    """A question as it is trained on."""

    chains: list[Chain]
    answers: list[int]
    """Entities; right answers that are not in the facts are left out."""
    question: Question


def fact_example(
    question: Question,
    linked: LinkedQuestion,
    store: MemoryStore,
    graph: ArrayGraph,
    model: FactModel,
) -> FactExample:
    """A question as a model sees it, with the entities of a graph of the store's facts."""
    answers = store.facts.subjects({symbol(answer) for answer in question.answers})
    symbols = store.facts.subjects({name for item in linked.mentions for name in item.names})
    entities = dict(zip(symbols, graph.entities(symbols.values()), strict=True))
    chains = model.chains(linked, entities)
    return FactExample(chains, sorted(graph.entities(answers.values())), question)


def common_names(linked: Sequence[LinkedQuestion]) -> frozenset[str]:
    """The names that many of the training questions hold."""
    counts = Counter(
        name for question in linked for mention in question.mentions for name in mention.names
    )
    minimum = max(_COMMON_COUNT, _COMMON_SHARE * len(linked))
    return frozenset(name for name, count in counts.items() if count >= minimum)


def encode_texts(
    encoder: TokenEncoder, examples: Iterable[FactExample], on_progress: OnProgress
) -> dict[str, TokenStates]:
    """The tokens of each text of a chain, in float16: all are in memory at once."""
    texts = list(dict.fromkeys(chain.text for example in examples for chain in example.chains))
    starts = range(0, len(texts), _ENCODE_BATCH)
    batches = [texts[start : start + _ENCODE_BATCH] for start in starts]
    return {
        text: TokenStates(state.states.astype("float16"), state.mentions)
        for batch in counted(batches, "encoding questions", on_progress)
        for text, state in zip(batch, encoder.encode_tokens(batch), strict=True)
    }
