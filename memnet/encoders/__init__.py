"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import (
    MENTION,
    DocumentEncoder,
    Encoder,
    QuickEncoder,
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
    "QuickEncoder",
    "StaticEncoder",
    "TokenEncoder",
    "TokenStates",
    "token_encoder",
]
