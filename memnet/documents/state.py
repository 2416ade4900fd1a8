"""What passes between memory and controller in a hop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SLOT_FEATURES = (
    "dense", "lexical", "named", "named words", "named share", "part of a name", "covered",
    "before",
)  # fmt: skip
"""What addressing says of a candidate: the columns of ``Candidates.features``.

dense: cosine of question and key; for a fact, of question and relation. lexical: BM25 over the
best BM25 of the question. named: 1 where the question names what the slot is about. named words:
length of that name, in threes of words. named share: 1 over the slots of that name. part of a
name: as named words, for names inside longer ones too. covered: share of the question's words that
the slot holds, rare words counting more. before: its logit of the last hop less the best one, a
tenth of it and at least -1.
"""

KEY, SHARED, BACK = range(3)
"""Kinds of link from an attended slot to a candidate: it mentions what the candidate is about; both
mention one name; the candidate mentions what it is about."""

LINK_FEATURES = (
    "key", "shared", "back", "mentions", "slots", "words", "asked", "place", "near", "strength",
    "rank", "sender named", "beyond", "together", "likeness", "dense",
)  # fmt: skip
"""What is known of a link: the columns of ``Links.features``.

key, shared, back: 1 for the kind. mentions, slots: logarithms of how many slots mention the name
and are about it. words: of the name, in threes. asked: share of them that the question holds.
place: where the sender first mentions it, 0 start to 1 end. near: share of the question's words
that stand near it there. strength: attention to the sender over the best slot's. rank: of the
sender, in tens. sender named: the question names what the sender is about. beyond: share of the
question's words, its names left out, that the candidate holds and the sender does not. together:
share of the question's words that one of the two holds. likeness: cosine of the two keys. dense: as
of the slot.
"""


@dataclass(frozen=True)
class QueryState:
    """What the next hop looks for. D = width of a vector."""

    vector: NDArray[np.float32]
    """[D] float32, of length one: the question."""
    named: frozenset[str]
    """Symbols that the question itself names."""
    attended: tuple[int, ...]
    """The slots that the last read attended to most, best first: the senders of links."""
    before: Mapping[int, float]
    """For each slot that the last read scored its logit less the best one's: at most 0."""


@dataclass(frozen=True)
class Links:
    """Ways from attended slots to candidates. E = links."""

    candidate: NDArray[np.int64]
    """[E] int64: place among the candidates."""
    sender: NDArray[np.int64]
    """[E] int64: slot id."""
    kind: NDArray[np.int64]
    """[E] int64: KEY, SHARED or BACK."""
    features: NDArray[np.float32]
    """[E, G] float32: see ``LINK_FEATURES``."""
    names: tuple[str, ...]
    """[E] the name that links."""

    @property
    def strength(self) -> NDArray[np.float32]:
        """[E] float32, 0..1: the attention to the sender over the best slot's."""
        return self.features[:, LINK_FEATURES.index("strength")]


@dataclass(frozen=True)
class Candidates:
    """The slots that addressing picked, with what each way of addressing says of them."""

    ids: tuple[int, ...]
    """[K] slot ids, each once."""
    values: NDArray[np.float32]
    """[K, D] float32: value vectors."""
    features: NDArray[np.float32]
    """[K, F] float32: see ``SLOT_FEATURES``."""
    named: tuple[str | None, ...]
    """[K] the name by which the question names what the slot is about, if it does."""
    is_fact: NDArray[np.bool_]
    """[K] bool: True for facts, whose "dense" compares the question with the relation only."""
    links: Links

    def feature(self, name: str) -> NDArray[np.float32]:
        """[K] float32: one of ``SLOT_FEATURES``."""
        return self.features[:, SLOT_FEATURES.index(name)]


class Parts(NamedTuple):
    """The score of each candidate, in its parts: each [K] float32, in the unit of a cosine."""

    dense: NDArray[np.float32]
    lexical: NDArray[np.float32]
    symbolic: NDArray[np.float32]
    learned: NDArray[np.float32]
    """What training added to the three ways of addressing."""

    def total(self) -> NDArray[np.float32]:
        """[K] float32."""
        return self.dense + self.lexical + self.symbolic + self.learned


class Scores(NamedTuple):
    """What a controller makes of candidates."""

    parts: Parts
    link: NDArray[np.int64]
    """[K] int64: the strongest link to each candidate, -1 where there is none."""
