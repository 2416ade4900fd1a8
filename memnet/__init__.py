"""memnet: question answering over an external memory, read by attention in several hops."""

from typing import TYPE_CHECKING

from memnet.lazy_names import lazy_names

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


__getattr__ = lazy_names(__name__, _HOMES)
"""``import memnet`` loads neither torch nor FAISS."""


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
