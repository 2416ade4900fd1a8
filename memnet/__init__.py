"""memnet: question answering over an external memory, read by attention in several hops."""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.config import Config
    from memnet.engine import Engine
    from memnet.errors import (
        DependencyError,
        DeviceError,
        EncoderError,
        EncoderMismatchError,
        InputError,
        MemnetError,
        ModelError,
        Problem,
        StoreBusyError,
        StoreError,
    )
    from memnet.ingest.watching import watch
    from memnet.learning.evaluation import Question
    from memnet.storage import MemoryStore, Scope
    from memnet.types import (
        Alignment,
        Answer,
        Candidate,
        Cell,
        Copy,
        Decision,
        Document,
        Evaluation,
        Eviction,
        Evidence,
        ExpertWeight,
        Fact,
        Hop,
        IngestReport,
        Message,
        Quote,
        ReliabilityBin,
        SlotWeight,
        Source,
        Statement,
        StatementChange,
        StoreInfo,
        StoreModel,
        TellReport,
        UndoReport,
        VerifyReport,
        WatchReport,
        Word,
    )

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "Answer",
    "Candidate",
    "Cell",
    "Config",
    "Copy",
    "Decision",
    "DependencyError",
    "DeviceError",
    "Document",
    "EncoderError",
    "EncoderMismatchError",
    "Engine",
    "Evaluation",
    "Eviction",
    "Evidence",
    "ExpertWeight",
    "Fact",
    "Hop",
    "IngestReport",
    "InputError",
    "MemnetError",
    "MemoryStore",
    "Message",
    "ModelError",
    "Problem",
    "Question",
    "Quote",
    "ReliabilityBin",
    "Scope",
    "SlotWeight",
    "Source",
    "Statement",
    "StatementChange",
    "StoreBusyError",
    "StoreError",
    "StoreInfo",
    "StoreModel",
    "TellReport",
    "UndoReport",
    "VerifyReport",
    "WatchReport",
    "Word",
    "watch",
]

# All others are values.
_HOMES = {
    name: "memnet.errors" if name.endswith("Error") else "memnet.types" for name in __all__
} | {
    "Config": "memnet.config",
    "Problem": "memnet.errors",
    "Engine": "memnet.engine",
    "MemoryStore": "memnet.storage",
    "Scope": "memnet.storage",
    "Question": "memnet.learning.evaluation",
    "watch": "memnet.ingest.watching",
}
# ``import memnet`` loads neither torch nor FAISS.
__getattr__, __dir__ = lazy_names(__name__, _HOMES, "__version__")
