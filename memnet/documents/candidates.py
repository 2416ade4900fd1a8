"""What memory and controller exchange in a hop: candidates with their features, and scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SlotFeature(IntEnum):
    """Columns of ``Candidates.features``."""

    DENSE = 0
    """Cosine of question and key; for a fact, of question and relation."""
    LEXICAL = 1
    """BM25 over the best BM25 of the question."""
    NAMED = 2
    """1 where the question names what the slot is about."""
    NAMED_WORDS = 3
    """Length of that name, in threes of words."""
    NAMED_SHARE = 4
    """1 over the number of slots of that name."""
    PART_OF_NAME = 5
    """As ``NAMED_WORDS``, for names inside longer ones too."""
    COVERED = 6
    """Share of the question's words that the slot contains, weighted by IDF."""
    PREVIOUS = 7
    """Its logit of the last hop less the best one, a tenth of it and at least -1."""


class LinkKind(IntEnum):
    """How a link leads from an attended slot, its sender, to a candidate."""

    KEY = 0
    """The sender mentions what the candidate is about."""
    SHARED = 1
    """Both mention one name."""
    BACK = 2
    """The candidate mentions what the sender is about."""


class LinkFeature(IntEnum):
    """Columns of ``Links.features``."""

    KEY = 0
    """1 for the kind of the link; so the next two."""
    SHARED = 1
    BACK = 2
    MENTIONS = 3
    """Logarithm of how many slots mention the name."""
    SLOTS = 4
    """Logarithm of how many slots are about it."""
    WORDS = 5
    """Length of the name, in threes of words."""
    ASKED = 6
    """Share of the name's words that the question contains."""
    POSITION = 7
    """Where the sender first mentions the name, 0 start to 1 end."""
    NEAR = 8
    """Share of the question's words that stand near it there."""
    STRENGTH = 9
    """Attention to the sender over the best slot's."""
    RANK = 10
    """Of the sender, in tens."""
    SENDER_NAMED = 11
    """1 where the question names what the sender is about."""
    BEYOND = 12
    """Share of the question's words, without its names, that the candidate contains and the sender
    does not."""
    TOGETHER = 13
    """Share of the question's words that one of the two contains."""
    LIKENESS = 14
    """Cosine of the two keys."""
    DENSE = 15
    """As of the candidate."""


@dataclass(frozen=True)
class QueryState:
    """What a hop leaves for the next one. The query vector stays that of the question."""

    attended: tuple[int, ...] = ()
    """The slots that the last hop attended to most, best first: the senders of links."""
    logits: Mapping[int, float] | None = None
    """For each slot that the last hop scored its logit less the best one's: at most 0."""


@dataclass(frozen=True)
class Links:
    """Ways from attended slots to candidates. E = links."""

    candidate: NDArray[np.int64]
    """[E] int64: index among the candidates."""
    sender: NDArray[np.int64]
    """[E] int64: slot id."""
    kind: NDArray[np.int64]
    """[E] int64: a ``LinkKind``."""
    features: NDArray[np.float32]
    """[E, G] float32: see ``LinkFeature``."""
    names: tuple[str, ...]
    """[E] the name that links."""


@dataclass(frozen=True)
class Candidates:
    """The slots that addressing picked, with what each way of addressing says of them."""

    ids: tuple[int, ...]
    """[K] slot ids, each once."""
    features: NDArray[np.float32]
    """[K, F] float32: see ``SlotFeature``."""
    named: tuple[str | None, ...]
    """[K] the name by which the question names what the slot is about, if it does."""
    is_fact: NDArray[np.bool_]
    """[K] bool: True for facts, whose ``DENSE`` compares the question with the relation only."""
    links: Links


class Scores(NamedTuple):
    """What a controller makes of K candidates."""

    dense: NDArray[np.float32]
    """[K] float32: the part of the score by vectors, in the unit of a cosine; so the next three."""
    lexical: NDArray[np.float32]
    symbolic: NDArray[np.float32]
    learned: NDArray[np.float32]
    """What training added to the three ways of addressing."""
    link: NDArray[np.int64]
    """[K] int64: the strongest link to each candidate, -1 where there is none."""

    def total(self) -> NDArray[np.float32]:
        """[K] float32."""
        return self.dense + self.lexical + self.symbolic + self.learned
