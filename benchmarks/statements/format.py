"""Scenarios: statements told over time with what they say and change, and questions about them."""

import os
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memnet.io import read_json_lines
from memnet.types import Certainty

QuestionType = Literal[
    "current", "past", "as_of", "yesno", "who", "negated", "two_hop", "list", "unknown", "count",
    "conflict",
]  # fmt: skip


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ScenarioChange(_Part):
    """What a statement does to an earlier one."""

    tell: int = Field(ge=0)
    statement: int = Field(ge=0)
    action: Literal["supersede", "correct", "end", "merge", "contradict"]


class ScenarioStatement(_Part):
    """One piece of what a text says; its strings are pieces of the text."""

    text: str = Field(min_length=1)
    subject: str
    """Empty where the text does not name it."""
    about: str | None = None
    """The subject in the words of an earlier text, where this one names it by a pronoun or not."""
    aliases: tuple[str, ...] = ()
    relation: str
    values: tuple[str, ...] = ()
    polarity: Literal["yes", "no"] = "yes"
    certainty: Certainty = "is"
    changes: tuple[ScenarioChange, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What it is about, by all its names."""
        return tuple(name for name in (self.about, self.subject, *self.aliases) if name)


class ScenarioTell(_Part):
    """A text, told at a time."""

    text: str = Field(min_length=1)
    at: datetime
    speaker: str = ""
    """Who is "I" in it, where that is not who asks."""
    statements: tuple[ScenarioStatement, ...] = ()


def _flat(answers: object) -> object:
    """Answers of a list are given item by item, each in several forms."""
    if isinstance(answers, list) and answers and isinstance(answers[0], list):
        return [form for item in answers for form in item]
    return answers


class ScenarioQuestion(_Part):
    """A question at the end of a scenario."""

    question: str = Field(min_length=1)
    type: QuestionType
    answers: Annotated[tuple[str, ...], BeforeValidator(_flat)] = ()
    """Right forms; none: the memory does not hold the answer."""
    as_of: datetime | None = None
    evidence: tuple[int, ...] = ()
    """Texts that are needed for the answer."""
    spans: tuple[tuple[int, str], ...] = ()
    """Pieces of texts that answer: any of them, or all of a list."""


class Scenario(_Part):
    """What was told, and what is asked then."""

    id: str
    tells: tuple[ScenarioTell, ...] = Field(min_length=1)
    questions: tuple[ScenarioQuestion, ...] = ()


def read_scenarios(path: str | os.PathLike[str]) -> list[Scenario]:
    """Read a file of scenarios, a JSON object a line.

    Raises:
        InputError: it can't be read, holds no scenario, or a line is not one.
    """
    expected = '{"id": str, "tells": [{"text": str, "at": time, ...}], "questions": [...]}'
    return read_json_lines(path, Scenario, "scenario", expected)
