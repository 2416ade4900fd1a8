"""What the commands print: how much, and stored texts as a terminal can show them."""

import logging
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.errors import InputError, one_line

if TYPE_CHECKING:
    from pydantic import BaseModel

_log = logging.getLogger("memnet")
# From -q, which leaves errors alone, to -vv.
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


class _StandardError(logging.Handler):
    """Prints records on the current standard error, as one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        click.echo(self.format(record), err=True)


_handler = _StandardError()


def set_verbosity(more: int) -> None:
    """Say more than usual, or less: ``more`` is the number of -v minus that of -q."""
    _log.setLevel(_LEVELS[min(max(1 + more, 0), len(_LEVELS) - 1)])
    if _handler not in _log.handlers:
        _log.addHandler(_handler)


def is_quiet() -> bool:
    """Whether warnings, notes and progress are unwanted."""
    return not _log.isEnabledFor(logging.WARNING)


def is_verbose() -> bool:
    """Whether more than usual is wanted."""
    return _log.isEnabledFor(logging.INFO)


def shows_bar() -> bool:
    """Whether progress is shown as a bar: on a terminal, unless it is unwanted."""
    return sys.stderr.isatty() and not is_quiet()


def show_note(text: str) -> None:
    """Print a line on standard error, unless notes are unwanted."""
    if not is_quiet():
        click.echo(text, err=True)


def print_result(result: "BaseModel", as_json: bool, show: Callable[[Any], object]) -> None:
    """Print a result as JSON, or show it to people."""
    if as_json:
        click.echo(result.model_dump_json())
    else:
        show(result)


def source_name(source: str) -> str:
    """A source id as one line; a path is relative to the working folder where that is shorter."""
    with suppress(ValueError, OSError):  # another drive, or the working folder was removed
        if Path(source).is_absolute():
            source = min(os.path.relpath(source), source, key=len)
    return one_line(source)


def count_slots(number: int) -> str:
    """A number of slots as people write it: "1,200 slots"."""
    return f"{number:,} slot{'s' * (number != 1)}"


def collapse_spaces(text: str) -> str:
    """A part of a text in one line, with a space where white space stands, also at its ends."""
    return one_line(re.sub(r"\s+", " ", text), None)


def write_file(path: Path, data: bytes) -> None:
    """Write what a user asked for; ``InputError`` if it can't be written."""
    try:
        path.write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} can't be written ({reason}); choose another file") from error
