"""Encoders: texts to vectors."""

from memnet.encoders.minilm import MiniLMEncoder

__all__ = ["MiniLMEncoder"]
