"""What an answer shows: its evidence and hops, with what a bridge led to."""

from collections.abc import Sequence
from dataclasses import replace

from memnet.reader.decompose.bridging import Bridged
from memnet.reader.passages import RankedSlot
from memnet.types import Hop, SlotWeight

_PLACE = 3
"""Where the first passage that a bridge found stands among the evidence, counted from 0."""


def with_bridged(
    ranked: Sequence[RankedSlot], bridged: Bridged | None, hop: int
) -> list[RankedSlot]:
    """Evidence with the passage that a bridge led to, if it is not among the first already.

    Args:
        ranked: what the hops found, best first.
        bridged: what was asked next, if anything.
        hop: number of the read that found its passages.
    """
    if bridged is None or not bridged.passages:
        return list(ranked)
    first = bridged.passages[0]
    before = list(ranked[:_PLACE])
    if any(item.slot.id == first.slot.id for item in before):
        return list(ranked)
    known = {item.slot.id: item for item in ranked}
    after = [item for item in ranked[_PLACE:] if item.slot.id != first.slot.id]
    return [*before, known.get(first.slot.id, replace(first, hop=hop)), *after]


def judged_first(
    judged_by: Sequence[RankedSlot], ranked: Sequence[RankedSlot], hop: int
) -> list[RankedSlot]:
    """Evidence with what an answer was judged by first, whatever the hops ranked above it.

    Args:
        judged_by: the passages of the answer, its own first.
        ranked: the evidence, best first.
        hop: number of the read that found what is not among ``ranked``.
    """
    known = {item.slot.id: item for item in ranked}
    first = {item.slot.id: known.get(item.slot.id, replace(item, hop=hop)) for item in judged_by}
    return [*first.values(), *(item for item in ranked if item.slot.id not in first)]


def bridged_hop(bridged: Bridged, hop: int) -> Hop:
    """The read that a bridge led to, as a hop: its passages share the attention, most first."""
    total = sum(item.attention for item in bridged.passages) or 1.0
    attended = sorted(bridged.passages, key=lambda item: -item.attention)
    return Hop(
        hop=hop,
        weights=tuple(
            SlotWeight(
                id=item.slot.id,
                source=item.slot.source,
                weight=item.attention / total,
                title=item.slot.title,
                via=bridged.name,
            )
            for item in attended
        ),
    )
