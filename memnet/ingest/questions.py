"""Question files: JSON lines ``{"id", "question", "answers": [...], "gold": [...]?}``."""

import os
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.ingest.reading import Problem, open_file, read_lines

_LONGEST_LINE = LimitConfig().document


class Question(BaseModel):
    """A question with what is right; further fields of a file are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: str
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
    try:
        with open_file(path) as file:
            questions = list(_parsed(path, read_lines(file, str(path), _LONGEST_LINE)))
    except (OSError, ValueError) as error:
        raise InputError(f"the question file {path} can't be read: {error}") from error
    if not questions:
        raise InputError(f"the question file {path} holds no questions; expected JSON lines")
    return questions


def _parsed(
    path: str | os.PathLike[str], lines: Iterable[tuple[int, str] | Problem]
) -> Iterator[Question]:
    for numbered in lines:
        if isinstance(numbered, Problem):
            raise InputError(str(numbered))
        number, line = numbered
        if line.strip():
            try:
                question = Question.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or "line"
                raise InputError(
                    f"{path}, line {number}: {field}: {first['msg']}; expected "
                    '{"question": str, "answers": [str], "gold": [source id]?}'
                ) from error
            if not question.question.strip():
                raise InputError(f"{path}, line {number}: the question is blank; fill or remove it")
            yield question
