"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import MENTION, Encoder, TokenEncoder, TokenStates, encode_tokens

__all__ = ["MENTION", "Encoder", "MiniLMEncoder", "TokenEncoder", "TokenStates", "encode_tokens"]
