"""Answers from facts: the whole set of values of the best subject and relation."""

from collections.abc import Sequence

from memnet.config import AnswerConfig
from memnet.reader.passages import RankedSlot
from memnet.text.names import normalise
from memnet.types import Candidate


def read_facts(
    question: str, facts: Sequence[RankedSlot], config: AnswerConfig
) -> tuple[Candidate, ...]:
    """The values of all facts that share subject, relation and direction with the best one.

    What the question names is not its answer: a fact read backwards ("Orre calls, read backwards,
    the Morning Petrel") shares its relation with the fact that is asked for.

    Args:
        question: as asked.
        facts: best first.
        config: how close the relation of the best fact must be to the question.

    Returns:
        Distinct values, best first; none when the best fact is not about the question.
    """
    asked = f" {normalise(question)} "
    news = [item for item in facts if f" {normalise(item.slot.value)} " not in asked]
    if not news or news[0].similarity < config.relation_floor:
        return ()
    best = news[0].slot
    values: dict[str, Candidate] = {}
    for item in news:
        slot = item.slot
        if (slot.kind, slot.title, slot.relation) == (best.kind, best.title, best.relation):
            values.setdefault(slot.value, Candidate(text=slot.value, score=item.score))
    return tuple(values.values())
