"""Storage: slots on disk, searched by vector, by words and by symbol. No torch in here."""

from memnet.storage.slots import Hits, NewSlot, NewSource, PutCounts, Slot, SourceState, StoreCounts
from memnet.storage.store import Encode, MemoryStore

__all__ = [
    "Encode",
    "Hits",
    "MemoryStore",
    "NewSlot",
    "NewSource",
    "PutCounts",
    "Slot",
    "SourceState",
    "StoreCounts",
]
