"""Which files of a folder are read, and in which format."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memnet.errors import InputError, Problem
from memnet.ingest.folders import Exclusions, files_below
from memnet.loaders.formats import Format, find_format, format_by_name
from memnet.loaders.signatures import UNKNOWN, skip_reason, why_skipped

JSON_LINES: Final = Format("jsonl", "files of JSON lines", (".jsonl",), "", isolated=False)
FACT_TABLE: Final = Format("facts", "fact tables", (".tsv",), "", isolated=False)
CONVERSATION: Final = "conversation"
"""Name of the other format of JSON lines, and of those from standard input."""
_LINES: Final = 3
"""Lines that tell a table of data from one of facts."""


@dataclass(frozen=True)
class ReadOptions:
    """How inputs are read."""

    facts: bool = False
    """Make facts of files and streams: of the tables in formats that have some, and of the lines of
    all others; JSON lines stay documents."""
    key: str | None = None
    """With ``facts`` the header of the column that subjects stand in; None for the first one."""
    read_as: str | None = None
    """Name of the format that files of an unknown kind are read as, and files that are named by
    themselves; None to go by their suffixes. "conversation" means all JSON lines, too."""
    exclude: Sequence[str] = ()
    """Patterns as in a .gitignore of each folder: what matches is left out."""

    def reads_conversations(self) -> bool:
        """Whether JSON lines are messages in place of documents."""
        return self.read_as == CONVERSATION


def choose_format(
    path: Path, options: ReadOptions, head: bytes = b"", *, named: bool = False
) -> Format:
    """The format to read a file in.

    Args:
        path: of the file.
        options: how it is to be read.
        head: its first bytes; none if only its name is to tell.
        named: whether a user named it by itself.

    Raises:
        InputError: it is of an unknown kind, or holds no text.
    """
    suffix = path.suffix.lower()
    if named and options.read_as is not None:
        return format_by_name(options.read_as)
    if suffix == ".jsonl":
        return format_by_name(CONVERSATION) if options.reads_conversations() else JSON_LINES
    if suffix == ".tsv":
        return format_by_name("csv") if _is_data_table(head) else FACT_TABLE
    found = find_format(path.name, head)
    if options.facts and (found is None or found.name == "text"):
        return FACT_TABLE
    # A file of an unknown kind may be a table or a program rather than prose.
    if found is None and suffix and options.read_as is None:
        kind = skip_reason(suffix)
        if kind != UNKNOWN:
            raise InputError(f"has the suffix {suffix!r} of {kind}: {why_skipped(kind)}", kind)
        raise InputError(
            f"is of the unknown kind {suffix!r}; '--as text', or read_as=\"text\", reads it as "
            "plain text, and 'memnet ingest --help' lists what else there is",
            kind,
        )
    return found or format_by_name(options.read_as or "text")


def _is_data_table(head: bytes) -> bool:
    """Whether lines of text have columns that are not those of facts, equally many in each."""
    lines = [line for line in head.split(b"\n")[:_LINES] if line.strip()]
    tabs = {line.count(b"\t") for line in lines}
    return len(lines) > 1 and len(tabs) == 1 and tabs.isdisjoint({0, 2})


def measure(paths: Iterable[str | os.PathLike[str]], options: ReadOptions) -> int:
    """Bytes of the files that will be read of some files and folders."""
    exclusions = Exclusions(options.exclude)
    total = 0
    for given in map(Path, paths):
        named = not given.is_dir()
        for path in [given] if named else files_below(given, exclusions):
            if not isinstance(path, Problem):
                total += _size(path, options, named=named)
    return total


def _size(path: Path, options: ReadOptions, *, named: bool) -> int:
    try:
        choose_format(path, options, named=named)
        return path.stat().st_size
    except (InputError, OSError, ValueError):
        return 0
