"""Hop records: what each hop attended to and why, as public values."""

from collections.abc import Mapping

from memnet.documents.hops import HopStep, HopTrace
from memnet.storage import MemoryStore, Slot
from memnet.types import Hop, SlotWeight


def hop_records(trace: HopTrace, store: MemoryStore, most: int) -> tuple[Hop, ...]:
    """The ``most`` most attended slots of each hop, with the parts of their scores."""
    shown = {slot for step in trace.steps for slot in step.ids[:most]}
    senders = {slot for step in trace.steps for slot in step.senders[:most] if slot is not None}
    slots = {slot.id: slot for slot in store.fetch_existing(list(shown | senders))}
    return tuple(
        Hop(hop=number, weights=_weights(step, slots, most))
        for number, step in enumerate(trace.steps, start=1)
    )


def _weights(step: HopStep, slots: Mapping[int, Slot], most: int) -> tuple[SlotWeight, ...]:
    weights: list[SlotWeight] = []
    for place, slot_id in enumerate(step.ids[:most]):
        sender = step.senders[place]
        weights.append(
            SlotWeight(
                id=slot_id,
                source=slots[slot_id].source,
                weight=float(step.weights[place]),
                title=slots[slot_id].title,
                dense=float(step.parts.dense[place]),
                lexical=float(step.parts.lexical[place]),
                symbolic=float(step.parts.symbolic[place]),
                learned=float(step.parts.learned[place]),
                via=step.via[place],
                via_source=None if sender is None else slots[sender].source,
            )
        )
    return tuple(weights)
