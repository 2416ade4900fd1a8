"""Which files of a folder are read, and in which format."""

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.formats import (
    UNKNOWN,
    Format,
    find_format,
    format_by_name,
    skip_reason,
    why_skipped,
)
from memnet.loaders.tables.data_tables import SAMPLE, kind_of
from memnet.storage.place import DATABASE


class Exclusions:
    """Patterns of what to leave out of a folder, which mean what they do in its .gitignore."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """Read the patterns.

        Raises:
            InputError: one can't be used.
        """
        self._spec = None
        if isinstance(patterns, str):
            raise InputError(f"exclude is the text {patterns!r}, expected a list of patterns")
        if patterns:
            from pathspec import GitIgnoreSpec  # only where it is needed: questions start sooner

            try:
                with warnings.catch_warnings():  # of what it makes of "[[]"
                    warnings.simplefilter("ignore", FutureWarning)
                    self._spec = GitIgnoreSpec.from_lines(patterns)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"a pattern to exclude can't be used: {error}; expected one as in .gitignore"
                ) from error

    def match(self, path: PurePath, *, is_folder: bool = False) -> bool:
        """Whether to leave out a file or folder by its path relative to the whole folder.

        What is in a folder that is left out is not looked at, as in git.
        """
        slash = "/" if is_folder else ""
        return self._spec is not None and self._spec.match_file(path.as_posix() + slash)

    def cover(self, path: PurePath, *, is_folder: bool = False) -> bool:
        """Whether a file or folder is left out, by itself or with a folder that it is in."""
        if self._spec is None:
            return False
        folders = list(path.parents)[:-1]  # the last is the whole folder
        return self.match(path, is_folder=is_folder) or any(
            self.match(folder, is_folder=True) for folder in folders
        )


@dataclass(frozen=True)
class FolderChanges:
    """What was changed, made or removed in a folder since it was read."""

    folder: Path  # absolute, as it was given to be read
    paths: frozenset[Path]  # of files and folders in it, at any depth, none of them left out


def is_left_out(path: Path, folder: Path, exclusions: Exclusions) -> bool:
    """Whether reading a folder leaves out a path in it."""
    within = path.relative_to(folder)
    return (
        any(map(_is_hidden, within.parts))
        or exclusions.cover(within, is_folder=path.is_dir())
        or any((folder / parent / DATABASE).exists() for parent in within.parents)
    )


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$"))  # the latter note who edits an Office document


def files_below(
    folder: Path, exclusions: Exclusions, whole: Path | None = None
) -> Iterator[Path | Problem]:
    """Files of every kind in a folder and its subfolders, in a fixed order.

    Of a part of a folder that is read, ``whole`` is that folder.

    Skipped are hidden files and folders, what is excluded, folders of memories (which often lie
    among the notes that were ingested into them) and links to folders within the folder, as these
    are visited anyway. A link that leads out of the folder or nowhere, or a folder that can't be
    read, is a problem.
    """
    whole = whole or folder
    root = whole.resolve()
    unreadable: list[Problem] = []

    def on_error(error: OSError) -> None:
        what = f"the folder can't be read ({error.strerror}); check its rights"
        unreadable.append(Problem(str(error.filename), what))

    for parent, folders, names in os.walk(folder, onerror=on_error):
        if DATABASE in names:
            folders.clear()
            continue
        within = PurePath(parent).relative_to(whole)
        folders[:] = sorted(
            name
            for name in folders
            if not _is_hidden(name) and not exclusions.match(within / name, is_folder=True)
        )
        links = (name for name in folders if Path(parent, name).is_symlink())
        for name in sorted([*names, *links]):
            path = Path(parent, name)
            if _is_hidden(name) or exclusions.match(within / name):
                continue
            if problem := bad_link(path, root):
                yield problem
            elif name not in folders:
                yield path
    yield from unreadable


def bad_link(link: Path, root: Path) -> Problem | None:
    """What is wrong with a path below ``root``, a resolved one, if it is a link."""
    if not link.is_symlink():
        return None
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return Problem(str(link), "is a link that leads nowhere; remove it")
    if target.is_relative_to(root):
        return None
    return Problem(
        str(link), f"is a link out of the folder, to {target}; name that too if it is wanted"
    )


JSON_LINES: Final = Format("jsonl", "files of JSON lines", (".jsonl",), "", isolated=False)
FACT_TABLE: Final = Format("facts", "fact tables", (".tsv",), "", isolated=False)
CONVERSATION: Final = "conversation"  # the other format of JSON lines
_HAS_SPEAKER: Final = re.compile(rb'\s{0,9}\{[^\n]*?"speaker"\s{0,9}:')  # no field of documents
_LINES: Final = 3  # that tell a table of data from one of facts


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


def choose_format(
    path: Path, options: ReadOptions, head: bytes = b"", *, named: bool = False
) -> Format:
    """The format to read a file in, ``named`` by a user or found in a folder.

    Without ``head``, its first bytes, only its name tells.

    Raises:
        InputError: it is of an unknown kind, or holds no text.
    """
    suffix = path.suffix.lower()
    if named and options.read_as is not None:
        return format_by_name(options.read_as)
    if suffix == ".jsonl":
        said = options.read_as == CONVERSATION or _HAS_SPEAKER.match(head)
        return format_by_name(CONVERSATION) if said else JSON_LINES
    if suffix == ".tsv":
        return format_by_name("csv") if _is_data_table(head, options.facts) else FACT_TABLE
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


def _is_data_table(head: bytes, facts: bool) -> bool:
    """Whether the first lines of a text between tabs are equally long rows of data, and no facts.

    Of three columns those of data have numbers below a name, or nothing stands twice in those of
    subjects and relations; but if the user says that it has ``facts``, they are facts.
    """
    try:
        lines = decode(head[: head.rfind(b"\n") + 1] or head).splitlines()
    except InputError:
        return False
    rows = [line.split("\t") for line in lines if line.strip()][:SAMPLE]
    widths = {*map(len, rows[:_LINES])}
    if facts or widths != {3} or len(rows) < _LINES:
        return len(rows) > 1 and len(widths) == 1 and widths.isdisjoint({1, 3})
    subjects, relations, objects = zip(*(row for row in rows if len(row) == 3), strict=True)
    first, *below = map(kind_of, objects)
    distinct = len({*subjects}) == len(subjects) == len({*relations})
    return distinct or relations[1][:1].isdigit() or (first == "text" and {*below} == {"number"})


def measure(paths: Iterable[str | os.PathLike[str]], options: ReadOptions) -> int:
    """Bytes of the files that will be read of some files and folders."""
    exclusions = Exclusions(options.exclude)
    total = 0
    for given in map(Path, paths):
        named = not given.is_dir()
        for path in [given] if named else files_below(given, exclusions):
            if not isinstance(path, Problem):
                with suppress(InputError, OSError, ValueError):
                    choose_format(path, options, named=named)
                    total += path.stat().st_size
    return total
