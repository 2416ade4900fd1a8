"""Source code: by definition, with what its comment or docstring says before its code."""

from collections.abc import Iterator
from pathlib import PurePath

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.code.python_code import add_python
from memnet.loaders.code.scanner import scan
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile

_PYTHON = frozenset({".py", ".pyi", ".pyw"})
_MAX_MEAN_LINE = 250  # characters; lines of a minified or generated file are longer
_MIN_CHARACTERS = 2000  # a shorter file may be one long line


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The definitions of a file, each under a heading with its name.

    Raises:
        InputError: it is empty, or was written by a program for a program.
    """
    text = source_text(file)
    builder = DocumentBuilder()
    suffix = PurePath(file.name).suffix.lower()
    name = PurePath(file.name).name
    if suffix not in _PYTHON or not add_python(builder, text, name):
        scan(builder, text, name)
    if not len(builder):
        raise InputError("holds no code; leave it out", "empty")
    yield builder.build(file.name, name)


def source_text(file: SourceFile) -> str:
    """The text of a file that people write by hand.

    Raises:
        InputError: no one did.
    """
    text = decode(file.data).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise InputError("is empty; leave it out", "empty")
    mean = sum(map(len, lines)) // len(lines)
    if mean > _MAX_MEAN_LINE and len(text) > _MIN_CHARACTERS:
        raise InputError(
            f"holds no text to read: its lines have {mean:,} characters on average, as minified "
            "and generated files do; leave it out, or pass it with --as text",
            "generated files",
        )
    return text
