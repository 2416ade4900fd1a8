"""Story models as folders."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from memnet.encoders.vocabulary import Vocabulary
from memnet.errors import ModelError
from memnet.models.checkpoint import fill, load_checkpoint, save_checkpoint
from memnet.models.story import StoryModel, StoryModelConfig

TEXT = "text"
"""Name of the untrained controller for documents and facts, which is no folder."""

_SHIPPED = Path(__file__).with_name("shipped")
_NAME = "model"
_KIND = "story"


def model_folder(name: str | os.PathLike[str]) -> Path:
    """The folder of a model that ships with memnet, or else the one that ``name`` is the path of.

    Raises:
        ModelError: there is neither.
    """
    shipped = {path.parent.name: path.parent for path in _SHIPPED.glob(f"*/{_NAME}.json")}
    folder = shipped.get(str(name), Path(name))
    if not folder.is_dir():
        names = ", ".join(sorted([TEXT, *shipped]))
        raise ModelError(
            f"there is no model {str(name)!r}; expected the name of a shipped one ({names}) or a "
            "folder that 'memnet train' made"
        )
    return folder


def save_story_model(folder: Path, model: StoryModel, notes: Mapping[str, Any]) -> None:
    """Keep a model with all that is needed to make it again.

    Args:
        folder: made if it is not there.
        model: with its weights, of any device.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    tensors = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
    description = {
        "kind": _KIND,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, _NAME, tensors, description)


def load_story_model(folder: Path) -> StoryModel:
    """A model as it was saved, ready to answer.

    Raises:
        ModelError: the folder holds no whole story model.
    """
    tensors, description = load_checkpoint(folder, _NAME)
    if description.get("kind") != _KIND:
        raise ModelError(
            f"{folder} holds a model of kind {description.get('kind')!r}, expected {_KIND!r}; "
            "give a model that 'memnet train babi' made"
        )
    try:
        config = StoryModelConfig.model_validate(description["config"])
        vocabulary = Vocabulary(description["vocabulary"])
    except (KeyError, TypeError, ValidationError) as error:
        raise ModelError(
            f"{folder / _NAME}.json does not describe a story model ({error!r}); train it again"
        ) from error
    with torch.random.fork_rng():
        model = StoryModel(vocabulary, config)
    fill(model, tensors, folder)
    return model.eval()
