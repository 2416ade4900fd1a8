"""Addressing: the slots a query state might be about, by vector, by words and by symbol."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from memnet.config import HopConfig
from memnet.documents.link_features import Senders, link_features
from memnet.documents.links import SLOTS_A_SYMBOL, LinkedSlots, linked_slots
from memnet.documents.question import QuestionTerms
from memnet.documents.state import LINK_FEATURES, SLOT_FEATURES, Candidates, Links, QueryState
from memnet.storage import Encode, Keys, MemoryStore, Scope
from memnet.text.english import query_terms
from memnet.text.names import capitalised_names, maximal_names, possible_names, stems, without_names

_STEM_LETTERS = 4
"""Words of relations and questions are compared by their first letters."""
_UNSEEN = -1.0
"""The feature "before" of what the last hop did not score, and its least value."""


class Addressing:
    """Picks candidates for one question, remembering what hops of the same question share.

    The question may be encoded on another thread while this one looks its words up.
    """

    def __init__(
        self,
        store: MemoryStore,
        encode: Encode,
        question: str,
        config: HopConfig,
        scope: Scope,
        beside: bool = False,
    ) -> None:
        """Encode the question and look up what it names and the words it holds.

        Args:
            store: the memory, of one commit.
            encode: encodes the question.
            question: as asked.
            config: settings.
            scope: which sources to look in.
            beside: whether to do both at a time.
        """
        self._store = store
        self._encode = encode
        self._question = question
        self._config = config
        self._scope = scope
        encoded = _threads(os.getpid()).submit(encode, [question]) if beside else None
        names = possible_names(question)
        self._known = store.search_symbolic(names, SLOTS_A_SYMBOL, scope)
        """Slots about everything that some words of the question may name."""
        self.named = maximal_names(self._known)
        """Symbols that the question names, without those inside longer ones."""
        self._terms = QuestionTerms(store, question, self.named)
        self._lexical = self._found_by_words()
        vectors = encode([question]) if encoded is None else encoded.result()
        self.vector: NDArray[np.float32] = vectors[0]
        """[D] float32: the encoded question."""

    def candidates(self, state: QueryState) -> Candidates:
        """The slots that a query state reaches, each once."""
        linked = linked_slots(self._store, state.attended, self._scope)
        named = [slot for name in self.named for slot in self._known[name]]
        proposed = dict.fromkeys(
            [*self._dense, *self._lexical, *named, *state.attended]
            + [link.slot for link in linked.links]
        )
        keys = self._store.existing_keys(list(proposed))
        dense = self._similarity(keys)
        held = self._terms.held(keys.ids)
        return Candidates(
            ids=tuple(keys.ids.tolist()),
            values=keys.vectors,
            features=self._features(keys, dense, held, state),
            named=tuple(self._named_by.get(slot) for slot in keys.ids.tolist()),
            is_fact=keys.is_fact,
            links=self._links(linked, state, keys, dense, held),
        )

    @cached_property
    def _named_by(self) -> dict[int, str]:
        """For each slot that the question names, the longest name by which it does."""
        return {slot: name for name in reversed(self.named) for slot in self._known[name]}

    @cached_property
    def _longest_part(self) -> dict[int, int]:
        """For each slot the words of the longest name of it in the question, whole or not."""
        return {
            slot: len(name.split())
            for name in sorted(self._known, key=lambda name: len(name.split()))
            for slot in self._known[name]
        }

    @cached_property
    def _dense(self) -> list[int]:
        hits = self._store.search_dense(self.vector, self._config.candidates, self._scope)
        found: list[int] = hits.ids[hits.mask].tolist()
        return found

    def _found_by_words(self) -> dict[int, float]:
        """BM25 of the slots that share words with the question, over the best of them.

        Words that very many slots hold are passed over, unless there are no others.
        """
        words = " ".join(self._terms.words) or self._question
        hits = self._store.search_lexical(query_terms(words), self._config.candidates, self._scope)
        scores = hits.scores[hits.mask]
        relative = scores / max(scores.max(initial=0.0), 1e-9)
        return dict(zip(hits.ids[hits.mask].tolist(), relative.tolist(), strict=True))

    @cached_property
    def _relation_query(self) -> tuple[NDArray[np.float32], frozenset[str]]:
        """Vector and stems of the question's words without its names."""
        asked = without_names(self._question, capitalised_names(self._question, self.named))
        return self._encode([" ".join(query_terms(asked))])[0], stems(asked, _STEM_LETTERS)

    def _similarity(self, keys: Keys) -> NDArray[np.float32]:
        """Cosine [K] of each key with the question.

        For facts, of their relation and the question's words but the names, plus something for
        words that are shared: "who stars in" and "starred actors".
        """
        similarity: NDArray[np.float32] = keys.vectors @ self.vector
        if not keys.is_fact.any():
            return similarity
        vector, words = self._relation_query
        shared = {name: _shared(stems(name, _STEM_LETTERS), words) for name in set(keys.relations)}
        relation = keys.vectors @ vector + self._config.relation_words_weight * np.array(
            [shared[name] for name in keys.relations], np.float32
        )
        return np.where(keys.is_fact, relation, similarity)

    def _features(
        self,
        keys: Keys,
        dense: NDArray[np.float32],
        held: NDArray[np.float32],
        state: QueryState,
    ) -> NDArray[np.float32]:
        """[K, F] float32, as ``SLOT_FEATURES`` says."""
        slots = keys.ids.tolist()
        features = np.zeros((len(slots), len(SLOT_FEATURES)), np.float32)
        features[:, 0] = dense
        features[:, 1] = [self._lexical.get(slot, 0.0) for slot in slots]
        for place, slot in enumerate(slots):
            if slot in self._named_by:
                name = self._named_by[slot]
                features[place, 2:5] = 1.0, len(name.split()) / 3, 1 / len(self._known[name])
        features[:, 5] = [self._longest_part.get(slot, 0) / 3 for slot in slots]
        if state.before:
            before = np.array([state.before.get(slot, -np.inf) for slot in slots])
            features[:, 7] = np.maximum(_UNSEEN, before / 10)
        features[:, 6] = np.einsum("kt,t->k", held, self._terms.weights)
        return features

    def _links(
        self,
        linked: LinkedSlots,
        state: QueryState,
        keys: Keys,
        dense: NDArray[np.float32],
        held: NDArray[np.float32],
    ) -> Links:
        places = {slot: place for place, slot in enumerate(keys.ids.tolist())}
        links = linked.links
        if not links:
            return _no_links()
        texts = {slot.id: slot.text for slot in self._store.fetch_existing(state.attended)}
        senders = Senders(state, linked, texts, self._terms)
        return Links(
            candidate=_integers([places[link.slot] for link in links]),
            sender=_integers([link.sender for link in links]),
            kind=_integers([link.kind for link in links]),
            features=link_features(links, senders, places, keys.vectors, dense, held, self._terms),
            names=tuple(link.name for link in links),
        )


@lru_cache(maxsize=1)
def _threads(_process: int) -> ThreadPoolExecutor:
    """Threads that encode questions, of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count())


@cache
def _no_links() -> Links:
    none = _integers([])
    return Links(none, none, none, np.zeros((0, len(LINK_FEATURES)), np.float32), ())


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _shared(relation: frozenset[str], asked: frozenset[str]) -> float:
    return len(relation & asked) / max(1, len(relation))
