"""The formats that can be read: their names, suffixes and signs, and the module that reads each.

A new format is a module with a function ``load``, and a line in ``FORMATS``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TypeAlias

from memnet.errors import InputError, Problem
from memnet.loaders.document import ParsedDocument


@dataclass(frozen=True)
class SourceFile:
    """A file to read, with its content in memory: loaders open nothing themselves."""

    name: str
    """Of its source: the path, or that of an archive, "/" and the path within."""
    data: bytes
    sibling: Callable[[str], bytes | None] = lambda _path: None
    """Reads another file by its path relative to the folder of this one; None if it is not
    there. For exports that spread over several files."""
    max_characters: int = 25_000_000
    """Longest text of one document."""
    max_title: int = 1000
    """Characters; a longer heading is text."""

    @property
    def title(self) -> str:
        """What its name says: "annual-report_2024.pdf" as "annual report 2024"."""
        stem = PurePath(self.name).stem
        return stem.replace("_", " ").replace("-", " ").strip()


Loader: TypeAlias = Callable[[SourceFile], Iterator[ParsedDocument | Problem]]
"""Reads a file as documents, with a problem in the place of each part that can't be read.

The names of its documents are ``file.name`` if there is one, else ``f"{file.name}#{part}"``.

Raises:
    InputError: none of it can be read; says what was found, expected and what to do.
"""


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str
    """As ``--as`` takes it."""
    title: str
    """As people call it, in the plural: "PDF files"."""
    suffixes: tuple[str, ...]
    """In lower case, with the dot."""
    module: str
    """In ``memnet.loaders``; its function ``load`` is the loader."""
    isolated: bool = True
    """Whether it is read in a child process: its parser can be made to hang or crash."""

    def loader(self) -> Loader:
        """Import the loader."""
        loader: Loader = import_module(f"memnet.loaders.{self.module}").load
        return loader


FORMATS: tuple[Format, ...] = (
    Format("html", "HTML pages", (".html", ".htm", ".xhtml"), "html"),
    Format("chat", "chats", (), "chats"),
    Format("conversation", "conversations", (), "conversation"),
    Format("json", "JSON files", (".json",), "json_documents"),
    Format("subtitles", "subtitles", (".srt", ".vtt"), "subtitles"),
    Format("text", "text files", (".txt", ".text", ".log"), "text", isolated=False),
    Format("markdown", "Markdown files", (".md", ".markdown", ".mdx"), "markdown", isolated=False),
)
"""All that can be read but JSON lines and fact tables, which are no documents."""

_BY_NAME = {known.name: known for known in FORMATS}
_BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_by_name(name: str) -> Format:
    """The format that ``--as`` names.

    Raises:
        InputError: there is none.
    """
    if name not in _BY_NAME:
        raise InputError(f"there is no format {name!r}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def find_format(name: str) -> Format | None:
    """The format of a file by its suffix."""
    return _BY_SUFFIX.get(PurePath(name).suffix.lower())
