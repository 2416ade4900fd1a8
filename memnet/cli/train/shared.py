"""What the presets of ``memnet train`` share: options, and lines of progress."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from memnet.cli.verbosity import is_quiet
from memnet.learning import TrainingProgress

_INTERVAL = 60.0
"""Seconds between two lines."""

_Command = TypeVar("_Command", bound=Callable[..., Any])

out_option = click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the model."
)
own_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the model.  [default: the store's own, where 'memnet ask' uses it by itself]",
)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def train_option(what: str) -> Callable[[_Command], _Command]:
    """``--train FILE``, once or more."""
    return _files("--train", "train_files", what)


def dev_option(what: str) -> Callable[[_Command], _Command]:
    """``--dev FILE``, once or more."""
    return _files("--dev", "dev_files", f"Other {what}, to choose the best weights by")


def _files(name: str, variable: str, what: str) -> Callable[[_Command], _Command]:
    return click.option(
        name,
        variable,
        type=click.Path(path_type=Path),
        required=True,
        multiple=True,
        help=f"{what}; may be given several times.",
    )


def show_line(line: str) -> None:
    """Print a line about the training, unless these are unwanted."""
    if not is_quiet():
        click.echo(line, err=True)


class ProgressLines:
    """Prints a line of progress a minute, on a terminal and in a log alike."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        show: Callable[[str], None] = show_line,
    ) -> None:
        """Take a ``clock`` in seconds and what shows a line."""
        self._clock = clock
        self._show = show
        self._shown = clock()
        self._starts: dict[str, tuple[float, TrainingProgress]] = {}

    def __call__(self, progress: TrainingProgress) -> None:
        """Show the progress if the last line is a minute old."""
        now = self._clock()
        began, first = self._starts.get(progress.stage, (now, progress))
        if progress.examples <= first.examples:  # the stage is new, or begins again
            began, first = self._starts[progress.stage] = (now, progress)
        if now - self._shown >= _INTERVAL:
            self._shown = now
            self._show(_line(progress, first, now - began))


def _line(now: TrainingProgress, first: TrainingProgress, seconds: float) -> str:
    parts = [f"{now.stage}: {100 * now.share:.0f} % done"]
    if now.loss is not None:
        parts.append(f"loss {now.loss:.4f}")
    examples, share = now.examples - first.examples, now.share - first.share
    if examples > 0 and share > 0 and seconds > 0:
        parts.append(f"{examples / seconds:.1f} examples/s")
        parts.append(f"{_duration(seconds * (1 - now.share) / share)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    """Seconds as text: "45 s", "3 min", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
