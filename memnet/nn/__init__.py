"""Differentiable memories and attention for users of the library; the engine needs none of them."""

from typing import TYPE_CHECKING

from memnet.lazy_names import lazy_names

if TYPE_CHECKING:
    from memnet.nn.attention import AdditiveScore, MultiplicativeScore, attend_selected, kept_mass
    from memnet.nn.dnc import (
        ComputerState,
        DifferentiableMemory,
        DifferentiableNeuralComputer,
        Interface,
        MemoryState,
    )

_HOMES = {
    "AdditiveScore": "memnet.nn.attention",
    "ComputerState": "memnet.nn.dnc",
    "DifferentiableMemory": "memnet.nn.dnc",
    "DifferentiableNeuralComputer": "memnet.nn.dnc",
    "Interface": "memnet.nn.dnc",
    "MemoryState": "memnet.nn.dnc",
    "MultiplicativeScore": "memnet.nn.attention",
    "attend_selected": "memnet.nn.attention",
    "kept_mass": "memnet.nn.attention",
}

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


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
