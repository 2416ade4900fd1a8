"""Digests: by which content that is stored already is known."""

import hashlib
from collections.abc import Sequence

from memnet.storage.slots import DigestedSlot, NewSlot


def with_digests(slots: Sequence[NewSlot]) -> list[DigestedSlot]:
    """Slots with the digests that their rows are found by."""
    return [
        DigestedSlot(
            slot,
            digest_of(
                slot.kind, slot.title, slot.text, slot.start, slot.end, slot.relation, slot.value,
                slot.key_text, *slot.key_symbols, "", *slot.value_symbols,
            ),
            digest_of(slot.key_text),
            None if slot.valid_from is None else digest_of(slot.relation),
        )
        for slot in slots
    ]  # fmt: skip


def digest_of(*parts: object) -> bytes:
    """16 bytes that stand for some values, in their order."""
    return hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()
