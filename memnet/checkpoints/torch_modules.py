"""Checkpoints as the tensors of torch modules."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from torch import Tensor, nn

from memnet.checkpoints import MODEL, check_shapes, check_weights
from memnet.errors import ModelError

_Module = TypeVar("_Module", bound=nn.Module)
_Description = TypeVar("_Description", bound=BaseModel)


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
    _check_module(module, arrays, source)
    check_weights(arrays, source)
    module.load_state_dict(tensors_of(arrays))


def _check_module(module: nn.Module, arrays: Mapping[str, NDArray[Any]], source: Path) -> None:
    """Check that arrays are the tensors of a module, which may be on the meta device."""
    expected = {
        name: (tuple(tensor.shape), torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)
        for name, tensor in module.state_dict().items()
    }
    check_shapes(arrays, expected, source)


def load_module(
    make: Callable[[], _Module], arrays: Mapping[str, NDArray[Any]], source: Path
) -> _Module:
    """Make a module and load its weights, for inference; errors as for ``load_state``.

    Shapes are checked on the meta device first, so that a hostile description can't allocate. The
    global random state is restored.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            with torch.device("meta"):
                _check_module(make(), arrays, source)
            module = make()
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise _invalid_description(source, error) from error
    load_state(module, arrays, source)
    return module.eval()


def parse_description(
    kind: type[_Description], description: Mapping[str, Any], source: Path
) -> _Description:
    """The description of a checkpoint as a value; ModelError if it is not one of such a model."""
    try:
        return kind.model_validate(description)
    except ValidationError as error:
        raise _invalid_description(source, error) from error


def _invalid_description(folder: Path, error: Exception) -> ModelError:
    return ModelError(
        f"{folder / MODEL}.json does not describe a model ({' '.join(repr(error).split())}); "
        "train it again"
    )
