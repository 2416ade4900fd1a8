"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder, StaticEncoder
from memnet.encoders.protocol import (
    MENTION,
    Encoder,
    QuickEncoder,
    TokenEncoder,
    TokenStates,
    TwoSidedEncoder,
    UnitEncoder,
    UnitVectors,
    document_encode,
    query_encode,
    token_encoder,
)

__all__ = [
    "MENTION",
    "Encoder",
    "MiniLMEncoder",
    "QuickEncoder",
    "StaticEncoder",
    "TokenEncoder",
    "TokenStates",
    "TwoSidedEncoder",
    "UnitEncoder",
    "UnitVectors",
    "document_encode",
    "query_encode",
    "token_encoder",
]
