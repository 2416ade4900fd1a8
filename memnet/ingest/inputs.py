"""What a caller may give: paths, streams, documents and facts, checked and parsed."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast

from memnet.arguments import check_text
from memnet.config import LimitConfig
from memnet.errors import InputError, Problem
from memnet.files import read_lines
from memnet.ingest.folders import Exclusions, files_below
from memnet.ingest.formats import (
    LOADERS,
    Parsed,
    ParsedDocument,
    ParsedFacts,
    fact_source,
    load_fact_table,
    load_text,
    parse_document,
    parse_fact,
    parse_json_lines,
    parse_text,
)
from memnet.loaders.without_text import skip_reason
from memnet.types import Document, Fact

_SUFFIXES = ", ".join(LOADERS)
_STDIN = "standard input"
_MAX_DEPTH = 50
"""Of nested lists and objects in metadata."""

Input: TypeAlias = str | os.PathLike[str] | Document | Fact | BinaryIO


class ReadToEnd(NamedTuple):
    """A file was read without a problem, or all files of a folder were tried.

    What came from there before and does so no longer may be removed.
    """

    origin: str
    is_folder: bool
    exclusions: Exclusions = Exclusions()
    """What of a folder was left out."""


@dataclass(frozen=True)
class ReadOptions:
    """How inputs are read."""

    facts: bool = False
    """Read files and streams as facts, whatever their names; JSON lines stay documents."""
    read_as: Literal["text"] | None = None
    """What files of an unknown kind are read as; None makes them a problem."""
    exclude: Sequence[str] = ()
    """Patterns as in a .gitignore of each folder: what matches is left out."""


Item: TypeAlias = Parsed | Problem | ReadToEnd


class InputReader:
    """Reads inputs one after the other, with a ``Problem`` in the place of each bad part."""

    def __init__(self, limits: LimitConfig, options: ReadOptions) -> None:
        """Set up a reader; what is beyond the limits will be a problem.

        Raises:
            InputError: an option can't be used.
        """
        if options.read_as not in (None, "text"):
            raise InputError(f"read_as is {options.read_as!r}, expected 'text' or None; correct it")
        self._facts = options.facts
        self._read_as = options.read_as
        self._limits = limits
        self._exclusions = Exclusions(options.exclude)

    def read(self, inputs: Iterable[Input]) -> Iterator[Item]:
        """Everything that the inputs hold, in their order."""
        for given in inputs:
            if isinstance(given, Document):
                yield from self._document(given)
            elif isinstance(given, Fact):
                yield from self._checked([fact_source(given)], "fact")
            elif isinstance(given, (str, os.PathLike)):
                yield from self._path(Path(os.path.abspath(given)))
            else:
                yield from self._checked(self._stream(given), _STDIN)

    def _checked(self, items: Iterable[Parsed | Problem], where: str) -> Iterator[Parsed | Problem]:
        """The same items, with a problem in the place of each that is beyond the limits."""
        for item in items:
            try:
                if not isinstance(item, Problem):
                    check_parsed(item, self._limits)
                yield item
            except InputError as error:
                yield Problem(where, str(error))

    def _document(self, document: Document) -> Iterator[Item]:
        where = f"document {document.id!r}"
        try:
            yield from self._checked([parse_document(document)], where)
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
            # A file that was named by itself is missed by somebody, whatever it is.
            yield from self._folder(path) if is_folder else map(_as_error, self._file(path))

    def _folder(self, folder: Path) -> Iterator[Item]:
        empty = True
        for path in files_below(folder, self._exclusions):
            empty = False
            yield from [path] if isinstance(path, Problem) else self._file(path)
        if empty:
            yield Problem(str(folder), f"the folder holds no file to read ({_SUFFIXES})")
        yield ReadToEnd(str(folder), True, self._exclusions)

    def _file(self, path: Path) -> Iterator[Item]:
        origin = str(path)
        complete = True
        try:
            check_text(origin, "the path", self._limits.name)
            for item in self._checked(self._load(path), origin):
                complete = complete and not isinstance(item, Problem)
                yield item
        except InputError as error:
            yield Problem(origin, str(error), error.reason)
        except OSError as error:
            yield Problem(origin, f"can't be read ({error.strerror or error}); check its rights")
        else:
            if complete:
                yield ReadToEnd(origin, is_folder=False)

    def _load(self, path: Path) -> Iterable[Parsed | Problem]:
        suffix = path.suffix.lower()
        loader = LOADERS.get(suffix)
        if self._facts and suffix != ".jsonl":
            loader = load_fact_table
        elif loader is None:
            # A file of an unknown kind may be a table or a program rather than prose.
            if suffix and self._read_as is None:
                raise InputError(
                    f"is of the unknown kind {suffix!r}, expected {_SUFFIXES}; "
                    "'--as text', or read_as=\"text\", reads it as plain text",
                    skip_reason(suffix),
                )
            loader = load_text
        return loader(path, self._limits)

    def _stream(self, stream: BinaryIO) -> Iterator[Parsed | Problem]:
        """JSON lines if the stream starts with a brace, else facts, stories or a plain text."""
        numbered = read_lines(stream, _STDIN, self._limits.document)
        head = next(
            (line for line in numbered if isinstance(line, Problem) or line[1].strip()), None
        )
        if head is None:
            yield Problem(_STDIN, "is empty; there is nothing to remember in it")
            return
        lines = chain([head], numbered)
        if isinstance(head, tuple) and head[1].lstrip().startswith("{"):
            yield from parse_json_lines(lines, _STDIN, "")
        elif self._facts:
            yield from _fact_lines(lines, self._limits.fact)
        else:
            yield from _whole_text(lines, self._limits.document)


def _as_error(item: Item) -> Item:
    return Problem(item.where, item.what) if isinstance(item, Problem) else item


def flatten_inputs(inputs: Sequence[Input | Iterable[Input]]) -> Iterator[Input]:
    """Inputs of an ingest one by one, whether given by themselves or in lists.

    Raises:
        InputError: one is of another type; at once where it is given by itself.
    """
    for given in inputs:
        _check_input(given, Iterable)

    def each() -> Iterator[Input]:
        for given in inputs:
            if isinstance(given, (str, os.PathLike, Document, Fact)):
                yield given
            elif hasattr(given, "readline"):
                yield cast(BinaryIO, given)
            else:
                for one in given:
                    _check_input(one)
                    yield one  # pyright: ignore[reportReturnType]

    return each()


def _check_input(given: object, *other_types: type) -> None:
    single = isinstance(given, (str, os.PathLike, Document, Fact)) or hasattr(given, "readline")
    if not single and not isinstance(given, other_types):
        raise InputError(
            f"an input is of type {type(given).__name__}; expected paths, open binary files, "
            "Document and Fact values, or lists of them"
        )


def check_parsed(parsed: Parsed, limits: LimitConfig) -> None:
    """Check a document or facts, whatever they were read from.

    Raises:
        InputError: some part is too long, or is not valid Unicode.
    """
    check_text(parsed.name, "the source id", limits.name)
    if isinstance(parsed, ParsedFacts):
        for fact, *_ in parsed.facts:
            for what in ("subject", "relation", "object"):
                check_text(getattr(fact, what), f"the {what} of a fact", limits.fact)
        return
    check_text(parsed.title, "the title", limits.title)
    check_text(parsed.text, "the text", limits.document)
    if parsed.metadata:
        if _is_deeper(parsed.metadata, _MAX_DEPTH):
            raise InputError(f"the metadata is nested more than {_MAX_DEPTH} deep; flatten it")
        as_json = json.dumps(dict(parsed.metadata), ensure_ascii=False, default=str)
        check_text(as_json, "the metadata", limits.metadata)


def _is_deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings are nested more than ``levels`` deep."""
    if not isinstance(value, (Mapping, list, tuple)):
        return False
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
    return not levels or any(_is_deeper(part, levels - 1) for part in parts)


def _fact_lines(
    lines: Iterable[tuple[int, str] | Problem], max_characters: int
) -> Iterator[Parsed | Problem]:
    """Facts of a stream, each a source of its own."""
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line[1].strip():
            try:
                yield fact_source(parse_fact(line[1].rstrip("\r\n"), max_characters))
            except InputError as error:
                yield Problem(f"{_STDIN}, line {line[0]}", str(error))


def _whole_text(
    lines: Iterable[tuple[int, str] | Problem], max_characters: int
) -> Iterator[ParsedDocument | Problem]:
    parts: list[str] = []
    length = 0
    for line in lines:
        if isinstance(line, Problem):
            yield line
            return
        parts.append(line[1])
        length += len(line[1])
        if length > max_characters:
            yield Problem(_STDIN, f"is longer than {max_characters:,} characters; split it")
            return
    text = "".join(parts)
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    yield from parse_text(text, f"stdin-{digest}", "")
