"""What a caller may give: paths, streams, documents and facts, checked and parsed."""

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from memnet.config import LimitConfig
from memnet.errors import InputError, Problem
from memnet.ingest.babi import looks_like_stories
from memnet.ingest.formats import (
    Parsed,
    ParsedFacts,
    fact_source,
    parse_document,
    parse_fact,
    parse_fact_table,
    parse_json_lines,
    parse_stories,
    table_facts,
)
from memnet.ingest.messages import message_document
from memnet.ingest.selection import (
    CONVERSATION,
    FACT_TABLE,
    JSON_LINES,
    Exclusions,
    FolderChanges,
    ReadOptions,
    bad_link,
    choose_format,
    files_below,
)
from memnet.io import check_size, open_file, read_lines, read_text
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import HEAD, Format, SourceFile, format_by_name
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad
from memnet.text.checks import check_text
from memnet.types import Document, Fact, Message

_STDIN = "standard input"
_DIGEST_BYTES = 2**20  # of a file that are read at a time
_HEAD_BYTES = 2**16  # at the start of a file by which stories are told from other texts
_MAX_BAD_LINES = 10_000  # at the start of a file that are held back until one is good
_MAX_DEPTH = 50  # of lists and objects in metadata

Input: TypeAlias = str | os.PathLike[str] | Document | Message | Fact | FolderChanges | BinaryIO
_SINGLE = (str, os.PathLike, Document, Message, Fact, FolderChanges)
NOT_FOUND = "no such file or folder; check the path"


class OriginComplete(NamedTuple):
    """A file was read without a problem, all files of a folder were tried, or a path is gone.

    What came from there before and does so no longer may be removed.
    """

    origin: str
    digest: bytes = b""  # of a file's content; of a folder empty
    exclusions: Exclusions = Exclusions()  # what of a folder was left out


Item: TypeAlias = Parsed | Problem | OriginComplete


class InputReader:
    """Reads inputs one after the other, with a ``Problem`` in the place of each bad part."""

    def __init__(
        self,
        limits: LimitConfig,
        options: ReadOptions,
        loaders: LoaderProcess,
        is_known: Callable[[str, bytes], bool],
    ) -> None:
        """Set up a reader; ``is_known`` tells if all of a file is stored, by its path and digest.

        Raises:
            InputError: an option can't be used.
        """
        if options.read_as is not None:
            format_by_name(options.read_as)
        if options.key is not None and not options.facts:
            raise InputError("a key column is for facts of tables; read them as facts, too")
        self._is_known = is_known
        self._loaders = loaders
        self._options = options
        self._limits = limits
        self._exclusions = Exclusions(options.exclude)
        self.kinds: Counter[str] = Counter()  # of files read or known, as people call their formats
        self.bytes = 0  # of the files of known formats that were read so far
        # Whether changes of a folder or messages were read, as they come turn by turn: it is no
        # error if none of them can be used.
        self.follows = False

    def read(self, inputs: Iterable[Input]) -> Iterator[Item]:
        """Everything that the inputs hold, in their order."""
        for given in inputs:
            if isinstance(given, Document | Message):
                yield from self._value(given)
            elif isinstance(given, Fact):
                yield from self._checked([fact_source(given)], "fact")
            elif isinstance(given, FolderChanges):
                yield from self._changes(given)
            elif isinstance(given, str | os.PathLike):
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

    def _value(self, given: Document | Message) -> Iterator[Item]:
        where = f"{type(given).__name__.lower()} {given.id!r}"
        try:
            if isinstance(given, Message):
                self.follows = True
                parsed = message_document(given)
            else:
                parsed = parse_document(given)
            yield from self._checked([parsed], where)
        except InputError as error:
            yield Problem(where, str(error), error.reason)

    def _path(self, path: Path) -> Iterator[Item]:
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
            check_text(str(path), "the path", self._limits.name)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            yield Problem(str(path), NOT_FOUND)
        except OSError as error:
            yield Problem(str(path), f"can't be read ({error.strerror}); check path and rights")
        except InputError as error:
            yield Problem(str(path), str(error))
        else:
            for item in self._folder(path) if is_folder else self._file(path, named=True):
                if isinstance(item, Problem) and not is_folder:
                    # It was named by itself: somebody misses it, whatever it is.
                    item = replace(item, reason="")
                yield item

    def _folder(self, folder: Path) -> Iterator[Item]:
        empty = True
        for path in files_below(folder, self._exclusions):
            empty = False
            yield from [path] if isinstance(path, Problem) else self._file(path)
        if empty:
            yield Problem(str(folder), "the folder holds no file to read; check the path")
        yield OriginComplete(str(folder), exclusions=self._exclusions)

    def _changes(self, changes: FolderChanges) -> Iterator[Item]:
        self.follows = True
        root = changes.folder.resolve()
        for path in sorted(changes.paths):
            if not os.path.lexists(path):
                yield OriginComplete(str(path))
            elif problem := bad_link(path, root):
                yield problem
            elif not path.is_dir():
                yield from self._file(path)
            elif not path.is_symlink():
                for file in files_below(path, self._exclusions, changes.folder):
                    yield from [file] if isinstance(file, Problem) else self._file(file)

    def _file(self, path: Path, *, named: bool = False) -> Iterator[Item]:
        origin = str(path)
        read = 0
        complete = True
        try:
            check_text(origin, "the path", self._limits.name)
            with open_file(path) as file:
                known = choose_format(path, self._options, file.read(HEAD), named=named)
                digest = self._digest(file, known)
            if self._is_known(origin, digest):
                self.kinds[known.title] += 1
                return
            loaded: Iterable[Parsed | Problem] = self._load(path, known)
            if known in (JSON_LINES, FACT_TABLE):
                loaded = _first_of_many(loaded)
            for item in self._checked(loaded, origin):
                complete = complete and not isinstance(item, Problem)
                read += not isinstance(item, Problem)
                yield item
            if read:
                self.kinds[known.title] += 1
        except InputError as error:
            yield Problem(origin, str(error), error.reason)
        except OSError as error:
            yield Problem(origin, f"can't be read ({error.strerror or error}); check its rights")
        else:
            if complete:
                yield OriginComplete(origin, digest)

    def _digest(self, file: BinaryIO, known: Format) -> bytes:
        """Of the content of a file, and of how it is to be read."""
        options = self._options
        how = f"{options.facts}/{options.key!r}/{known.name}/"
        digest = hashlib.blake2b(how.encode("utf-8", "surrogatepass"), digest_size=16)
        if known is not JSON_LINES:  # which are read line by line
            check_size(os.fstat(file.fileno()).st_size, self._limits.file)
        file.seek(0)
        while part := file.read(_DIGEST_BYTES):
            digest.update(part)
            self.bytes += len(part)
        return digest.digest()

    def _load(self, path: Path, known: Format) -> Iterator[Parsed | Problem]:
        name = str(path)
        if known is JSON_LINES:
            with open_file(path) as file:
                lines = read_lines(file, name, self._limits.document)
                yield from parse_json_lines(lines, name, name)
        elif known is FACT_TABLE:
            text = read_text(path, self._limits.document)
            yield from parse_fact_table(text, name, self._limits.fact)
        else:
            for item in self._documents(path, known):
                if self._options.facts and isinstance(item, ParsedDocument):
                    yield from table_facts(item, self._options.key, self._limits.fact)
                else:
                    yield item

    def _documents(self, path: Path, found: Format) -> Iterator[ParsedDocument | Problem]:
        name = str(path)
        if found.name == "text":
            with open_file(path) as file:
                head = file.read(_HEAD_BYTES)
            if looks_like_stories(head.decode("utf-8-sig", "replace")):
                yield from parse_stories(read_text(path, self._limits.document), name, name)
                return
        yield from self._loaders.load(FileToLoad(name, name, found.name))

    def _stream(self, stream: BinaryIO) -> Iterator[Parsed | Problem]:
        """JSON lines if the stream starts with a brace, else facts, stories or a plain text."""
        limit = self._limits.document
        if self._options.read_as == CONVERSATION:
            data = stream.read(limit + 1)
            if len(data) > limit:
                yield Problem(_STDIN, f"is longer than {limit:,} bytes; split it")
            else:
                yield from format_by_name(CONVERSATION).loader()(SourceFile(CONVERSATION, data))
            return
        numbered = read_lines(stream, _STDIN, limit)
        head = next(
            (line for line in numbered if isinstance(line, Problem) or line[1].strip()), None
        )
        if head is None:
            yield Problem(_STDIN, "is empty; there is nothing to remember in it")
            return
        lines = chain([head], numbered)
        if isinstance(head, tuple) and head[1].lstrip().startswith("{"):
            yield from parse_json_lines(lines, _STDIN, "")
        elif self._options.facts:
            yield from _fact_lines(lines, self._limits.fact)
        else:
            yield from _whole_text(lines, limit)


def flatten_inputs(inputs: Sequence[Input | Iterable[Input]]) -> Iterator[Input]:
    """Inputs of an ingest one by one, whether given by themselves or in lists.

    Raises:
        InputError: one is of another type; at once where it is given by itself.
    """
    for given in inputs:
        _check_input(given, Iterable)

    def each() -> Iterator[Input]:
        for given in inputs:
            if isinstance(given, _SINGLE):
                yield given
            elif hasattr(given, "readline"):
                yield cast(BinaryIO, given)
            else:
                for one in given:
                    _check_input(one)
                    yield one  # pyright: ignore[reportReturnType]

    return each()


def _check_input(given: object, *other_types: type) -> None:
    single = isinstance(given, _SINGLE) or hasattr(given, "readline")
    if not single and not isinstance(given, other_types):
        raise InputError(
            f"an input is of type {type(given).__name__}; expected paths, open binary files, "
            "Document, Message and Fact values, or lists of them"
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


def _first_of_many(lines: Iterable[Parsed | Problem]) -> Iterator[Parsed | Problem]:
    """The same, but one problem for all lines if none can be used: the file is of another kind."""
    rest = iter(lines)
    begun: list[Parsed | Problem] = []
    for item in rest:
        begun.append(item)
        if not isinstance(item, Problem) or len(begun) == _MAX_BAD_LINES:
            break
    else:
        if len(begun) > 1 and isinstance(first := begun[0], Problem):
            what = f"{first.what}; none of its other {len(begun) - 1:,} lines can be used either"
            yield replace(first, what=what)
            return
    yield from begun
    yield from rest


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
    name = f"stdin-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
    if looks_like_stories(text):
        yield from parse_stories(text, name)
    else:
        yield parse_document(Document(id=name, text=text))
