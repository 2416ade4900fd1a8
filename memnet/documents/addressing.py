"""Addressing: the slots a query state might be about, by vector, by words and by symbol."""

import numpy as np
from numpy.typing import NDArray

from memnet.config import HopConfig
from memnet.documents.candidates import (
    Candidates,
    QueryState,
    SlotFeature,
    find_links,
    links_with_features,
)
from memnet.documents.question import Question, relation_stems
from memnet.storage import Keys
from memnet.text.english import query_terms

_MIN_PREVIOUS = -1.0
"""Least value of the feature ``PREVIOUS``, and that of a slot that the last hop did not score."""


class Addressing:
    """Picks candidates for the hops of one question; what does not change is looked up once."""

    def __init__(self, question: Question, config: HopConfig) -> None:
        """Search for the question by words and by vector."""
        self._question = question
        self._config = config
        # By words first: the vector may still be computed on another thread.
        self._lexical = _lexical(question, config.candidates)
        hits = question.store.search_dense(question.vector, config.candidates, question.scope)
        self._dense: list[int] = hits.ids[hits.mask].tolist()
        by_name = question.slots_by_name
        self._name_of = {slot: name for name in reversed(question.named) for slot in by_name[name]}
        """For each slot that the question names, the longest name by which it does."""
        self._name_words = {
            slot: len(name.split())
            for name in sorted(by_name, key=lambda name: len(name.split()))
            for slot in by_name[name]
        }
        """For each slot the words of the longest name of it in the question, whole or not."""

    def candidates(self, state: QueryState) -> Candidates:
        """The slots that a query state reaches, each once."""
        question, fetched = self._question, self._question.fetched
        links = find_links(fetched.symbols(state.attended), question.store, question.scope)
        named = [slot for name in question.named for slot in question.slots_by_name[name]]
        ids = tuple(
            dict.fromkeys(
                [*self._dense, *self._lexical, *named, *state.attended]
                + [link.slot for link in links]
            )
        )
        fetched.slots(state.attended)  # in one query; the texts of senders are features of links
        keys = fetched.keys(ids)
        dense = self._similarity(keys)
        occurs = question.terms.occurrences(keys.ids)
        return Candidates(
            ids=ids,
            features=self._features(ids, dense, occurs, state),
            named=tuple(map(self._name_of.get, ids)),
            is_fact=keys.is_fact,
            links=links_with_features(links, state, question, ids, keys.vectors, dense, occurs),
        )

    def _similarity(self, keys: Keys) -> NDArray[np.float32]:
        """Cosine [K] of each key with the question.

        For facts, of their relation and the question's words but the names, plus something for
        words that are shared: "who stars in" and "starred actors".
        """
        similarity: NDArray[np.float32] = keys.vectors @ self._question.vector
        if not keys.is_fact.any():
            return similarity
        vector, asked = self._question.relation
        stems = {name: relation_stems(name) for name in set(keys.relations)}
        shared = {name: len(own & asked) / max(1, len(own)) for name, own in stems.items()}
        relation = keys.vectors @ vector + self._config.relation_words_weight * np.array(
            [shared[name] for name in keys.relations], np.float32
        )
        return np.where(keys.is_fact, relation, similarity)

    def _features(
        self,
        ids: tuple[int, ...],
        dense: NDArray[np.float32],
        occurs: NDArray[np.float32],
        state: QueryState,
    ) -> NDArray[np.float32]:
        """[K, F] float32, as ``SlotFeature`` says."""
        features = np.zeros((len(ids), len(SlotFeature)), np.float32)
        features[:, SlotFeature.DENSE] = dense
        features[:, SlotFeature.LEXICAL] = [self._lexical.get(slot, 0.0) for slot in ids]
        for index, slot in enumerate(ids):
            name = self._name_of.get(slot)
            if name is not None:
                features[index, SlotFeature.NAMED] = 1.0
                features[index, SlotFeature.NAMED_WORDS] = len(name.split()) / 3
                features[index, SlotFeature.NAMED_SHARE] = 1 / len(
                    self._question.slots_by_name[name]
                )
        features[:, SlotFeature.PART_OF_NAME] = [self._name_words.get(slot, 0) / 3 for slot in ids]
        features[:, SlotFeature.COVERED] = np.einsum(
            "kt,t->k", occurs, self._question.terms.weights
        )
        if state.logits:
            logits = np.array([state.logits.get(slot, -np.inf) for slot in ids])
            features[:, SlotFeature.PREVIOUS] = np.maximum(_MIN_PREVIOUS, logits / 10)
        return features


def _lexical(question: Question, limit: int) -> dict[int, float]:
    """BM25 of the slots that share words with the question, over the best of them.

    Words that very many slots hold are passed over, unless there are no others.
    """
    words = " ".join(question.terms.words) or question.text
    hits = question.store.search_lexical(query_terms(words), limit, question.scope)
    scores = hits.scores[hits.mask]
    relative = scores / max(scores.max(initial=0.0), 1e-9)
    return dict(zip(hits.ids[hits.mask].tolist(), relative.tolist(), strict=True))
