"""The files of a folder, less those that are left out."""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from memnet.errors import InputError, Problem
from memnet.storage import DATABASE


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

    folder: Path
    """Absolute, as it was given to be read."""
    paths: frozenset[Path]
    """Of files and folders in it, at any depth, none of them left out."""


def is_left_out(path: Path, folder: Path, exclusions: Exclusions) -> bool:
    """Whether reading a folder leaves out a path in it."""
    within = path.relative_to(folder)
    return (
        any(map(_is_hidden, within.parts))
        or exclusions.cover(within, is_folder=path.is_dir())
        or any((folder / parent / DATABASE).exists() for parent in within.parents)
    )


def _is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden, or notes who edits an Office document."""
    return name.startswith((".", "~$"))


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
            problem = bad_link(path, root)
            if problem:
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
