"""Storage: slots on disk, searched by vector, by words and by symbol. No torch in here."""

from memnet.storage.bundle.restore import import_bundle, stored_fingerprint
from memnet.storage.folder import DATABASE
from memnet.storage.scope import EVERYWHERE, Scope
from memnet.storage.store import MemoryStore
from memnet.storage.values import (
    ChangeBy,
    Encode,
    Hits,
    Keys,
    NewSlot,
    NewSource,
    PutCounts,
    Slot,
    SourceState,
    StoreCounts,
    Structure,
    Symbols,
    Told,
)

__all__ = [
    "DATABASE",
    "EVERYWHERE",
    "ChangeBy",
    "Encode",
    "Hits",
    "Keys",
    "MemoryStore",
    "NewSlot",
    "NewSource",
    "PutCounts",
    "Scope",
    "Slot",
    "SourceState",
    "StoreCounts",
    "Structure",
    "Symbols",
    "Told",
    "import_bundle",
    "stored_fingerprint",
]
