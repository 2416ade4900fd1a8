"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import Encoder

__all__ = ["Encoder", "MiniLMEncoder"]
