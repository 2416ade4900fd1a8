"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder, StaticEncoder
from memnet.encoders.protocol import (
    MENTION,
    DocumentEncoder,
    Encoder,
    QuickEncoder,
    TokenEncoder,
    TokenStates,
    UnitEncoder,
    UnitVectors,
    token_encoder,
)

__all__ = [
    "MENTION",
    "DocumentEncoder",
    "Encoder",
    "MiniLMEncoder",
    "QuickEncoder",
    "StaticEncoder",
    "TokenEncoder",
    "TokenStates",
    "UnitEncoder",
    "UnitVectors",
    "token_encoder",
]
