"""Readers as folders: the weights of the span network in int8, and the calibration.

The encoder's embeddings are not trained, so they are not saved but taken from its package.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from memnet.checkpoints import (
    check_shapes,
    check_weights,
    load_checkpoint,
    save_checkpoint,
)
from memnet.encoders.weights import WEIGHTS_SHA256, checked_folder, internal_name, is_network_tensor
from memnet.errors import ModelError
from memnet.reader.confidence import FEATURES, Calibration
from memnet.reader.spans import HEADS


class NetworkKind(NamedTuple):
    """A network of the encoder's Transformer with linear layers above it."""

    name: str
    """Of its checkpoint within its folder."""
    heads: Mapping[str, int]
    """Outputs of each linear layer."""


READER = NetworkKind("reader", HEADS)
"""The reader of passages."""
_CONFIDENCE = "confidence"
"""Name of the calibration's checkpoint within the same folder."""
EMBEDDINGS = ("encoder.words.weight", "encoder.positions.weight")
"""Weights that are those of the encoder's package."""
_WIDTH = 384
_SCALE = ".scale"
_MAX_INT8 = 127
_MIN_SCALE = 1e-12


def save_weights(
    folder: Path,
    weights: Mapping[str, NDArray[np.float32]],
    notes: Mapping[str, Any],
    kind: NetworkKind = READER,
) -> None:
    """Save the weights of a network, matrices as int8 with one float32 scale a row.

    Args:
        folder: made if it is not there.
        weights: by name; the embeddings are left out.
        notes: JSON values about how it was trained.
        kind: of network.

    Raises:
        ModelError: the folder can't be written.
    """
    tensors: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if name in EMBEDDINGS:
            continue
        if array.ndim < 2:
            tensors[name] = array
            continue
        largest = np.abs(array).max(axis=1, keepdims=True)
        scale = np.maximum(largest, np.float32(_MIN_SCALE)) / np.float32(_MAX_INT8)
        tensors[name] = np.round(array / scale).astype(np.int8)
        tensors[name + _SCALE] = scale
    description = {"kind": kind.name, "encoder": WEIGHTS_SHA256, "trained": dict(notes)}
    save_checkpoint(folder, kind.name, tensors, description)


def load_quantised(folder: Path, kind: NetworkKind = READER) -> tuple[dict[str, NDArray[Any]], str]:
    """The tensors of a network as they are saved, and the sha256 of their file.

    Raises:
        ModelError: the folder holds no whole network, or one of another encoder.
    """
    tensors, description = load_checkpoint(folder, kind.name)
    if description.get("kind") != kind.name or description.get("encoder") != WEIGHTS_SHA256:
        found = str(description.get("encoder"))[:12]
        raise ModelError(
            f"{folder} holds a {kind.name} network of the encoder {found}, "
            f"expected one of {WEIGHTS_SHA256[:12]}; train it again with this version"
        )
    return tensors, description["sha256"]


def dequantised(
    tensors: Mapping[str, NDArray[Any]], folder: Path, kind: NetworkKind = READER
) -> dict[str, NDArray[Any]]:
    """The float32 weights of a network by name, but for the embeddings.

    Args:
        tensors: as they are saved.
        folder: that they come from, for errors.
        kind: of network.

    Raises:
        ModelError: they are not those of such a network.
        EncoderError: the encoder's package is missing or damaged.
    """
    weights: dict[str, NDArray[Any]] = {}
    for name, array in tensors.items():
        if name.endswith(_SCALE):
            continue
        scale = tensors.get(name + _SCALE)
        if scale is not None and (array.ndim < 1 or scale.shape != (len(array), 1)):
            raise ModelError(
                f"the {kind.name} network in {folder} is damaged: tensor {name} has shape "
                f"{array.shape} and scales of shape {scale.shape}; restore it or train it again"
            )
        weights[name] = array if scale is None else array * scale
    check_shapes(weights, _shapes(kind.heads), folder)
    check_weights(weights, folder)
    return weights


def load_weights(folder: Path, kind: NetworkKind = READER) -> dict[str, NDArray[Any]]:
    """The float32 weights of a saved network by name, but for the embeddings.

    Raises:
        ModelError: the folder holds no whole network, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
    """
    tensors, _ = load_quantised(folder, kind)
    return dequantised(tensors, folder, kind)


def _shapes(heads: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and dtype of each weight: the encoder's but for the embeddings, and the heads."""
    with safe_open(checked_folder() / "model.safetensors", "numpy") as published:
        shapes = {
            f"encoder.{internal_name(name)}": tuple(published.get_slice(name).get_shape())
            for name in published.keys()  # noqa: SIM118 (it is no mapping)
            if is_network_tensor(name)
        }
    shapes |= {f"{name}.weight": (size, _WIDTH) for name, size in heads.items()}
    shapes |= {f"{name}.bias": (size,) for name, size in heads.items()}
    dtype = np.dtype(np.float32)
    return {name: (shape, dtype) for name, shape in shapes.items() if name not in EMBEDDINGS}


def copy_reader(folder: Path, out: Path) -> None:
    """Copy the network of a folder to another one; nothing if it is the same folder.

    Raises:
        ModelError: ``folder`` holds no whole reader, or ``out`` can't be written.
    """
    if folder.resolve() != out.resolve():
        tensors, description = load_checkpoint(folder, READER.name)
        save_checkpoint(out, READER.name, tensors, description)


def save_calibration(folder: Path, calibration: Calibration, notes: Mapping[str, Any]) -> None:
    """Save a calibration in the folder of the reader that it was fitted for.

    Raises:
        ModelError: the folder can't be written.
    """
    weights = np.array(calibration.weights, np.float64)
    save_checkpoint(folder, _CONFIDENCE, {"weights": weights}, {"trained": dict(notes)})


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a folder's reader, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (folder / f"{_CONFIDENCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, _CONFIDENCE)
    weights = tensors.get("weights", np.zeros(0))
    if weights.shape != (FEATURES,) or not bool(np.isfinite(weights).all()):
        raise ModelError(
            f"the calibration in {folder} has weights of shape {weights.shape}, expected "
            f"finite ones of shape ({FEATURES},); delete its {_CONFIDENCE}.json and make it again "
            "with 'memnet train confidence'"
        )
    return Calibration(weights.tolist())
