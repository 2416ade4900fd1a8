"""How much is said on standard error beside the results."""

import logging
import sys

import click

_log = logging.getLogger("memnet")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
"""From -q, which leaves errors alone, to -vv."""
_DEFAULT = 1


class _StandardError(logging.Handler):
    """Prints records on what is standard error at that time, as one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        click.echo(self.format(record), err=True)


_handler = _StandardError()


def set_verbosity(more: int) -> None:
    """Say more than usual, or less.

    Args:
        more: how often -v was given, less how often -q was.
    """
    _log.setLevel(_LEVELS[min(max(_DEFAULT + more, 0), len(_LEVELS) - 1)])
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
