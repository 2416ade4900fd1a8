"""``memnet train``: its group, and what its commands share."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from memnet.cli.output import show_note
from memnet.learning import TrainingProgress

_INTERVAL = 60.0  # seconds between two lines of progress

_Item = TypeVar("_Item")
_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group()
def train() -> None:
    """Train a model: one that belongs to the store, or a folder to be used with --model.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
    """


out_option = click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the model."
)
own_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the model.  [default: the store's own, where 'memnet ask' uses it by itself]",
)
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Processor cores.  [default: all that are free]"
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


def read_all(files: Iterable[Path], read: Callable[[Path], Iterable[_Item]]) -> list[_Item]:
    """What all files hold, one after the other."""
    return [item for file in files for item in read(file)]


def show_result(as_json: bool, values: Mapping[str, Any], text: str) -> None:
    """Print what a training reached, as JSON or as a sentence."""
    click.echo(json.dumps(values) if as_json else text)


class ProgressLines:
    """Prints a line of progress a minute, on a terminal and in a log alike."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        show: Callable[[str], None] = show_note,
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
