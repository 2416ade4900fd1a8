"""Question files: JSON lines ``{"id", "question", "answers": [...], "gold": [...]?}``."""

import os
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from memnet.errors import InputError

Read = TypeVar("Read", bound=BaseModel)


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
    return read_lines(path, Question, "question", expected)


def read_lines(
    path: str | os.PathLike[str], kind: type[Read], name: str, expected: str
) -> list[Read]:
    """Read a file of one JSON object a line.

    Args:
        path: of the file.
        kind: of the objects.
        name: what an object is, for messages.
        expected: form of a line, for messages.

    Raises:
        InputError: the file can't be read, holds no object, or a line is not one.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            lines = enumerate(file, start=1)
            read = [
                _parsed(f"{path}, line {number}", line, kind, expected)
                for number, line in lines
                if line.strip()
            ]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the {name} file {path} can't be read: {error}") from error
    if not read:
        raise InputError(f"the {name} file {path} holds no {name}s; expected JSON lines")
    return read


def _parsed(place: str, line: str, kind: type[Read], expected: str) -> Read:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "line"
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{place}: {field}: {said}; expected {expected}") from error
