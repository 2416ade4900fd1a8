"""The write controller: what becomes of something told, from attention over what is stored."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines, softmax
from memnet.config import TellConfig

Action = Literal["add", "merge", "supersede", "end", "erase"]
"""``end`` closes the validity of what it affects and adds nothing; ``erase`` deletes it."""


@dataclass(frozen=True)
class EarlierStatements:
    """What was told about the subject of a new statement. K = statements, D = width of a vector."""

    relations: NDArray[np.float32]
    """[K, D] float32: relation vectors."""
    permitted: NDArray[np.bool_]
    """[K] bool: True where the statement may be affected."""
    exclusive: NDArray[np.bool_]
    """[K] bool: True where it and the new one speak of what may hold one value at a time."""
    same_verb: NDArray[np.bool_]
    """[K] bool: True where a rule about verbs says that they speak of the same."""
    same_value: NDArray[np.bool_]
    """[K] bool: True where it has the new one's value."""
    same_words: NDArray[np.bool_]
    """[K] bool: True where it says the same, word for word."""
    same_aspects: NDArray[np.bool_]
    """[K] bool: True where it speaks of all that the new one does, and of nothing else."""
    opposite: NDArray[np.bool_]
    """[K] bool: True where one of the two denies what it says and the other does not."""


class Choice(NamedTuple):
    """What to do with something told."""

    action: Action
    affected: tuple[tuple[int, float], ...]
    """Place, 0..K-1, and attention weight of each statement it affects; most attended first."""
    reason: str


class WriteController:
    """Attends to what was told about the subject of a new statement, by relation.

    An empty slot with a fixed score stands among the statements: one that gets less attention than
    the empty slot has another relation. So "none of them" is an outcome of the attention, and the
    weights say how clear it was.

    Source: addressing of a write by content, Graves et al. 2016, Methods, "Content-based
    addressing"; the empty slot, and the rules on what it leaves, are this project's own.
    """

    def __init__(self, config: TellConfig) -> None:
        """Take the weights from the configuration."""
        self._config = config

    def attention(
        self, relation: NDArray[np.float32], before: EarlierStatements
    ) -> NDArray[np.float32]:
        """Attention weights [K + 1] float32 of the statements and, last, of the empty slot.

        Args:
            relation: [D] float32, the new statement's relation vector.
            before: what was told about its subject.
        """
        likeness = cosines(relation, before.relations)
        scores = likeness + self._config.same_verb_weight * before.same_verb
        with np.errstate(all="ignore"):  # a temperature of next to nothing gives no numbers
            scores = np.append(scores, self._config.same_relation_floor) / self._config.temperature
            return softmax(scores.astype(np.float32), np.append(before.permitted, True))

    def choose(
        self,
        relation: NDArray[np.float32],
        before: EarlierStatements,
        act: Literal["tell", "end", "forget"],
        negative: bool,
    ) -> Choice:
        """What to do with a statement.

        Args:
            relation: [D] float32, its relation vector.
            before: what was told about its subject.
            act: whether it is told, said to hold no longer, or to be forgotten.
            negative: whether it denies what it says.
        """
        weights = self.attention(relation, before)
        excluded = before.exclusive & (weights[:-1] > weights[-1])
        alike = before.permitted & (before.same_words | (excluded & before.same_value))
        repeated, denied = alike & ~before.opposite, alike & before.opposite
        replaced = excluded & ~before.same_value & ~before.opposite & (not negative)
        if act == "forget":
            return _choice("erase", repeated, weights, "It was to be forgotten.")
        if act == "end" and denied.any():
            return _choice("end", denied, weights, "It holds no longer; it stays as history.")
        if denied.any():
            reason = "It contradicts what was told before."
            return _choice("supersede", denied | replaced | repeated, weights, reason)
        if replaced.any():
            reason = "The same subject and relation have a new value."
            return _choice("supersede", replaced | repeated, weights, reason)
        if (repeated & before.same_words).any():
            return _choice("merge", repeated & before.same_words, weights, "It was told before.")
        if (repeated & before.same_aspects).any():
            reason = "Its subject, relation and value were told before in other words."
            return _choice("merge", repeated & before.same_aspects, weights, reason)
        known = "Nothing told about its subject excludes it."
        return Choice(
            "add", (), known if len(alike) else "Nothing was told about its subject before."
        )


def _choice(
    action: Action, affected: NDArray[np.bool_], weights: NDArray[np.float32], reason: str
) -> Choice:
    places = np.flatnonzero(affected).tolist()
    ranked = sorted(((place, float(weights[place])) for place in places), key=lambda one: -one[1])
    return Choice(action, tuple(ranked[:1] if action == "merge" else ranked), reason)
