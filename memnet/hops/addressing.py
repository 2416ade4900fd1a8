"""Addressing: the slots a query state might be about, by vector, by words and by symbol."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from memnet.config import HopConfig
from memnet.controllers import Candidates, Lead, QueryState
from memnet.ingest.names import as_names, stems, without_names
from memnet.storage import Encode, Keys, MemoryStore, query_terms

_STEM_LETTERS = 4
"""Words of relations and questions are compared by their first letters."""
_SLOTS_A_SYMBOL = 2000
"""Most slots that one symbol may propose: the facts of a very common entity, or all the windows
of a very long document."""


class Addressing:
    """Picks candidates for one question, remembering what hops of the same question share."""

    def __init__(
        self,
        store: MemoryStore,
        encode: Encode,
        question: str,
        config: HopConfig,
        namespace: str | None,
    ) -> None:
        """Set up addressing.

        Args:
            store: the memory.
            encode: encodes the question for comparison with relations, where facts are met.
            question: as asked.
            config: settings.
            namespace: to look in; None for all.
        """
        self._store = store
        self._encode = encode
        self._question = question
        self._limit = config.candidates
        self._relation_words = config.relation_words_weight
        self._namespace = namespace
        self._dense: tuple[Tensor, list[int]] | None = None
        self._lexical: dict[int, float] | None = None
        self._relation_query: tuple[NDArray[np.float32], frozenset[str]] | None = None

    def candidates(self, state: QueryState) -> Candidates:
        """The slots that a query state reaches, each once."""
        lexical = self._lexical_scores()
        keyed = self._store.search_symbolic(
            {*state.named, *state.leads}, _SLOTS_A_SYMBOL, self._namespace
        )
        symbolic = [slot for ids in keyed.values() for slot in ids]
        proposed = dict.fromkeys([*self._dense_ids(state.vector), *lexical, *symbolic])
        keys = self._store.keys(list(proposed))
        ids = tuple(keys.ids.tolist())
        named, led, via = _leads(ids, state, keyed)
        best = max(lexical.values(), default=1.0)
        vectors = torch.from_numpy(keys.vectors)
        return Candidates(
            ids=ids,
            keys=vectors,
            values=vectors,
            dense=torch.from_numpy(self._similarity(keys, state)),
            lexical=torch.tensor([lexical.get(slot, 0.0) / best for slot in ids]),
            named=torch.tensor(named),
            led=torch.tensor(led),
            via=tuple(via),
            is_fact=torch.from_numpy(keys.is_fact),
        )

    def _dense_ids(self, vector: Tensor) -> list[int]:
        if self._dense is None or self._dense[0] is not vector:
            hits = self._store.search_dense(vector.numpy(), self._limit, self._namespace)
            self._dense = vector, hits.ids[hits.mask].tolist()
        return self._dense[1]

    def _lexical_scores(self) -> dict[int, float]:
        if self._lexical is None:
            hits = self._store.search_lexical(self._question, self._limit, self._namespace)
            found = hits.ids[hits.mask].tolist()
            self._lexical = dict(zip(found, hits.scores[hits.mask].tolist(), strict=True))
        return self._lexical

    def _similarity(self, keys: Keys, state: QueryState) -> NDArray[np.float32]:
        """Cosine [K] of each key with the question.

        For facts, of their relation and the question's words but the names, plus something for
        words that are shared: "who stars in" and "starred actors".
        """
        similarity: NDArray[np.float32] = keys.vectors @ state.vector.numpy()
        if not keys.is_fact.any():
            return similarity
        if self._relation_query is None:
            asked = without_names(self._question, as_names(self._question, state.named))
            vector = self._encode([" ".join(query_terms(asked))])[0]
            self._relation_query = vector, stems(asked, _STEM_LETTERS)
        vector, words = self._relation_query
        shared = {name: _shared(stems(name, _STEM_LETTERS), words) for name in set(keys.relations)}
        relation = keys.vectors @ vector + self._relation_words * np.array(
            [shared[name] for name in keys.relations], np.float32
        )
        return np.where(keys.is_fact, relation, similarity)


def _shared(relation: frozenset[str], asked: frozenset[str]) -> float:
    return len(relation & asked) / max(1, len(relation))


def _leads(
    ids: tuple[int, ...], state: QueryState, keyed: Mapping[str, list[int]]
) -> tuple[list[float], list[float], list[str | None]]:
    """For each slot: whether the question names it, its strongest lead, and by which symbol."""
    named: dict[int, str] = {}
    led: dict[int, tuple[Lead, str]] = {}
    for name, slots in keyed.items():
        lead = state.leads.get(name)
        for slot in slots:
            if name in state.named:
                named.setdefault(slot, name)
            if lead is not None and (slot not in led or led[slot][0].strength < lead.strength):
                led[slot] = lead, name
    return (
        [1.0 if slot in named else 0.0 for slot in ids],
        [led[slot][0].strength if slot in led else 0.0 for slot in ids],
        [led[slot][1] if slot in led else named.get(slot) for slot in ids],
    )
