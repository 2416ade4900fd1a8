"""The graph of facts that hops follow: in the store, or in arrays for training."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from memnet.storage import MemoryStore, Scope


class RelationKeys(NamedTuple):
    """R relations, as they are scored."""

    vectors: Tensor
    """[R, E] float32: their encoded words, of length one."""
    numbers: Tensor
    """[R] int64: their row among the learned embeddings, 0 for a relation unseen in training."""


class Outgoing(NamedTuple):
    """The facts about some entities, grouped by entity and relation: G groups, R relations."""

    entity: Tensor
    """[G] int64, rising: index among the entities."""
    relation: Tensor
    """[G] int64: index among the relations."""
    size: Tensor
    """[G] int64: how many facts."""
    relations: Tensor
    """[R] int64: ids, each once."""
    keys: RelationKeys


class Facts(NamedTuple):
    """M facts."""

    group: Tensor
    """[M] int64: index of the pair of entity and relation that each belongs to."""
    object: Tensor
    """[M] int64: the entity that each leads to."""
    slot: Tensor
    """[M] int64: ids; 0 in arrays, which don't keep them."""


class FactGraph(Protocol):
    """Facts, addressed by entity and relation. Their ids are the graph's own."""

    def outgoing(self, entities: Tensor) -> Outgoing:
        """The groups of facts about entities [F] int64, which rise and are distinct."""
        ...

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """The facts about entities [G] int64 with relations [G] int64."""
        ...


class StoreGraph:
    """The facts of a store, as of one read of it. An entity is a symbol."""

    def __init__(self, store: MemoryStore, scope: Scope, numbers: Mapping[str, int]) -> None:
        """Look into a store.

        Args:
            store: the memory.
            scope: which sources to look in.
            numbers: of the relations seen in training, by name.
        """
        self._store = store
        self._scope = scope
        self._numbers = numbers

    def outgoing(self, entities: Tensor) -> Outgoing:
        """As the protocol says."""
        rows = torch.from_numpy(self._store.outgoing(entities.tolist(), self._scope))
        entity, order = torch.sort(
            torch.searchsorted(entities, rows[:, 0].contiguous()), stable=True
        )
        relations, relation = torch.unique(rows[order, 1], return_inverse=True)
        names, vectors = self._store.relation_keys(relations.tolist())
        numbers = torch.tensor([self._numbers.get(name, 0) for name in names], dtype=torch.int64)
        keys = RelationKeys(torch.from_numpy(vectors), numbers)
        return Outgoing(entity, relation, rows[order, 2], relations, keys)

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """As the protocol says."""
        pairs = zip(entities.tolist(), relations.tolist(), strict=True)
        return Facts(*torch.from_numpy(self._store.follow(pairs, self._scope)).unbind(1))


class ArrayGraph:
    """All facts of a store in arrays, for training; entities and relations count from 0."""

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
        links = store.all_links()
        symbols, entities = np.unique(links[:, [0, 2]], return_inverse=True)
        relation_ids, relations = np.unique(links[:, 1], return_inverse=True)
        entities = entities.reshape(-1, 2)
        facts = np.stack([entities[:, 0], relations, entities[:, 1]], axis=1)
        facts = facts[np.lexsort(facts.T[::-1])]
        names, vectors = store.relation_keys(relation_ids.tolist())
        keys = RelationKeys(torch.from_numpy(vectors), torch.arange(1, len(names) + 1))
        return cls(torch.from_numpy(symbols), torch.from_numpy(facts), keys), tuple(names)

    def entities(self, symbols: Iterable[int]) -> list[int]:
        """The entities of symbols of the store; symbols without facts are left out."""
        wanted = torch.tensor(list(symbols), dtype=torch.int64)
        index = torch.searchsorted(self.symbols, wanted).clamp(max=len(self.symbols) - 1)
        found: list[int] = index[self.symbols[index] == wanted].tolist()
        return found

    def outgoing(self, entities: Tensor) -> Outgoing:
        """As the protocol says."""
        entity, pair = expand_ranges(self._bounds[entities], self._bounds[entities + 1])
        relations, relation = torch.unique(self._relation[pair], return_inverse=True)
        keys = RelationKeys(*(part[relations] for part in self._keys))
        return Outgoing(entity, relation, self._count[pair], relations, keys)

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """As the protocol says."""
        pair = torch.searchsorted(self._pair, entities * self._relations + relations)
        first = self._first[pair]
        group, index = expand_ranges(first, first + self._count[pair])
        return Facts(group, self._object[index], torch.zeros_like(group))


def expand_ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The integers of several ranges, one range after the other: [M] int64 range, [M] int64.

    Args:
        start: [F] int64.
        end: [F] int64, exclusive.
    """
    count = end - start
    row = torch.repeat_interleave(torch.arange(len(count)), count)
    before = torch.cumsum(count, 0) - count
    return row, torch.arange(len(row)) - before[row] + start[row]
