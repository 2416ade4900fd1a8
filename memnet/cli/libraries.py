"""What is installed: the libraries that memnet needs, and those of its extras."""

import importlib
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from memnet.errors import first_line

_REQUIREMENT = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([\w-]+)["']""")
_NOT_FOR_USERS = "test"
_FAISS = ("faiss-cpu", "faiss-gpu")
"""Each brings the module "faiss"; never both."""


class Library(NamedTuple):
    """A library as it is installed."""

    name: str
    version: str | None
    """None if it is not installed."""
    problem: str | None = None
    """Why it can't be imported although it is installed."""


class Extra(NamedTuple):
    """Libraries that memnet can use and does not need."""

    name: str
    missing: tuple[str, ...]
    command: str
    """That installs them."""


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution; None if it is not there."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def library(distribution: str, module: str | None = None) -> Library:
    """A library, imported to see whether it works.

    Args:
        distribution: its name on the package index.
        module: to import; None for the distribution's name.
    """
    found = installed_version(distribution)
    if found is None:
        return Library(distribution, None)
    try:
        importlib.import_module(module or distribution)
    except Exception as error:  # a broken library may raise anything
        return Library(distribution, found, first_line(error))
    return Library(distribution, found)


def faiss() -> Library:
    """FAISS, in whichever of its two distributions it is installed."""
    there = [name for name in _FAISS if installed_version(name)]
    if len(there) > 1:
        both = " and ".join(there)
        return Library("faiss", installed_version(there[0]),
                       f"{both} are installed and overwrite each other")  # fmt: skip
    if not there:
        return Library("faiss", None)
    found = library(there[0], "faiss")
    return Library("faiss", f"{found.version} ({there[0]})", found.problem)


def missing_requirements() -> list[str]:
    """Distributions that memnet needs and that are not installed."""
    return [name for name, extra in _requirements() if not extra and not installed_version(name)]


def extras() -> list[Extra]:
    """The extras that memnet has, with what is missing of each."""
    wanted: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra and extra != _NOT_FOR_USERS:
            wanted.setdefault(extra, []).append(name)
    return [
        Extra(
            extra,
            tuple(name for name in names if not installed_version(name)),
            f'pip install "memnet[{extra}]"',
        )
        for extra, names in wanted.items()
        # One of the two is enough, and the other must not be installed beside it.
        if not any(one in names for one in _FAISS) or _fits(names)
    ]


def _fits(names: list[str]) -> bool:
    """Whether an extra with FAISS can be installed: no other FAISS is there."""
    return not any(installed_version(one) for one in _FAISS if one not in names)


def _requirements() -> Iterator[tuple[str, str]]:
    """Names of the distributions that memnet names, each with its extra, or an empty text."""
    try:
        lines = requires("memnet") or []
    except PackageNotFoundError:  # run from a folder, without being installed
        lines = []
    for line in lines:
        name, extra = _REQUIREMENT.match(line), _EXTRA.search(line)
        if name:
            yield name[0], extra[1] if extra else ""
