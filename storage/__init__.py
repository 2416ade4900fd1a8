"""Storage: slots on disk, searched by vector, by words and by symbol. No torch in here."""

from memnet.storage.restored_store import import_bundle, stored_fingerprint
from memnet.storage.slots import (
    Hits,
    Keys,
    NewSlot,
    NewSource,
    PutCounts,
    Slot,
    SourceState,
    StoreCounts,
    Symbols,
)
from memnet.storage.store import Encode, MemoryStore
from memnet.storage.terms import query_terms

__all__ = [
    "Encode",
    "Hits",
    "Keys",
    "MemoryStore",
    "NewSlot",
    "NewSource",
    "PutCounts",
    "Slot",
    "SourceState",
    "StoreCounts",
    "Symbols",
    "import_bundle",
    "query_terms",
    "stored_fingerprint",
]
