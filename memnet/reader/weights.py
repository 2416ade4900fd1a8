"""The weights of span readers as folders: eight bits each, and without the encoder's embeddings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from memnet.checkpoints.files import (
    check_kinds,
    check_weights,
    load_checkpoint,
    save_checkpoint,
)
from memnet.encoders.weights import WEIGHTS_SHA256, checked_folder, internal_name, is_network_tensor
from memnet.errors import ModelError
from memnet.reader.span_scores import HEADS

READER = "reader"
"""Name of the checkpoint within its folder."""
EMBEDDINGS = ("encoder.words.weight", "encoder.positions.weight")
"""Weights that are not trained: they are those of the encoder's package."""
_WIDTH = 384
_SCALE = ".scale"
_STEPS = 127
_SMALLEST = 1e-12


def save_weights(
    folder: Path, weights: Mapping[str, NDArray[np.float32]], notes: Mapping[str, Any]
) -> None:
    """Keep a reader's weights, each row of a matrix as eight-bit numbers with one scale.

    Args:
        folder: made if it is not there.
        weights: by name; the embeddings are left out.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    trained = {name: array for name, array in weights.items() if name not in EMBEDDINGS}
    description = {"kind": READER, "encoder": WEIGHTS_SHA256, "trained": dict(notes)}
    save_checkpoint(folder, READER, _quantised(trained), description)


def load_weights(folder: Path) -> dict[str, NDArray[Any]]:
    """A reader's weights by name, but for the embeddings.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
    """
    arrays, _ = checked_reader(folder)
    weights = _restored(arrays, folder)
    check_kinds(weights, _kinds(), folder)
    check_weights(weights, folder)
    return weights


def _kinds() -> dict[str, tuple[Any, ...]]:
    """Shape and type of each weight: the encoder's but for the embeddings, and the pointers."""
    with safe_open(checked_folder() / "model.safetensors", "numpy") as published:
        shapes = {
            f"encoder.{internal_name(name)}": tuple(published.get_slice(name).get_shape())
            for name in published.keys()  # noqa: SIM118 (it is no mapping)
            if is_network_tensor(name)
        }
    shapes |= {f"{name}.weight": (size, _WIDTH) for name, size in HEADS.items()}
    shapes |= {f"{name}.bias": (size,) for name, size in HEADS.items()}
    kind = np.dtype(np.float32)
    return {name: (shape, kind) for name, shape in shapes.items() if name not in EMBEDDINGS}


def checked_reader(folder: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and description of a reader of this encoder, as they are kept.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
    """
    arrays, description = load_checkpoint(folder, READER)
    if description.get("kind") != READER or description.get("encoder") != WEIGHTS_SHA256:
        raise ModelError(
            f"{folder} holds a reader of the encoder {str(description.get('encoder'))[:12]}, "
            f"expected one of {WEIGHTS_SHA256[:12]}; train it again with this version"
        )
    return arrays, description


def _quantised(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Matrices as int8 with a float32 scale for each row; all else as it is."""
    result: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if array.ndim < 2:
            result[name] = array
            continue
        largest = np.abs(array).max(axis=1, keepdims=True)
        scale = np.maximum(largest, np.float32(_SMALLEST)) / np.float32(_STEPS)
        result[name] = np.round(array / scale).astype(np.int8)
        result[name + _SCALE] = scale
    return result


def _restored(arrays: Mapping[str, NDArray[Any]], folder: Path) -> dict[str, NDArray[Any]]:
    for name, array in arrays.items():
        scale = arrays.get(name + _SCALE)
        if scale is not None and (array.ndim < 1 or scale.shape != (len(array), 1)):
            raise ModelError(
                f"the reader in {folder} is damaged: tensor {name} has shape {array.shape} "
                f"and scales of shape {scale.shape}; restore it or train it again"
            )
    return {
        name: array * arrays[name + _SCALE] if name + _SCALE in arrays else array
        for name, array in arrays.items()
        if not name.endswith(_SCALE)
    }
