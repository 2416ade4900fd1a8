"""Checkpoints: a folder with a description and the tensors that it names.

The description (JSON) is replaced in one step and names its tensor file by content, so that a
checkpoint is always whole: the former one until the new one is complete.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from memnet.errors import ModelError

_FORMAT = 1


def save_checkpoint(
    folder: Path, name: str, tensors: Mapping[str, Tensor], description: Mapping[str, Any]
) -> None:
    """Keep tensors and a description as checkpoint ``name`` of a folder, replacing the former one.

    Args:
        folder: made if it is not there.
        name: of the checkpoint: ``name``.json describes it.
        tensors: by name.
        description: JSON values.

    Raises:
        ModelError: the folder can't be written; the former checkpoint stays.
    """
    data = save(dict(tensors))
    digest = hashlib.sha256(data).hexdigest()
    weights = folder / f"{name}-{digest[:12]}.safetensors"
    described = {"format": _FORMAT, "tensors": weights.name, "sha256": digest, **description}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(weights, data)
        _replace(folder / f"{name}.json", json.dumps(described, indent=1).encode() + b"\n")
        for old in folder.glob(f"{name}-*.safetensors"):
            if old != weights:
                old.unlink()
    except OSError as error:
        raise ModelError(
            f"the model folder {folder} can't be written ({error}); choose another --out"
        ) from error


def load_checkpoint(folder: Path, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description of checkpoint ``name`` of a folder.

    Raises:
        ModelError: there is none, or it is damaged or of another version.
    """
    path = folder / f"{name}.json"
    try:
        description: dict[str, Any] = json.loads(path.read_bytes())
        if description["format"] != _FORMAT:
            raise ModelError(
                f"{path} has format {description['format']}, this version of memnet reads format "
                f"{_FORMAT}; train the model again"
            )
        data = (folder / description["tensors"]).read_bytes()
        if hashlib.sha256(data).hexdigest() != description["sha256"]:
            raise ModelError(
                f"{folder / description['tensors']} is damaged (its checksum is not the one that "
                f"{path.name} gives); restore it or train the model again"
            )
        return load(data), description
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder} holds no whole model ({Path(error.filename).name} is missing); expected a "
            "folder that 'memnet train' made"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelError(
            f"{path} can't be read ({error!r}); restore it or train the model again"
        ) from error


def delete_checkpoint(folder: Path, name: str) -> None:
    """Remove checkpoint ``name`` of a folder, if there is one."""
    (folder / f"{name}.json").unlink(missing_ok=True)
    for weights in folder.glob(f"{name}-*.safetensors"):
        weights.unlink()


def fill(module: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Give a module its tensors.

    Raises:
        ModelError: a tensor is missing, has another shape, or is not of this module.
    """
    own = module.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        found = tuple(tensors[name].shape) if name in tensors else None
        expected = tuple(own[name].shape) if name in own else None
        if found != expected:
            raise ModelError(
                f"the model in {source} does not fit its description: tensor {name} has shape "
                f"{found}, expected {expected}; train the model again"
            )
    module.load_state_dict(dict(tensors))


def _replace(path: Path, data: bytes) -> None:
    """Write a file in one step: a reader sees the former content or the whole new one."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
