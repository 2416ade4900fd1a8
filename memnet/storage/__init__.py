"""Storage: slots on disk, searched by vector, by words and by symbol. No torch in here."""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.storage.bundle import copy_store, export_bundle, import_bundle
    from memnet.storage.overview import existing_encoder, stored_encoder
    from memnet.storage.store import MemoryStore
    from memnet.storage.values import (
        EVERYWHERE,
        ChangeBy,
        Encode,
        Hits,
        Keys,
        NewSlot,
        NewSource,
        PassageVectors,
        Scope,
        Slot,
        SourceFilter,
        Structure,
        Symbols,
        Told,
        UnitKeys,
    )

__all__ = [
    "EVERYWHERE",
    "ChangeBy",
    "Encode",
    "Hits",
    "Keys",
    "MemoryStore",
    "NewSlot",
    "NewSource",
    "PassageVectors",
    "Scope",
    "Slot",
    "SourceFilter",
    "Structure",
    "Symbols",
    "Told",
    "UnitKeys",
    "copy_store",
    "existing_encoder",
    "export_bundle",
    "import_bundle",
    "stored_encoder",
]

# All others are values.
_HOMES = dict.fromkeys(__all__, "memnet.storage.values") | {
    "MemoryStore": "memnet.storage.store",
    "copy_store": "memnet.storage.bundle",
    "export_bundle": "memnet.storage.bundle",
    "import_bundle": "memnet.storage.bundle",
    "existing_encoder": "memnet.storage.overview",
    "stored_encoder": "memnet.storage.overview",
}
# Looking into a database loads neither the vector index nor what it needs.
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
