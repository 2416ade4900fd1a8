"""Story models as checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from memnet.checkpoints import MODEL, load_checkpoint, save_checkpoint
from memnet.checkpoints.torch_modules import arrays_of, invalid_description, load_module
from memnet.errors import ModelError
from memnet.stories.model import StoryModel, StoryModelConfig
from memnet.stories.vocabulary import Vocabulary

KIND = "story"
"""Kind of the model, as its description gives it."""


class _Description(BaseModel):
    config: StoryModelConfig
    vocabulary: tuple[str, ...]


def save_story_model(folder: Path, model: StoryModel, notes: Mapping[str, Any]) -> None:
    """Save a story model.

    Args:
        folder: made if it is not there.
        model: with its weights, of any device.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, MODEL, arrays_of(model.state_dict()), description)


def load_story_model(folder: Path) -> StoryModel:
    """A story model as it was saved, for inference.

    Raises:
        ModelError: the folder holds no whole story model.
    """
    arrays, description = load_checkpoint(folder, MODEL)
    if description.get("kind") != KIND:
        raise ModelError(
            f"{folder} holds a model of kind {description.get('kind')!r}, expected one for "
            "stories; give a model that 'memnet train babi' made"
        )
    return story_model_of(folder, arrays, description)


def story_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> StoryModel:
    """The story model of a checkpoint.

    Args:
        folder: where it comes from, for errors.
        arrays: by name.
        description: as ``save_story_model`` wrote it.

    Raises:
        ModelError: the description is not one of a story model, or does not fit the arrays.
    """
    try:
        checked = _Description.model_validate(description)
    except ValidationError as error:
        raise invalid_description(folder, error) from error

    def make() -> StoryModel:
        return StoryModel(Vocabulary(checked.vocabulary), checked.config)

    return load_module(make, arrays, folder)
