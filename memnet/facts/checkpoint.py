"""Fact models as checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.checkpoints import MODEL, save_checkpoint
from memnet.checkpoints.torch_modules import arrays_of, invalid_description, load_module
from memnet.facts.model import AnswerRule, FactModel, FactModelConfig

KIND = "facts"
"""Kind of the model, as its description gives it."""
_WIDEST_ENCODER = 100_000
"""Numbers of an encoded token."""


class _Description(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    config: FactModelConfig
    encoded: int = Field(ge=1, le=_WIDEST_ENCODER)
    relations: tuple[str, ...]
    familiar: frozenset[str]
    idle: frozenset[str]
    rule: AnswerRule


def save_fact_model(
    folder: Path, model: FactModel, rule: AnswerRule, notes: Mapping[str, Any]
) -> None:
    """Save a fact model and the rule by which it answers.

    Args:
        folder: made if it is not there.
        model: with its weights, of any device.
        rule: thresholds of its answers.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "encoded": model.controller.input.in_features,
        "relations": model.relations,
        "familiar": sorted(model.familiar),
        "idle": sorted(model.idle),
        "rule": rule._asdict(),
        "trained": dict(notes),
    }
    save_checkpoint(folder, MODEL, arrays_of(model.state_dict()), description)


def fact_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> tuple[FactModel, AnswerRule]:
    """The fact model of a checkpoint, and the rule by which it answers.

    Args:
        folder: where it comes from, for errors.
        arrays: by name.
        description: as ``save_fact_model`` wrote it.

    Raises:
        ModelError: the description is not one of a fact model, or does not fit the arrays.
    """
    try:
        checked = _Description.model_validate(description)
    except ValidationError as error:
        raise invalid_description(folder, error) from error

    def make() -> FactModel:
        return FactModel(
            checked.config, checked.encoded, checked.relations, checked.familiar, checked.idle
        )

    return load_module(make, arrays, folder), checked.rule
