"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import MENTION, Encoder, TokenStates

__all__ = ["MENTION", "Encoder", "MiniLMEncoder", "TokenStates"]
