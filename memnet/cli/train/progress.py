"""What a training shows while one waits for it."""

import time
from collections.abc import Callable

import click

from memnet.training.progress import TrainingProgress

_EVERY = 60.0
"""Seconds between two lines."""


def _print(line: str) -> None:
    click.echo(line, err=True)


class ProgressLines:
    """A line a minute about how far a training has come, on a terminal and in a log alike."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        show: Callable[[str], None] = _print,
    ) -> None:
        """Start to count.

        Args:
            clock: in seconds.
            show: prints a line.
        """
        self._clock = clock
        self._show = show
        self._shown = clock()
        self._starts: dict[str, tuple[float, TrainingProgress]] = {}

    def __call__(self, progress: TrainingProgress) -> None:
        """Take note of it, and show it if the last line is a minute old."""
        now = self._clock()
        began, first = self._starts.get(progress.stage, (now, progress))
        if progress.examples <= first.examples:  # the stage is new, or begins again
            began, first = self._starts[progress.stage] = (now, progress)
        if now - self._shown >= _EVERY:
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
    """Seconds for people: "45 s", "3 min", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
