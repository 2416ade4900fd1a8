"""Question files: JSON lines ``{"id", "question", "answers": [...], "gold": [...]?}``."""

import os
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.files import Problem, open_file, read_lines

_LONGEST_LINE = LimitConfig().document

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
    return read_json_lines(path, Question, "question", expected)


def read_json_lines(
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
        with open_file(path) as file:
            read = list(_parsed(read_lines(file, str(path), _LONGEST_LINE), path, kind, expected))
    except (OSError, ValueError) as error:
        raise InputError(f"the {name} file {path} can't be read: {error}") from error
    if not read:
        raise InputError(f"the {name} file {path} holds no {name}s; expected JSON lines")
    return read


def _parsed(
    lines: Iterable[tuple[int, str] | Problem],
    path: str | os.PathLike[str],
    kind: type[Read],
    expected: str,
) -> Iterator[Read]:
    for numbered in lines:
        if isinstance(numbered, Problem):
            raise InputError(str(numbered))
        number, line = numbered
        if line.strip():
            try:
                yield kind.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or "line"
                said = first["msg"].removeprefix("Value error, ")
                raise InputError(
                    f"{path}, line {number}: {field}: {said}; expected {expected}"
                ) from error
