"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import (
    MENTION,
    DocumentEncoder,
    Encoder,
    TokenEncoder,
    TokenStates,
    token_encoder,
)
from memnet.encoders.static import StaticEncoder

__all__ = [
    "MENTION",
    "DocumentEncoder",
    "Encoder",
    "MiniLMEncoder",
    "StaticEncoder",
    "TokenEncoder",
    "TokenStates",
    "token_encoder",
]
