"""The write controller: what to do with a statement, by attention over earlier ones."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines, softmax
from memnet.config import TellConfig
from memnet.statements.parsing import ParsedStatement

Action = Literal["add", "merge", "supersede", "end", "erase"]
"""``end`` closes the validity of what it affects and adds nothing; ``erase`` deletes it."""


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
        self,
        relation: NDArray[np.float32],
        relations: NDArray[np.float32],
        same_verb: NDArray[np.bool_],
        permitted: NDArray[np.bool_],
    ) -> NDArray[np.float32]:
        """Attention weights [K + 1] float32 of the statements and, last, of the empty slot.

        Args:
            relation: [D] float32, the new statement's relation vector.
            relations: [K, D] float32, those of the earlier statements.
            same_verb: [K] bool: True where a rule about verbs says that the relation is the same.
            permitted: [K] bool: True where a statement may be affected.
        """
        scores = cosines(relation, relations) + self._config.same_verb_weight * same_verb
        with np.errstate(all="ignore"):  # a temperature close to 0 overflows
            scores = np.append(scores, self._config.same_relation_floor) / self._config.temperature
            return softmax(scores.astype(np.float32), np.append(permitted, True))

    def choose(
        self,
        new: ParsedStatement,
        earlier: Sequence[ParsedStatement],
        valid: NDArray[np.bool_],
        relation: NDArray[np.float32],
        relations: NDArray[np.float32],
    ) -> Choice:
        """What to do with a statement.

        Args:
            new: the statement.
            earlier: K statements about its subject.
            valid: [K] bool: False for those that have ended.
            relation: [D] float32, the relation vector of the new statement.
            relations: [K, D] float32, those of the earlier ones.
        """

        def mask(compare: Callable[[ParsedStatement], bool]) -> NDArray[np.bool_]:
            return np.array([compare(one) for one in earlier], np.bool_)

        same_verb = mask(lambda one: new.relation.shares_aspect(one.relation, named=True))
        exclusive = mask(lambda one: new.relation.shares_aspect(one.relation))
        same_value = mask(lambda one: new.relation.same_value(one.relation))
        same_words = mask(lambda one: new.words == one.words)
        same_aspects = mask(lambda one: new.relation.aspects == one.relation.aspects)
        opposite = mask(lambda one: new.negative != one.negative)
        permitted = valid | (new.act == "forget")
        weights = self.attention(relation, relations, same_verb, permitted)

        excluded = exclusive & (weights[:-1] > weights[-1])
        same = permitted & (same_words | (excluded & same_value))
        repeated, contradicted = same & ~opposite, same & opposite
        replaced = excluded & ~same_value & ~opposite & (not new.negative)
        if new.act == "forget":
            return _choice("erase", repeated, weights, "It was to be forgotten.")
        if new.act == "end" and contradicted.any():
            return _choice("end", contradicted, weights, "It holds no longer; it stays as history.")
        if contradicted.any():
            reason = "It contradicts what was told before."
            return _choice("supersede", contradicted | replaced | repeated, weights, reason)
        if replaced.any():
            reason = "The same subject and relation have a new value."
            return _choice("supersede", replaced | repeated, weights, reason)
        if (repeated & same_words).any():
            return _choice("merge", repeated & same_words, weights, "It was told before.")
        if (repeated & same_aspects).any():
            reason = "Its subject, relation and value were told before in other words."
            return _choice("merge", repeated & same_aspects, weights, reason)
        if len(same):
            return Choice("add", (), "Nothing told about its subject excludes it.")
        return Choice("add", (), "Nothing was told about its subject before.")


def _choice(
    action: Action, affected: NDArray[np.bool_], weights: NDArray[np.float32], reason: str
) -> Choice:
    indices = np.flatnonzero(affected).tolist()
    ranked = sorted(((i, float(weights[i])) for i in indices), key=lambda one: -one[1])
    return Choice(action, tuple(ranked[:1] if action == "merge" else ranked), reason)
