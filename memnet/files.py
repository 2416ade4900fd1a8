"""Reading files of text, with a clear error for those that can't be read."""

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from pydantic import BaseModel, ValidationError

from memnet.config import LimitConfig
from memnet.errors import EMPTY, InputError, Problem
from memnet.loaders.decoding import decode
from memnet.loaders.reading import open_file, read_file

Model = TypeVar("Model", bound=BaseModel)


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file, every character as it stands there.

    Raises:
        InputError: it can't be read, is empty, is not text, or is longer than ``max_bytes``.
    """
    text = decode(read_file(path, max_bytes))
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it", EMPTY)
    return text


def read_lines(stream: BinaryIO, where: str, max_bytes: int) -> Iterator[tuple[int, str] | Problem]:
    """Numbered lines of a stream, with a problem for each that is not text or is too long.

    Args:
        stream: of bytes.
        where: its name in problems.
        max_bytes: limit of a line.

    Raises:
        InputError: the stream gives something else than bytes.
    """
    number = 0
    while data := stream.readline(max_bytes + 1):
        if not isinstance(data, bytes):
            raise InputError(
                f"{where} gives {type(data).__name__}, expected bytes; open it in binary mode"
            )
        number += 1
        try:
            if len(data) > max_bytes:
                while data and not data.endswith(b"\n"):
                    data = stream.readline(max_bytes)
                raise InputError(f"is longer than {max_bytes:,} bytes; split it")
            yield number, _decode_line(data)
        except InputError as error:
            yield Problem(f"{where}, line {number}", str(error))


def read_json_lines(
    path: str | os.PathLike[str], model: type[Model], name: str, expected: str
) -> list[Model]:
    """Read a file of one JSON object a line.

    Args:
        path: of the file; compressed by gzip if its name ends in ".gz".
        model: class of the objects.
        name: what an object is, for messages.
        expected: form of a line, for messages.

    Raises:
        InputError: the file can't be read, holds no object, or a line is not one.
    """
    try:
        with open_file(path) as file:
            if os.fspath(path).endswith(".gz"):
                file = cast(BinaryIO, gzip.GzipFile(fileobj=file))
            objects = [
                _parsed(line, path, model, expected)
                for line in read_lines(file, str(path), LimitConfig().document)
                if isinstance(line, Problem) or line[1].strip()
            ]
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"the {name} file {path} can't be read: {error}") from error
    if not objects:
        raise InputError(f"the {name} file {path} holds no {name}s; expected JSON lines")
    return objects


def _parsed(
    line: tuple[int, str] | Problem, path: str | os.PathLike[str], model: type[Model], expected: str
) -> Model:
    if isinstance(line, Problem):
        raise InputError(str(line))
    try:
        return model.model_validate_json(line[1])
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "line"
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(
            f"{path}, line {line[0]}: {field}: {message}; expected {expected}"
        ) from error


def _decode_line(data: bytes) -> str:
    """UTF-8 bytes as text, without a byte order mark.

    Raises:
        InputError: the bytes are binary or not UTF-8.
    """
    if b"\0" in data:
        raise InputError("is binary, expected text; convert it to UTF-8 text first")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start}); "
            "convert it to UTF-8 first"
        ) from error
