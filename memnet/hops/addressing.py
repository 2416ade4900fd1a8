"""Addressing: the slots a query state might be about, by vector, by words and by symbol."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from memnet.controllers import Candidates, QueryState
from memnet.storage import Encode, Hits, MemoryStore

_SLOTS_A_SYMBOL = 2000
"""Most slots that one symbol may propose: the facts of a very common entity, or all the windows
of a very long document."""


class Addressing:
    """Picks candidates for one question, remembering what hops of the same question share."""

    def __init__(
        self, store: MemoryStore, encode: Encode, question: str, limit: int, namespace: str | None
    ) -> None:
        """Set up addressing.

        Args:
            store: the memory.
            encode: encodes the question for comparison with relations, where facts are met.
            question: as asked.
            limit: slots that dense and lexical addressing each propose.
            namespace: to look in; None for all.
        """
        self._store = store
        self._encode = encode
        self._question = question
        self._limit = limit
        self._namespace = namespace
        self._dense: tuple[NDArray[np.float32], list[int]] | None = None
        self._lexical: dict[int, float] | None = None
        self._relation_query: NDArray[np.float32] | None = None

    def candidates(self, state: QueryState) -> Candidates:
        """The slots that a query state reaches, each once."""
        vector = state.vector.numpy()
        lexical = self._lexical_scores()
        keyed = self._store.search_symbolic(
            {*state.named, *state.leads}, _SLOTS_A_SYMBOL, self._namespace
        )
        proposed = [*self._dense_ids(vector), *lexical, *(slot for ids in keyed.values() for slot in ids)]
        slots = self._store.fetch(list(dict.fromkeys(proposed)))
        ids = tuple(slot.id for slot in slots)
        keys = self._store.vectors(ids)
        facts = np.array([slot.kind != "passage" for slot in slots], bool)
        named, led, via = _leads(ids, state, keyed)
        best = max(lexical.values(), default=1.0)
        key_tensor = torch.from_numpy(keys)
        return Candidates(
            ids=ids,
            keys=key_tensor,
            values=key_tensor,
            dense=torch.from_numpy(self._similarity(keys, vector, facts)),
            lexical=torch.tensor([lexical.get(slot, 0.0) / best for slot in ids]),
            named=named,
            led=led,
            via=via,
            is_fact=torch.from_numpy(facts),
        )

    def _dense_ids(self, vector: NDArray[np.float32]) -> list[int]:
        if self._dense is None or self._dense[0] is not vector:
            hits = self._store.search_dense(vector, self._limit, self._namespace)
            self._dense = vector, _ids(hits)
        return self._dense[1]

    def _lexical_scores(self) -> dict[int, float]:
        if self._lexical is None:
            hits = self._store.search_lexical(self._question, self._limit, self._namespace)
            self._lexical = dict(zip(_ids(hits), hits.scores[hits.mask].tolist(), strict=True))
        return self._lexical
