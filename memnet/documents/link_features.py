"""What is known of links: the numbers that a controller judges them by."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.documents.links import Link, LinkedSlots
from memnet.documents.question import QuestionTerms
from memnet.documents.state import QueryState
from memnet.text.names import normalise

_NEAR = 12
"""Words on each side of a name that stand near it."""


class Senders:
    """The attended slots of one hop, as far as links need them."""

    def __init__(
        self,
        state: QueryState,
        linked: LinkedSlots,
        texts: Mapping[int, str],
        terms: QuestionTerms,
    ) -> None:
        """Read the texts of attended slots.

        Args:
            state: whose attended slots they are.
            linked: what leads on from them.
            texts: of the attended slots.
            terms: of the question.
        """
        self._terms = terms
        self._words = {slot: normalise(text).split() for slot, text in texts.items()}
        self._joined = {slot: f" {' '.join(words)} " for slot, words in self._words.items()}
        self._rows: dict[tuple[int, str], list[float]] = {}
        self._of_senders = {
            slot: [
                math.exp(state.before[slot]),
                place / 10,
                float(not state.named.isdisjoint(linked.symbols[slot].keys)),
            ]
            for place, slot in enumerate(state.attended)
            if slot in linked.symbols
        }

    def row(self, sender: int, name: str) -> list[float]:
        """Those features of a link, "words" to "sender named", that are its sender's and name's."""
        pair = sender, name
        if pair not in self._rows:
            self._rows[pair] = [*self._of_name(sender, name), *self._of_senders[sender]]
        return self._rows[pair]

    def _of_name(self, sender: int, name: str) -> list[float]:
        """Its length, what of it is asked, where it first stands, and what stands near it."""
        words = name.split()
        text = self._words[sender]
        start = self._joined[sender].find(f" {name} ")
        if start < 0 or not words:
            return [len(words) / 3, self._terms.asked(words or [""]), 1.0, 0.0]
        place = self._joined[sender].count(" ", 0, start)
        around = text[max(0, place - _NEAR) : place + len(words) + _NEAR]
        return [
            len(words) / 3, self._terms.asked(words), place / len(text), self._terms.near(around),
        ]  # fmt: skip


def link_features(
    links: Sequence[Link],
    senders: Senders,
    places: Mapping[int, int],
    vectors: NDArray[np.float32],
    dense: NDArray[np.float32],
    held: NDArray[np.float32],
    terms: QuestionTerms,
) -> NDArray[np.float32]:
    """[E, G] float32, as ``LINK_FEATURES`` says.

    Args:
        links: E of them, at least one.
        senders: their senders.
        places: of slots among the candidates.
        vectors: [K, D] keys of the candidates.
        dense: [K] cosines of the candidates with the question.
        held: [K, T] the question's words that the candidates hold.
        terms: those words.
    """
    sender = np.array([places[link.sender] for link in links], np.int64)
    slot = np.array([places[link.slot] for link in links], np.int64)
    kinds = np.eye(3, dtype=np.float32)[[link.kind for link in links]]
    counts = np.log1p(np.array([(link.mentions, link.slots) for link in links], np.float32))
    rows = np.array([senders.row(link.sender, link.name) for link in links], np.float32)
    beyond = np.einsum("et,t->e", held[slot] * (1 - held[sender]), terms.rest)
    together = np.einsum("et,t->e", np.maximum(held[slot], held[sender]), terms.weights)
    likeness = np.einsum("ed,ed->e", vectors[sender], vectors[slot])
    pairs = np.stack([beyond, together, likeness, dense[slot]], axis=1)
    features: NDArray[np.float32] = np.concatenate([kinds, counts, rows, pairs], axis=1)
    return features
