"""Models of stories and of facts as folders."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from memnet.config import HopConfig
from memnet.encoders.vocabulary import Vocabulary
from memnet.errors import ModelError
from memnet.models.checkpoint import save_checkpoint
from memnet.models.facts import AnswerRule, FactModel, FactModelConfig
from memnet.models.modules import arrays_of, check_fit, fill
from memnet.models.stored import FACTS, NAME, STORY, load_model
from memnet.models.story import StoryModel, StoryModelConfig

_WIDEST_ENCODER = 100_000
"""Numbers of an encoded token."""

_Model = TypeVar("_Model", bound=nn.Module)


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
        "kind": STORY,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, NAME, arrays_of(model.state_dict()), description)


def save_fact_model(
    folder: Path, model: FactModel, rule: AnswerRule, notes: Mapping[str, Any]
) -> None:
    """As ``save_story_model``, for a fact model and the rule by which it answers."""
    description = {
        "kind": FACTS,
        "config": model.config.model_dump(),
        "encoded": model.controller.input.in_features,
        "relations": model.relations,
        "familiar": sorted(model.familiar),
        "idle": sorted(model.idle),
        "rule": rule._asdict(),
        "trained": dict(notes),
    }
    save_checkpoint(folder, NAME, arrays_of(model.state_dict()), description)


def module_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> StoryModel | tuple[FactModel, AnswerRule]:
    """A model of stories, or one of facts with its rule, of a checkpoint.

    Args:
        folder: where it comes from, for errors.
        arrays: by name.
        description: which says what they are.

    Raises:
        ModelError: the description is none of such a model, or goes with other arrays.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            if description["kind"] == STORY:
                story = _StoryDescription.model_validate(description)
                return _filled(lambda: _story_model(story), arrays, folder)
            facts = _FactDescription.model_validate(description)
            return _filled(lambda: _fact_model(facts), arrays, folder), facts.rule
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"{folder / NAME}.json does not describe a model ({' '.join(repr(error).split())}); "
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


def _filled(make: Callable[[], _Model], arrays: Mapping[str, NDArray[Any]], folder: Path) -> _Model:
    """A model with its arrays; one whose description asks for others takes no memory before."""
    with torch.device("meta"):
        check_fit(make(), arrays, folder)
    model = make()
    fill(model, arrays, folder)
    return model.eval()


def _story_model(description: _StoryDescription) -> StoryModel:
    return StoryModel(Vocabulary(description.vocabulary), description.config)


def _fact_model(description: _FactDescription) -> FactModel:
    return FactModel(
        description.config, description.encoded, description.relations,
        description.familiar, description.idle,
    )  # fmt: skip
