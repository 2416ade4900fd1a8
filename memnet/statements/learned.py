"""The learned judge: what a new statement does to earlier ones, by the statement network."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines
from memnet.statements.judge import RuleJudge, reading, same_subjects
from memnet.statements.loading import LazyStatementReader
from memnet.statements.protocol import Judgement, Label
from memnet.statements.times import dated_passage
from memnet.storage import Told
from memnet.text.names import normalise

_READ = 12
"""Earlier statements that are read at most."""
_RECENT = 3
"""Statements told last that are always read: "no, 5:30" corrects one of them."""
_SAME_SUBJECT = 1.0
"""What sharing a subject adds to the cosine of two relations, where not all can be read."""
_FLOOR = 0.5
"""Probability of all changes together from which a statement is changed."""
_SURE = 0.8
"""Probability from which another wording is taken for the same statement: a wrong merge loses what
is new in it, a missed one costs a slot."""


class LearnedJudge:
    """Reads a new statement with earlier ones; a ``StatementJudge``.

    What is to be forgotten, and everything where the network is not installed, is judged by rules.
    """

    def __init__(self, reader: LazyStatementReader, rules: RuleJudge) -> None:
        """Join the network and the rules."""
        self._reader = reader
        self._rules = rules

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``."""
        by_rules = self._rules.judge(new, earlier)
        network = self._reader.load() if earlier and new.act != "forget" else None
        if network is None:
            return by_rules
        chosen = sorted(_by_relevance(new, earlier)[:_READ])
        read = network.write(new.text, [dated_passage(earlier[index]) for index in chosen])
        labels, partly = by_rules.labels.copy(), by_rules.partly.copy()
        for row, index in enumerate(chosen):
            if labels[index].argmax() != Label.NONE:
                continue  # the rules see less, but are right more often
            own = read.changes[row].copy()
            if own[Label.MERGE] < _SURE or not _says_nothing_new(new, earlier[index]):
                own[Label.MERGE] = 0
            own /= own.sum()
            if own[Label.NONE] > 1 - _FLOOR:
                own[:] = np.eye(len(Label))[Label.NONE]
            else:
                own[Label.NONE] = 0
            labels[index], partly[index] = own, read.partly[row] > 1 / 2
        return Judgement(labels, partly)


def _by_relevance(new: Told, earlier: Sequence[Told]) -> list[int]:
    """Indices of earlier statements, those first that the new one may change."""
    relations = np.array([one.relation_vector for one in earlier], np.float32)
    scores: NDArray[np.float32] = cosines(new.relation_vector, relations)
    scores = scores + _SAME_SUBJECT * same_subjects(reading(new), [reading(o) for o in earlier])
    last = sorted(range(len(earlier)), key=lambda index: -earlier[index].id)[:_RECENT]
    rest = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in last]
    return [*last, *rest]


def _says_nothing_new(new: Told, earlier: Told) -> bool:
    """Whether all values of a statement, or its words, stand in an earlier one."""
    text = f" {normalise(earlier.text)} "
    values = [normalise(value) for value in new.values] or [normalise(new.text)]
    return all(f" {value} " in text for value in values)
