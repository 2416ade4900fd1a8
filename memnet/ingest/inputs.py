"""From what a caller names (paths, streams, documents, facts) to parsed documents and facts."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.files import SUFFIXES, Problem, files_below, open_file, read_lines, read_text
from memnet.ingest.documents import (
    from_document,
    from_json_line,
    from_markdown,
    from_text,
    title_of,
)
from memnet.ingest.fact_tables import from_fact, from_line, from_table
from memnet.ingest.limits import check_parsed, check_text
from memnet.ingest.parsed import ParsedDocument, ParsedFacts
from memnet.types import Document, Fact

_KINDS = ", ".join(SUFFIXES)

Input: TypeAlias = str | os.PathLike[str] | Document | Fact | BinaryIO
Parsed: TypeAlias = ParsedDocument | ParsedFacts


class FileRead(NamedTuple):
    """A file was read to its end without a problem: what it no longer holds may be removed."""

    origin: str


class FolderRead(NamedTuple):
    """A folder was read: what came from files that are there no longer may be removed."""

    origin: str


Item: TypeAlias = Parsed | Problem | FileRead | FolderRead


class InputReader:
    """Reads inputs one after the other, with a ``Problem`` in the place of each bad part."""

    def __init__(
        self, *, facts: bool, limits: LimitConfig, read_as: Literal["text"] | None = None
    ) -> None:
        """Set up a reader.

        Args:
            facts: read files and streams as facts, whatever their names.
            limits: what is larger is a problem.
            read_as: what files of an unknown kind are read as; None makes them a problem.

        Raises:
            InputError: ``read_as`` is something else.
        """
        if read_as not in (None, "text"):
            raise InputError(f"read_as is {read_as!r}, expected 'text' or None; correct it")
        self._facts = facts
        self._any_kind = facts or read_as is not None
        self._limits = limits
        self._longest = limits.document

    def read(self, inputs: Iterable[Input]) -> Iterator[Item]:
        """Everything that the inputs hold, in their order."""
        for given in inputs:
            if isinstance(given, Document):
                where = f"document {given.id!r}"
                yield from self._within_limits(_guarded(where, given), where)
            elif isinstance(given, Fact):
                yield from self._within_limits([from_fact(given)], "fact")
            elif isinstance(given, (str, os.PathLike)):
                yield from self._path(Path(os.path.abspath(given)))
            else:
                yield from self._within_limits(self._stream(given), "standard input")

    def _within_limits(self, items: Iterable[Item], where: str) -> Iterator[Item]:
        """The same items, with a problem in the place of each that is too large."""
        for item in items:
            try:
                if isinstance(item, (ParsedDocument, ParsedFacts)):
                    check_parsed(item, self._limits)
                yield item
            except InputError as error:
                yield Problem(where, str(error))

    def _path(self, path: Path) -> Iterator[Item]:
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
            check_text(str(path), "the path", self._limits.name)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            yield Problem(str(path), "no such file or folder; check the path")
        except OSError as error:
            yield Problem(str(path), f"can't be read ({error.strerror}); check path and rights")
        except InputError as error:
            yield Problem(str(path), str(error))
        else:
            yield from self._folder(path) if is_folder else self._file(path)

    def _folder(self, path: Path) -> Iterator[Item]:
        empty = True
        for found in files_below(path):
            empty = False
            yield from [found] if isinstance(found, Problem) else self._file(found)
        if empty:
            yield Problem(str(path), f"the folder holds no file to read ({_KINDS})")
        yield FolderRead(str(path))

    def _file(self, path: Path) -> Iterator[Item]:
        origin = str(path)
        complete = True
        try:
            check_text(origin, "the path", self._limits.name)
            self._check_kind(path)
            for item in self._within_limits(self._file_items(path, origin), origin):
                complete = complete and not isinstance(item, Problem)
                yield item
        except InputError as error:
            yield Problem(origin, str(error))
        except OSError as error:
            yield Problem(origin, f"can't be read ({error.strerror or error}); check its rights")
        else:
            if complete:
                yield FileRead(origin)

    def _check_kind(self, path: Path) -> None:
        """Refuse what would be taken for prose though it may be a table or a program."""
        suffix = path.suffix.lower()
        if suffix and suffix not in SUFFIXES and not self._any_kind:
            raise InputError(
                f"is of the unknown kind {suffix!r}, expected {_KINDS}; "
                "'--as text', or read_as=\"text\", reads it as plain text"
            )

    def _file_items(self, path: Path, origin: str) -> Iterator[Item]:
        suffix = path.suffix.lower()
        if suffix == ".jsonl":
            with open_file(path) as file:
                yield from self._json_lines(read_lines(file, origin, self._longest), origin, origin)
            return
        text = read_text(path, self._longest)
        if self._facts or suffix == ".tsv":
            yield from from_table(text, origin, self._limits.fact, origin)
        elif suffix in (".md", ".markdown"):
            yield from_markdown(text, origin, title_of(path), self._limits.title, origin)
        else:
            yield from from_text(text, origin, title_of(path), origin)

    def _stream(self, stream: BinaryIO) -> Iterator[Item]:
        """A stream: JSON lines if it starts with a brace, else facts, stories or a plain text."""
        lines = read_lines(stream, "standard input", self._longest)
        head = next((line for line in lines if isinstance(line, Problem) or line[1].strip()), None)
        if head is None:
            yield Problem("standard input", "is empty; there is nothing to remember in it")
            return
        if isinstance(head, tuple) and head[1].lstrip().startswith("{"):
            yield from self._json_lines(chain([head], lines), "standard input", "")
        elif self._facts:
            yield from _fact_lines(chain([head], lines), self._limits.fact)
        else:
            yield from _whole_text(chain([head], lines), self._longest)

    def _json_lines(
        self, lines: Iterable[tuple[int, str] | Problem], where: str, origin: str
    ) -> Iterator[Item]:
        empty = True
        for line in lines:
            if isinstance(line, Problem):
                empty = False
                yield line
            elif line[1].strip():
                empty = False
                try:
                    yield from_json_line(line[1], f"{where}:{line[0]}", origin)
                except InputError as error:
                    yield Problem(f"{where}, line {line[0]}", str(error))
        if empty:
            yield Problem(where, "is empty; there is nothing to remember in it")


def _guarded(where: str, document: Document) -> Iterator[Item]:
    try:
        yield from_document(document)
    except InputError as error:
        yield Problem(where, str(error))


def _fact_lines(lines: Iterable[tuple[int, str] | Problem], longest: int) -> Iterator[Item]:
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line[1].strip():
            try:
                yield from_fact(from_line(line[1].rstrip("\r\n"), longest))
            except InputError as error:
                yield Problem(f"standard input, line {line[0]}", str(error))


def _whole_text(lines: Iterable[tuple[int, str] | Problem], longest: int) -> Iterator[Item]:
    parts: list[str] = []
    length = 0
    for line in lines:
        if isinstance(line, Problem):
            yield line
            return
        parts.append(line[1])
        length += len(line[1])
        if length > longest:
            yield Problem("standard input", f"is longer than {longest:,} characters; split it")
            return
    text = "".join(parts)
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    yield from from_text(text, f"stdin-{digest}", "")
