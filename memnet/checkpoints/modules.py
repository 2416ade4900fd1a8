"""Checkpoints as the tensors of torch modules."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from memnet.checkpoints.files import MODEL, check_kinds, check_weights
from memnet.errors import ModelError

_Module = TypeVar("_Module", bound=nn.Module)


def arrays_of(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Tensors of any device as arrays, to be kept as a checkpoint."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """The arrays of a checkpoint as tensors."""
    return {name: torch.tensor(array) for name, array in arrays.items()}


def fill(module: nn.Module, arrays: Mapping[str, NDArray[Any]], source: Path) -> None:
    """Give a module its tensors.

    Args:
        module: to fill.
        arrays: by name.
        source: where they come from, for errors.

    Raises:
        ModelError: as ``check_fit``, or a tensor holds what is no weight.
    """
    check_fit(module, arrays, source)
    check_weights(arrays, source)
    module.load_state_dict(tensors_of(arrays))


def check_fit(module: nn.Module, arrays: Mapping[str, NDArray[Any]], source: Path) -> None:
    """Check that arrays are the tensors of a module, which may be one without memory of its own.

    Raises:
        ModelError: a tensor is missing, has another shape or type, or is not of this module.
    """
    expected = {
        name: (tuple(tensor.shape), torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)
        for name, tensor in module.state_dict().items()
    }
    check_kinds(arrays, expected, source)


def load_module(
    make: Callable[[], _Module], arrays: Mapping[str, NDArray[Any]], source: Path
) -> _Module:
    """Make a module and load its weights, for inference.

    Shapes are checked on the meta device first, so that a hostile description can't allocate.

    Args:
        make: makes the module; its weights are initialised without a change to the global seed.
        arrays: by name.
        source: where they come from, for errors.

    Raises:
        ModelError: as for ``fill``, or ``make`` fails: the description is not one of such a module.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            with torch.device("meta"):
                check_fit(make(), arrays, source)
            module = make()
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise undescribed(source, error) from error
    fill(module, arrays, source)
    return module.eval()


def undescribed(folder: Path, error: Exception) -> ModelError:
    """The error of a checkpoint whose description is not one of a model."""
    return ModelError(
        f"{folder / MODEL}.json does not describe a model ({' '.join(repr(error).split())}); "
        "train it again"
    )
