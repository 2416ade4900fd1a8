"""Question files: JSON lines ``{"id", "question", "answers": [...], "gold": [...]?}``."""

import os
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from memnet.files import read_json_lines


def _not_blank(question: str) -> str:
    if not question.strip():
        raise ValueError("the question is blank; fill or remove it")
    return question


class Question(BaseModel):
    """A question with what is right; further fields of a file are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: Annotated[str, AfterValidator(_not_blank)]
    answers: tuple[str, ...] = ()
    """Right answers; none means that the memory does not hold one."""
    gold: tuple[str, ...] = ()
    """Source ids of the documents that hold the answer; none means not known."""
    hops: int | None = None
    """How many facts in a row lead to the answer, where that is known."""


def read_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Read a question file.

    Raises:
        InputError: it can't be read, holds no question, or a line is not one.
    """
    expected = '{"question": str, "answers": [str], "gold": [source id]?}'
    return read_json_lines(path, Question, "question", expected)
