"""Memories of facts that hops can follow: the store itself, or all of its facts in arrays."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from memnet.facts.controller import RelationKeys
from memnet.storage import MemoryStore, Scope


class Outgoing(NamedTuple):
    """The relations of the facts about some entities. G = entity and relation."""

    row: Tensor
    """[G] int64: which of the entities."""
    relation: Tensor
    """[G] int64."""
    size: Tensor
    """[G] int64: how many facts."""


class Followed(NamedTuple):
    """Facts. M of them."""

    row: Tensor
    """[M] int64: which of the pairs of entity and relation they belong to."""
    object: Tensor
    """[M] int64: the entity that each leads to."""
    slot: Tensor
    """[M] int64: ids; 0 where the memory keeps none."""


class FactMemory(Protocol):
    """Facts, addressed by entity and relation; both are numbers that mean nothing elsewhere."""

    def outgoing(self, entities: Tensor) -> Outgoing:
        """The relations of the facts about entities [F] int64, each once."""
        ...

    def followed(self, entities: Tensor, relations: Tensor) -> Followed:
        """The facts about entities [G] int64 with relations [G] int64."""
        ...

    def keys(self, relations: Tensor) -> RelationKeys:
        """The keys of relations [R] int64."""
        ...


class StoredFacts:
    """The facts of a store as of one read of it. An entity is a symbol."""

    def __init__(self, store: MemoryStore, scope: Scope, known: Mapping[str, int]) -> None:
        """Look into a store.

        Args:
            store: the memory.
            scope: which sources to look in.
            known: the number that training gave to the relations it saw.
        """
        self._store = store
        self._scope = scope
        self._known = known

    def outgoing(self, entities: Tensor) -> Outgoing:
        """As the protocol says."""
        found = torch.from_numpy(self._store.facts.outgoing(entities.tolist(), self._scope))
        ordered, places = torch.sort(entities)
        row = places[torch.searchsorted(ordered, found[:, 0].contiguous())]
        return Outgoing(row, found[:, 1], found[:, 2])

    def followed(self, entities: Tensor, relations: Tensor) -> Followed:
        """As the protocol says."""
        pairs = zip(entities.tolist(), relations.tolist(), strict=True)
        found = torch.from_numpy(self._store.facts.follow(pairs, self._scope))
        return Followed(found[:, 0], found[:, 1], found[:, 2])

    def keys(self, relations: Tensor) -> RelationKeys:
        """As the protocol says."""
        names, vectors = self._store.facts.relation_keys(relations.tolist())
        known = torch.tensor([self._known.get(name, 0) for name in names], dtype=torch.int64)
        return RelationKeys(torch.from_numpy(vectors), known)


class FactGraph:
    """All facts of a store in arrays, for training: facts by entity, and by relation in those."""

    def __init__(self, symbols: Tensor, links: Tensor, keys: RelationKeys) -> None:
        """Take the facts.

        Args:
            symbols: [N] int64, rising: the symbol that each entity is in the store.
            links: [M, 3] int64 entity, relation, entity; sorted, each once.
            keys: of all relations.
        """
        self.symbols = symbols
        self._object = links[:, 2].contiguous()
        groups, self._count = torch.unique_consecutive(links[:, :2], dim=0, return_counts=True)
        self._first = torch.cumsum(self._count, 0) - self._count
        self._relation = groups[:, 1].contiguous()
        self._relations = len(keys.known)
        self._pair = groups[:, 0] * self._relations + groups[:, 1]
        bounds = torch.arange(len(symbols) + 1) * self._relations
        self._bounds = torch.searchsorted(self._pair, bounds)
        self._keys = keys

    @classmethod
    def of(cls, store: MemoryStore) -> tuple[Self, tuple[str, ...]]:
        """The facts of a store, and what names their relations in any store.

        Relations are numbered from 1 in the keys, in the order of these names.
        """
        links = store.facts.all()
        symbols, entities = np.unique(links[:, [0, 2]], return_inverse=True)
        relations, places = np.unique(links[:, 1], return_inverse=True)
        entities = entities.reshape(-1, 2)
        numbered = np.stack([entities[:, 0], places, entities[:, 1]], axis=1)
        numbered = numbered[np.lexsort(numbered.T[::-1])]
        names, vectors = store.facts.relation_keys(relations.tolist())
        keys = RelationKeys(torch.from_numpy(vectors), torch.arange(1, len(names) + 1))
        graph = cls(torch.from_numpy(symbols), torch.from_numpy(numbered), keys)
        return graph, tuple(names)

    def entities(self, symbols: Iterable[int]) -> list[int]:
        """The entities that symbols of the store are; those without facts are left out."""
        wanted = torch.tensor(list(symbols), dtype=torch.int64)
        places = torch.searchsorted(self.symbols, wanted).clamp(max=len(self.symbols) - 1)
        found: list[int] = places[self.symbols[places] == wanted].tolist()
        return found

    def outgoing(self, entities: Tensor) -> Outgoing:
        """As the protocol says."""
        row, group = ranges(self._bounds[entities], self._bounds[entities + 1])
        return Outgoing(row, self._relation[group], self._count[group])

    def followed(self, entities: Tensor, relations: Tensor) -> Followed:
        """As the protocol says."""
        group = torch.searchsorted(self._pair, entities * self._relations + relations)
        first = self._first[group]
        row, place = ranges(first, first + self._count[group])
        return Followed(row, self._object[place], torch.zeros_like(row))

    def keys(self, relations: Tensor) -> RelationKeys:
        """As the protocol says."""
        return RelationKeys(self._keys.vectors[relations], self._keys.known[relations])


def ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers from each start to its end, one range after the other, with their rows.

    Args:
        start: [F] int64.
        end: [F] int64, exclusive.
    """
    count = end - start
    row = torch.repeat_interleave(torch.arange(len(count)), count)
    before = torch.cumsum(count, 0) - count
    return row, torch.arange(len(row)) - before[row] + start[row]
