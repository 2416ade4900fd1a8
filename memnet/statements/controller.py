"""The write controller: what to do with a statement, by attention over earlier ones."""

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
    """Earlier statements about the subject of a new one. K = statements, D = width of a vector."""

    relations: NDArray[np.float32]
    """[K, D] float32: relation vectors."""
    permitted: NDArray[np.bool_]
    """[K] bool: True where the statement may be affected."""
    exclusive: NDArray[np.bool_]
    """[K] bool: True where both are about an aspect that has one value at a time."""
    same_verb: NDArray[np.bool_]
    """[K] bool: True where a rule about verbs says that both are about the same aspect."""
    same_value: NDArray[np.bool_]
    """[K] bool: True where it has the new one's value."""
    same_words: NDArray[np.bool_]
    """[K] bool: True where it is the same, word for word."""
    same_aspects: NDArray[np.bool_]
    """[K] bool: True where both are about the same aspects."""
    opposite: NDArray[np.bool_]
    """[K] bool: True where one of the two is negated and the other is not."""


class Choice(NamedTuple):
    """What to do with a statement."""

    action: Action
    affected: tuple[tuple[int, float], ...]
    """Index, 0..K-1, and attention weight of each statement it affects; most attended first."""
    reason: str


class WriteController:
    """Attends to earlier statements about the subject of a new one, by relation.

    An empty slot with a fixed score is attended to as well: a statement that gets less attention
    than it has another relation. So "none of them" is an outcome of the attention.

    Source: addressing of a write by content, Graves et al. 2016, Methods, "Content-based
    addressing"; the empty slot, and the rules on what it leaves, are this project's own.
    """

    def __init__(self, config: TellConfig) -> None:
        """Take the weights from the settings."""
        self._config = config

    def attention(
        self, relation: NDArray[np.float32], earlier: EarlierStatements
    ) -> NDArray[np.float32]:
        """Attention weights [K + 1] float32 of the statements and, last, of the empty slot.

        Args:
            relation: [D] float32, the new statement's relation vector.
            earlier: statements about its subject.
        """
        similarity = cosines(relation, earlier.relations)
        scores = similarity + self._config.same_verb_weight * earlier.same_verb
        with np.errstate(all="ignore"):  # a temperature close to 0 overflows
            scores = np.append(scores, self._config.same_relation_floor) / self._config.temperature
            return softmax(scores.astype(np.float32), np.append(earlier.permitted, True))

    def choose(
        self,
        relation: NDArray[np.float32],
        earlier: EarlierStatements,
        act: Literal["tell", "end", "forget"],
        negative: bool,
    ) -> Choice:
        """What to do with a statement.

        Args:
            relation: [D] float32, its relation vector.
            earlier: statements about its subject.
            act: whether it holds, holds no longer, or is to be forgotten.
            negative: whether its predicate is negated.
        """
        weights = self.attention(relation, earlier)
        excluded = earlier.exclusive & (weights[:-1] > weights[-1])
        same = earlier.permitted & (earlier.same_words | (excluded & earlier.same_value))
        repeated, contradicted = same & ~earlier.opposite, same & earlier.opposite
        replaced = excluded & ~earlier.same_value & ~earlier.opposite & (not negative)
        if act == "forget":
            return _choice("erase", repeated, weights, "It was to be forgotten.")
        if act == "end" and contradicted.any():
            return _choice("end", contradicted, weights, "It holds no longer; it stays as history.")
        if contradicted.any():
            reason = "It contradicts what was told before."
            return _choice("supersede", contradicted | replaced | repeated, weights, reason)
        if replaced.any():
            reason = "The same subject and relation have a new value."
            return _choice("supersede", replaced | repeated, weights, reason)
        if (repeated & earlier.same_words).any():
            return _choice("merge", repeated & earlier.same_words, weights, "It was told before.")
        if (repeated & earlier.same_aspects).any():
            reason = "Its subject, relation and value were told before in other words."
            return _choice("merge", repeated & earlier.same_aspects, weights, reason)
        if len(same):
            return Choice("add", (), "Nothing told about its subject excludes it.")
        return Choice("add", (), "Nothing was told about its subject before.")


def _choice(
    action: Action, affected: NDArray[np.bool_], weights: NDArray[np.float32], reason: str
) -> Choice:
    indices = np.flatnonzero(affected).tolist()
    ranked = sorted(((i, float(weights[i])) for i in indices), key=lambda one: -one[1])
    return Choice(action, tuple(ranked[:1] if action == "merge" else ranked), reason)
