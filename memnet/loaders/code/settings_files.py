"""Files of settings, TOML, YAML, INI and the like: by section, with their comments."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from memnet.errors import InputError, Problem
from memnet.loaders.code.definitions import source_text
from memnet.loaders.document import DocumentBuilder, ParsedDocument, paragraphs
from memnet.loaders.formats import SourceFile

_SECTION = re.compile(r"\[{1,2}[ \t]*([^\[\]\n]{1,200}?)[ \t]*\]{1,2}[ \t]*(?:[#;].*)?$")
_YAML_KEY = re.compile(
    r"(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|([^\s#:\-\"'{\[&*!|>%@`][^:\n]{0,200})):(?:[ \t]|$)"
)
_YAML = frozenset({".yaml", ".yml"})
_COMMENT = ("#", ";", "!")
_MIN_BLOCK = 3  # lines; a shorter section of YAML is joined with what stands next to it


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The sections of a file, each under its name, as they stand.

    Raises:
        InputError: it is empty, or was written by a program for a program.
    """
    text = source_text(file)
    builder = DocumentBuilder()
    lines = text.split("\n")
    is_yaml = PurePath(file.name).suffix.lower() in _YAML
    starts = list(_yaml_sections(lines) if is_yaml else _sections(lines))
    borders = [at for at, _ in starts]
    for (name, first), end in zip(
        [("", 0), *((name, at) for at, name in starts)], [*borders, len(lines)], strict=True
    ):
        if name:
            builder.add("heading", name, level=1, place=f"line {first + 1}")
        part = "\n".join(lines[first:end])
        for start, stop in paragraphs(part):
            # Where the line begins, not what is indented in it.
            start = part.rfind("\n", 0, start) + 1
            line = first + 1 + part.count("\n", 0, start)
            builder.add("code", part[start:stop], place=f"line {line}")
    if not len(builder):
        raise InputError("is empty; leave it out", "empty")
    yield builder.build(file.name, PurePath(file.name).name)


def _sections(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Index and name of each "[section]", from the comment right above it."""
    for at, line in enumerate(lines):
        if found := _SECTION.match(line):
            yield _with_comment(lines, at), found[1]


def _yaml_sections(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Index and key of each mapping of the outermost level that is longer than a few lines."""
    keys = []
    for at, line in enumerate(lines):
        if found := _YAML_KEY.match(line):
            keys.append((at, next(filter(None, found.groups()))))
    ends = [*(at for at, _ in keys), len(lines)][1:]
    for (at, key), end in zip(keys, ends, strict=True):
        if end - at >= _MIN_BLOCK:
            yield _with_comment(lines, at), key.strip()


def _with_comment(lines: list[str], at: int) -> int:
    while at and lines[at - 1].startswith(_COMMENT):
        at -= 1
    return at
