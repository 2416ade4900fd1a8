"""What ``memnet ingest`` tells while it reads and at its end."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from memnet.errors import Problem

_PROBLEMS_SHOWN = 20
_SUFFIXES_SHOWN = 5


class ProblemReporter:
    """Prints the first problems and counts the others.

    What just holds no text, such as an image, is counted only.
    """

    def __init__(self) -> None:
        self._errors = 0
        self._suffixes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By reason."""

    def report(self, problem: "Problem") -> None:
        """Print or count a problem."""
        if problem.reason:
            self._suffixes[problem.reason][Path(problem.where).suffix.lower()] += 1
            return
        self._errors += 1
        if self._errors <= _PROBLEMS_SHOWN:
            click.echo(f"skipped: {problem}", err=True)

    def finish(self) -> None:
        """Print how many more there were."""
        if self._errors > _PROBLEMS_SHOWN:
            click.echo(f"skipped: {self._errors - _PROBLEMS_SHOWN} more", err=True)

    def summary(self, by_reason: Mapping[str, int]) -> str:
        """How many were skipped for each reason: "41 skipped: 30 images, 11 empty"."""
        from memnet.loaders.without_text import UNKNOWN

        parts: list[str] = []
        for reason, count in by_reason.items():
            suffixes = self._suffixes[reason].most_common() if reason == UNKNOWN else []
            names = [suffix for suffix, _ in suffixes[:_SUFFIXES_SHOWN]]
            more = ["..."] if len(suffixes) > len(names) else []
            listed = f" ({', '.join([*names, *more])})" if names else ""
            parts.append(f"{count:,} {reason.removesuffix('s') if count == 1 else reason}{listed}")
        return f"{sum(by_reason.values()):,} skipped: {', '.join(parts)}"
