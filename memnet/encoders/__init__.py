"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import MENTION, Encoder, TokenEncoder, TokenStates, token_encoder

__all__ = ["MENTION", "Encoder", "MiniLMEncoder", "TokenEncoder", "TokenStates", "token_encoder"]
