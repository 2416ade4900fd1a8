"""Differentiable memories and attention for users of the library; the engine needs none of them."""

from memnet.nn.attention import AdditiveScore, MultiplicativeScore, attend_selected, kept_mass
from memnet.nn.dnc import (
    ComputerState,
    DifferentiableMemory,
    DifferentiableNeuralComputer,
    Interface,
    MemoryState,
)

__all__ = [
    "AdditiveScore",
    "ComputerState",
    "DifferentiableMemory",
    "DifferentiableNeuralComputer",
    "Interface",
    "MemoryState",
    "MultiplicativeScore",
    "attend_selected",
    "kept_mass",
]
