"""Trained models as folders; those of torch are loaded where they are asked for."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memnet.config import HopConfig
from memnet.controllers import TextController
from memnet.errors import ModelError
from memnet.models.checkpoint import check_kinds, check_weights, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from memnet.models.facts import AnswerRule, FactModel
    from memnet.models.story import StoryModel

TEXT = "text"
"""Name of the shipped model for documents and facts."""
UNTRAINED = "untrained"
"""Name of the controller that knows nothing but the configuration's numbers, which is no folder."""
NAME = "model"
"""Name of a model's checkpoint within its folder."""
STORY = "story"
"""Kind of a model of stories, as its description gives it."""
FACTS = "facts"
"""Kind of a model of facts."""
_TEXT = "text"

_SHIPPED = Path(__file__).with_name("shipped")


def model_folder(name: str | os.PathLike[str]) -> Path:
    """The folder of a model that ships with memnet, or else the one that ``name`` is the path of.

    Raises:
        ModelError: there is neither.
    """
    shipped = {path.parent.name: path.parent for path in _SHIPPED.glob(f"*/{NAME}.json")}
    folder = shipped.get(str(name), Path(name))
    if not folder.is_dir():
        names = ", ".join(sorted([UNTRAINED, *shipped]))
        raise ModelError(
            f"there is no model {str(name)!r}; expected the name of a shipped one ({names}) or a "
            "folder that 'memnet train' made"
        )
    return folder


def save_text_model(folder: Path, controller: TextController, notes: Mapping[str, Any]) -> None:
    """Keep a controller of documents with all that is needed to make it again.

    Args:
        folder: made if it is not there.
        controller: with its weights.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    save_checkpoint(folder, NAME, controller.arrays(), {"kind": _TEXT, "trained": dict(notes)})


def load_model(
    folder: Path, hop: HopConfig
) -> "StoryModel | TextController | tuple[FactModel, AnswerRule]":
    """A model as it was saved, ready to answer; a fact model with the rule by which it does.

    Args:
        folder: of the model.
        hop: settings of a controller of documents.

    Raises:
        ModelError: the folder holds no whole model.
    """
    arrays, description = load_checkpoint(folder, NAME)
    kind = description.get("kind")
    if kind not in (STORY, FACTS, _TEXT):
        raise ModelError(
            f"{folder} holds a model of kind {kind!r}, expected {STORY!r}, {FACTS!r} or "
            f"{_TEXT!r}; give a model that 'memnet train' made"
        )
    if kind == _TEXT:
        expected = TextController(hop).arrays()
        kinds = {name: (array.shape, array.dtype) for name, array in expected.items()}
        check_kinds(arrays, kinds, folder)
        check_weights(arrays, folder)
        return TextController(hop, arrays)
    from memnet.models.stored_modules import module_of

    return module_of(folder, arrays, description)
