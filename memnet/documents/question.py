"""The words of a question, and which of them the candidates hold."""

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage import MemoryStore
from memnet.text.english import query_terms
from memnet.text.names import capitalised_names, normalise, without_names

_MOST_TERMS = 24
"""Words of a question that are looked up; long questions say little more in their later words."""
_MOST_SLOTS = 5000
"""A word that more slots hold tells nothing apart, and is passed over."""
_STEM_LETTERS = 5


class QuestionTerms:
    """Words of one question. T = words that are not too common."""

    def __init__(self, store: MemoryStore, question: str, named: Collection[str]) -> None:
        """Look the words up.

        Args:
            store: the memory.
            question: as asked.
            named: symbols that it names.
        """
        found = store.search_terms(query_terms(question)[:_MOST_TERMS], _MOST_SLOTS)
        terms = [term for term, slots in found.items() if len(slots)]
        rest = set(query_terms(without_names(question, capitalised_names(question, named))))
        self.words = tuple(terms)
        """[T] the words."""
        self._slots = [found[term] for term in terms]
        self.weights: NDArray[np.float32] = _normalised(
            [1 - math.log1p(len(found[term])) / math.log1p(_MOST_SLOTS) for term in terms]
        )
        """[T] float32: rare words weigh more; they sum to one."""
        self.rest: NDArray[np.float32] = _normalised(
            [w if normalise(t) in rest else 0.0 for t, w in zip(terms, self.weights, strict=True)]
        )
        """[T] float32: as ``weights``, without the words of names."""
        self._stems: dict[str, float] = {
            normalise(term)[:_STEM_LETTERS]: weight
            for term, weight in zip(terms, self.weights.tolist(), strict=True)
        }

    def held(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Which words each slot holds: [K] ids to [K, T] float32, 1 or 0."""
        held = np.zeros((len(ids), len(self._slots)), np.float32)
        for term, slots in enumerate(self._slots):
            places = np.searchsorted(slots, ids).clip(max=len(slots) - 1)
            held[:, term] = slots[places] == ids
        return held

    def near(self, words: Sequence[str]) -> float:
        """Share of the question's words that some normalised words hold."""
        stems = {word[:_STEM_LETTERS] for word in words}
        return sum(weight for stem, weight in self._stems.items() if stem in stems)

    def asked(self, words: Sequence[str]) -> float:
        """Share of some normalised words that the question holds."""
        return sum(word[:_STEM_LETTERS] in self._stems for word in words) / len(words)


def _normalised(weights: Sequence[float]) -> NDArray[np.float32]:
    total = sum(weights) or 1.0
    return np.array([weight / total for weight in weights], np.float32)
