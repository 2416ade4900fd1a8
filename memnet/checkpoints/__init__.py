"""Checkpoints: a folder with a description (JSON) and the tensors (safetensors) that it names.

The description is replaced in one step and names its tensor file by content, so that a checkpoint
is always whole: the former one until the new one is complete.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from memnet.errors import InputError, ModelError
from memnet.io import open_file, replace_file

_Description = TypeVar("_Description", bound=BaseModel)

MODEL = "model"  # Name of a trained model's checkpoint within its folder
# The folders of the checkpoints that ship with memnet.
SHIPPED = Path(__file__).parents[1] / "shipped"
_FORMAT = 1
_MAX_DESCRIPTION_BYTES = 50_000_000
_MAX_TENSOR_BYTES = 2_000_000_000  # A hundred times those of what ships
# No trained weight comes near it, and products of larger ones overflow. In float32, so that weights
# in half precision, which ends at 65,504, are compared in it.
_MAX_WEIGHT = np.float32(1e6)


def shipped_models() -> dict[str, Path]:
    """The folders of the models that ship with memnet and answer questions, by their names."""
    return {path.parent.name: path.parent for path in SHIPPED.glob(f"*/{MODEL}.json")}


def save_checkpoint(
    folder: Path, name: str, tensors: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> None:
    """Save tensors and a description, JSON values, as checkpoint ``name`` of a folder.

    The former one is replaced, or stays where the folder can't be written (ModelError).
    """
    data = save(dict(tensors))
    digest = hashlib.sha256(data).hexdigest()
    weights = folder / f"{name}-{digest[:12]}.safetensors"
    described = {"format": _FORMAT, "tensors": weights.name, "sha256": digest, **description}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(weights, data)
        replace_file(folder / f"{name}.json", json.dumps(described, indent=1).encode() + b"\n")
        for old in folder.glob(f"{name}-*.safetensors"):
            if old != weights:
                old.unlink()
    except OSError as error:
        raise ModelError(
            f"the model folder {folder} can't be written ({error}); choose another --out"
        ) from error


def load_checkpoint(folder: Path, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The tensors and the description of checkpoint ``name`` of a folder.

    Raises:
        ModelError: there is none, or it is damaged or of another version.
    """
    path = folder / f"{name}.json"
    try:
        description: dict[str, Any] = json.loads(_content(path, _MAX_DESCRIPTION_BYTES))
        if description["format"] != _FORMAT:
            raise ModelError(
                f"{path} has format {description['format']}, this version of memnet reads format "
                f"{_FORMAT}; train the model again"
            )
        if not re.fullmatch(rf"{name}-[0-9a-f]{{12}}\.safetensors", description["tensors"]):
            raise ModelError(
                f"{path} names the tensors {description['tensors']!r}, expected "
                f"'{name}-<12 hex digits>.safetensors'; restore it or train the model again"
            )
        data = _content(folder / description["tensors"], _MAX_TENSOR_BYTES)
        if hashlib.sha256(data).hexdigest() != description["sha256"]:
            raise ModelError(
                f"{folder / description['tensors']} is damaged (its checksum is not the one that "
                f"{path.name} gives); restore it or train the model again"
            )
        return load(data), description
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder} holds no complete model ({Path(error.filename).name} is missing); expected "
            "a folder that 'memnet train' made"
        ) from error
    except (
        InputError, OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError,
    ) as error:  # fmt: skip
        raise ModelError(
            f"{path} can't be read ({error!r}); restore it or train the model again"
        ) from error


def delete_checkpoint(folder: Path, name: str) -> None:
    """Remove checkpoint ``name`` of a folder, if there is one."""
    (folder / f"{name}.json").unlink(missing_ok=True)
    for weights in folder.glob(f"{name}-*.safetensors"):
        weights.unlink()


def check_weights(tensors: Mapping[str, NDArray[Any]], source: Path) -> None:
    """ModelError if a number of the tensors of a source is not finite, or far too large."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not bool((np.abs(tensor) <= _MAX_WEIGHT).all()):
            raise ModelError(
                f"the model in {source} is damaged: tensor {name} holds numbers that are not "
                f"finite or over {_MAX_WEIGHT:g}; restore it or train the model again"
            )


def check_tensors(
    tensors: Mapping[str, NDArray[Any]], expected: Mapping[str, tuple[Any, ...]], source: Path
) -> None:
    """ModelError if tensors of a source don't have just the names, shapes and dtypes expected.

    Or if they hold numbers that are no weights.
    """
    shapes = {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
    for name in sorted(shapes.keys() | expected.keys()):
        if shapes.get(name) != expected.get(name):
            raise ModelError(
                f"the model in {source} does not fit its description: tensor {name} has shape "
                f"{_shown(shapes.get(name))}, expected {_shown(expected.get(name))}; train the "
                "model again"
            )
    check_weights(tensors, source)


def parse_description(
    kind: type[_Description], description: Mapping[str, Any], source: Path
) -> _Description:
    """The description of a checkpoint as a value; ModelError if it is not one of such a model."""
    try:
        return kind.model_validate(description)
    except ValidationError as error:
        raise ModelError(
            f"{source / MODEL}.json does not describe a model ({' '.join(repr(error).split())}); "
            "train it again"
        ) from error


def shapes_of(lines: str, sizes: Mapping[str, int]) -> dict[str, tuple[Any, ...]]:
    """Shapes and dtypes for ``check_tensors`` from lines "KIND AXES NAME ...".

    AXES are numbers or names of sizes between commas; a "layer" has a weight of these axes and a
    bias of the first, a "tensor" is one array.
    """
    shapes: dict[str, tuple[Any, ...]] = {}
    for line in filter(None, map(str.split, lines.splitlines())):
        kind, axes, *names = line
        shape = tuple(sizes[one] if one in sizes else int(one) for one in axes.split(",") if one)
        for name in names:
            parts = {".weight": shape, ".bias": shape[:1]} if kind == "layer" else {"": shape}
            shapes |= {name + part: (one, np.float32) for part, one in parts.items()}
    return shapes


def _shown(shape_and_dtype: tuple[Any, ...] | None) -> str:
    if shape_and_dtype is None:
        return "None"
    shape, dtype = shape_and_dtype
    return str(tuple(shape)) if dtype == np.float32 else f"{tuple(shape)} of {dtype}"


def _content(path: Path, max_bytes: int) -> bytes:
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise ValueError(f"{path.name} holds {size:,} bytes, the limit is {max_bytes:,}")
        return file.read(max_bytes)
