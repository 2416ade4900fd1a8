"""Controllers of documents as checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from memnet.checkpoints import MODEL, check_shapes, check_weights, save_checkpoint
from memnet.config import HopConfig
from memnet.documents.controller import TextController

KIND = "text"
"""Kind of the model, as its description gives it."""


def save_text_model(folder: Path, controller: TextController, notes: Mapping[str, Any]) -> None:
    """Save a controller of documents.

    Args:
        folder: made if it is not there.
        controller: with its weights.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    save_checkpoint(folder, MODEL, controller.arrays(), {"kind": KIND, "trained": dict(notes)})


def text_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], config: HopConfig
) -> TextController:
    """The controller of a checkpoint.

    Args:
        folder: where it comes from, for errors.
        arrays: by name.
        config: settings that are not learned.

    Raises:
        ModelError: the arrays are not those of such a controller.
    """
    expected = TextController(config).arrays()
    kinds = {name: (array.shape, array.dtype) for name, array in expected.items()}
    check_shapes(arrays, kinds, folder)
    check_weights(arrays, folder)
    return TextController(config, arrays)
