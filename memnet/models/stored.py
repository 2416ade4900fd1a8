"""Trained models as folders."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from memnet.config import HopConfig
from memnet.controllers import TextController
from memnet.encoders.vocabulary import Vocabulary
from memnet.errors import ModelError
from memnet.models.checkpoint import check_fit, fill, load_checkpoint, save_checkpoint
from memnet.models.facts import AnswerRule, FactModel, FactModelConfig
from memnet.models.story import StoryModel, StoryModelConfig

TEXT = "text"
"""Name of the shipped model for documents and facts."""
UNTRAINED = "untrained"
"""Name of the controller that knows nothing but the configuration's numbers, which is no folder."""

_WIDEST_ENCODER = 100_000
"""Numbers of an encoded token."""

_Model = TypeVar("_Model", bound=nn.Module)

_SHIPPED = Path(__file__).with_name("shipped")
_NAME = "model"
_STORY = "story"
_FACTS = "facts"
_TEXT = "text"


def model_folder(name: str | os.PathLike[str]) -> Path:
    """The folder of a model that ships with memnet, or else the one that ``name`` is the path of.

    Raises:
        ModelError: there is neither.
    """
    shipped = {path.parent.name: path.parent for path in _SHIPPED.glob(f"*/{_NAME}.json")}
    folder = shipped.get(str(name), Path(name))
    if not folder.is_dir():
        names = ", ".join(sorted([UNTRAINED, *shipped]))
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
    description = {
        "kind": _STORY,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, _NAME, _tensors(model), description)


def save_fact_model(
    folder: Path, model: FactModel, rule: AnswerRule, notes: Mapping[str, Any]
) -> None:
    """As ``save_story_model``, for a fact model and the rule by which it answers."""
    description = {
        "kind": _FACTS,
        "config": model.config.model_dump(),
        "encoded": model.controller.input.in_features,
        "relations": model.relations,
        "familiar": sorted(model.familiar),
        "idle": sorted(model.idle),
        "rule": rule._asdict(),
        "trained": dict(notes),
    }
    save_checkpoint(folder, _NAME, _tensors(model), description)


def save_text_model(folder: Path, controller: TextController, notes: Mapping[str, Any]) -> None:
    """As ``save_story_model``, for a controller of documents."""
    description = {"kind": _TEXT, "trained": dict(notes)}
    save_checkpoint(folder, _NAME, _tensors(controller), description)


def load_model(
    folder: Path, hop: HopConfig
) -> StoryModel | TextController | tuple[FactModel, AnswerRule]:
    """A model as it was saved, ready to answer; a fact model with the rule by which it does.

    Args:
        folder: of the model.
        hop: settings of a controller of documents.

    Raises:
        ModelError: the folder holds no whole model.
    """
    tensors, description = load_checkpoint(folder, _NAME)
    kind = description.get("kind")
    if kind not in (_STORY, _FACTS, _TEXT):
        raise ModelError(
            f"{folder} holds a model of kind {kind!r}, expected {_STORY!r}, {_FACTS!r} or "
            f"{_TEXT!r}; give a model that 'memnet train' made"
        )
    try:
        with torch.random.fork_rng(devices=[]):
            if kind == _TEXT:
                return _filled(lambda: TextController(hop), tensors, folder)
            if kind == _STORY:
                story = _StoryDescription.model_validate(description)
                return _filled(lambda: _story_model(story), tensors, folder)
            facts = _FactDescription.model_validate(description)
            return _filled(lambda: _fact_model(facts), tensors, folder), facts.rule
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"{folder / _NAME}.json does not describe a model ({' '.join(repr(error).split())}); "
            "train it again"
        ) from error


def load_story_model(folder: Path) -> StoryModel:
    """A story model as it was saved, ready to answer.

    Raises:
        ModelError: the folder holds no whole story model.
    """
    model = load_model(folder, HopConfig())
    if not isinstance(model, StoryModel):
        raise ModelError(
            f"{folder} holds another model, expected one for stories; give a model that "
            "'memnet train babi' made"
        )
    return model


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}


class _StoryDescription(BaseModel):
    """What a folder says of a story model."""

    config: StoryModelConfig
    vocabulary: tuple[str, ...]


class _FactDescription(BaseModel):
    """What a folder says of a fact model."""

    model_config = ConfigDict(allow_inf_nan=False)

    config: FactModelConfig
    encoded: int = Field(ge=1, le=_WIDEST_ENCODER)
    relations: tuple[str, ...]
    familiar: frozenset[str]
    idle: frozenset[str]
    rule: AnswerRule


def _filled(make: Callable[[], _Model], tensors: Mapping[str, Tensor], folder: Path) -> _Model:
    """A model with its tensors; one whose description asks for others takes no memory before."""
    with torch.device("meta"):
        check_fit(make(), tensors, folder)
    model = make()
    fill(model, tensors, folder)
    return model.eval()


def _story_model(description: _StoryDescription) -> StoryModel:
    return StoryModel(Vocabulary(description.vocabulary), description.config)


def _fact_model(description: _FactDescription) -> FactModel:
    return FactModel(
        description.config, description.encoded, description.relations,
        description.familiar, description.idle,
    )  # fmt: skip
