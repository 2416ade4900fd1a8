"""Answers from facts: the whole set of values of the best subject and relation."""

from collections.abc import Sequence

from memnet.readers.ranked import Ranked
from memnet.types import Candidate


def read_facts(ranked: Sequence[Ranked]) -> tuple[Candidate, ...]:
    """The values of all facts that share subject, relation and direction with the best one.

    Args:
        ranked: slots, best first; the first is a fact.

    Returns:
        Distinct values, best first.
    """
    best = ranked[0].slot
    values: dict[str, Candidate] = {}
    for item in ranked:
        slot = item.slot
        if (slot.kind, slot.title, slot.relation) == (best.kind, best.title, best.relation):
            values.setdefault(slot.value, Candidate(text=slot.value, score=item.score))
    return tuple(values.values())
