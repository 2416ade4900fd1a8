"""Checkpoints as the tensors of torch modules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from memnet.checkpoints import check_shapes, check_weights


def arrays_of(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Tensors of any device as arrays of a checkpoint."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """The arrays of a checkpoint as tensors."""
    return {name: torch.tensor(array) for name, array in arrays.items()}


def load_state(module: nn.Module, arrays: Mapping[str, NDArray[Any]], source: Path) -> None:
    """Load a module's weights, by name.

    ModelError if one is missing, has another shape or dtype, is not of this module, or holds
    numbers that are no weights.
    """
    expected = {
        name: (tuple(tensor.shape), torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)
        for name, tensor in module.state_dict().items()
    }
    check_shapes(arrays, expected, source)
    check_weights(arrays, source)
    module.load_state_dict(tensors_of(arrays))
