"""From what a caller names (paths, streams, documents, facts) to parsed documents and facts."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from memnet.errors import InputError
from memnet.ingest.documents import (
    from_document,
    from_json_line,
    from_markdown,
    from_text,
    title_of,
)
from memnet.ingest.facts import from_fact, from_line, from_table
from memnet.ingest.parsed import ParsedDocument, ParsedFacts
from memnet.ingest.reading import SUFFIXES, Problem, decode, files_below, read_text
from memnet.types import Document, Fact

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

    def __init__(self, *, facts: bool, longest: int) -> None:
        """Set up a reader.

        Args:
            facts: read files and streams as facts, whatever their names.
            longest: bytes; a longer file or line is a problem.
        """
        self._facts = facts
        self._longest = longest

    def read(self, inputs: Iterable[Input]) -> Iterator[Item]:
        """Everything that the inputs hold, in their order."""
        for given in inputs:
            if isinstance(given, Document):
                yield from self._guarded(f"document {given.id!r}", given)
            elif isinstance(given, Fact):
                yield from_fact(given)
            elif isinstance(given, (str, os.PathLike)):
                yield from self._path(Path(os.path.abspath(given)))
            else:
                yield from self._stream(given)

    def _guarded(self, where: str, document: Document) -> Iterator[Item]:
        try:
            yield from_document(document)
        except InputError as error:
            yield Problem(where, str(error))

    def _path(self, path: Path) -> Iterator[Item]:
        if path.is_dir():
            empty = True
            for file in files_below(path):
                empty = False
                yield from self._file(file)
            if empty:
                kinds = ", ".join(SUFFIXES)
                yield Problem(str(path), f"the folder holds no file to read ({kinds})")
            yield FolderRead(str(path))
        elif path.is_file():
            yield from self._file(path)
        else:
            yield Problem(str(path), "no such file or folder; check the path")

    def _file(self, path: Path) -> Iterator[Item]:
        origin = str(path)
        complete = True
        try:
            for item in self._file_items(path, origin):
                complete = complete and not isinstance(item, Problem)
                yield item
        except InputError as error:
            yield Problem(origin, str(error))
        except OSError as error:
            yield Problem(origin, f"can't be read ({error.strerror or error}); check its rights")
        else:
            if complete:
                yield FileRead(origin)

    def _file_items(self, path: Path, origin: str) -> Iterator[Item]:
        suffix = path.suffix.lower()
        if suffix == ".jsonl":
            with path.open("rb") as file:
                yield from self._json_lines(self._lines(file, origin), origin, origin)
            return
        text = read_text(path, self._longest)
        if self._facts or suffix == ".tsv":
            yield from from_table(text, origin, origin)
        elif suffix in (".md", ".markdown"):
            yield from_markdown(text, origin, title_of(path), origin)
        else:
            yield from from_text(text, origin, title_of(path), origin)

    def _stream(self, stream: BinaryIO) -> Iterator[Item]:
        """A stream: JSON lines if it starts with a brace, else facts, stories or a plain text."""
        lines = self._lines(stream, "standard input")
        head = next((line for line in lines if isinstance(line, Problem) or line[1].strip()), None)
        if head is None:
            yield Problem("standard input", "is empty; there is nothing to remember in it")
            return
        if isinstance(head, tuple) and head[1].lstrip().startswith("{"):
            yield from self._json_lines(chain([head], lines), "standard input", "")
        elif self._facts:
            yield from _fact_lines(chain([head], lines))
        else:
            yield from _whole_text(chain([head], lines))

    def _lines(self, stream: BinaryIO, where: str) -> Iterator[tuple[int, str] | Problem]:
        """Numbered lines of a stream, with a problem for each that can't be decoded."""
        number = 0
        while data := stream.readline(self._longest + 1):
            number += 1
            try:
                if len(data) > self._longest:
                    while data and not data.endswith(b"\n"):
                        data = stream.readline(self._longest)
                    raise InputError(f"is longer than {self._longest:,} bytes; split it")
                yield number, decode(data)
            except InputError as error:
                yield Problem(f"{where}, line {number}", str(error))

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


def _fact_lines(lines: Iterable[tuple[int, str] | Problem]) -> Iterator[Item]:
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line[1].strip():
            try:
                yield from_fact(from_line(line[1].rstrip("\r\n")))
            except InputError as error:
                yield Problem(f"standard input, line {line[0]}", str(error))


def _whole_text(lines: Iterable[tuple[int, str] | Problem]) -> Iterator[Item]:
    parts: list[str] = []
    for line in lines:
        if isinstance(line, Problem):
            yield line
            return
        parts.append(line[1])
    text = "".join(parts)
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    yield from from_text(text, f"stdin-{digest}", "")
