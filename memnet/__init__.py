"""memnet: question answering over an external memory, read by attention in several hops."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memnet.config import Config
    from memnet.engine import Engine
    from memnet.errors import MemnetError
    from memnet.storage import MemoryStore
    from memnet.types import Answer, Document, Evidence, Fact, Hop

__version__ = "0.1.0"

_HOMES = {
    "Answer": "memnet.types",
    "Config": "memnet.config",
    "Document": "memnet.types",
    "Engine": "memnet.engine",
    "Evidence": "memnet.types",
    "Fact": "memnet.types",
    "Hop": "memnet.types",
    "MemnetError": "memnet.errors",
    "MemoryStore": "memnet.storage",
}

__all__ = [
    "Answer",
    "Config",
    "Document",
    "Engine",
    "Evidence",
    "Fact",
    "Hop",
    "MemnetError",
    "MemoryStore",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: ``import memnet`` loads neither torch nor FAISS."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
