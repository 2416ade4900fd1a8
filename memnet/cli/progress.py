"""What ``memnet ingest`` tells while it reads and at its end."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli.output import is_quiet, is_verbose, shows_bar, source_name
from memnet.loaders.signatures import UNKNOWN

if TYPE_CHECKING:
    from memnet.errors import Problem
    from memnet.ingest.pipeline import Progress
    from memnet.ingest.selection import ReadOptions
    from memnet.storage.values import VectorCounts
    from memnet.types import IngestReport, WatchReport

_PROBLEMS_SHOWN = 20
_SUFFIXES_SHOWN = 5
_KINDS_SHOWN = 3
_PATHS_SHOWN = 3


class ProblemReporter:
    """Prints the first problems and counts the others.

    What just holds no text, such as an image, is counted only.
    """

    def __init__(self) -> None:
        self._errors = 0
        self._suffixes: Counter[str] = Counter()  # of files of unknown kind

    def report(self, problem: "Problem") -> None:
        """Print or count a problem."""
        if problem.reason == UNKNOWN:
            self._suffixes[Path(problem.where).suffix.lower()] += 1
        self._errors += not problem.reason
        few = not problem.reason and self._errors <= _PROBLEMS_SHOWN
        if is_verbose() or (few and not is_quiet()):
            click.echo(f"skipped: {problem}", err=True)

    def finish(self) -> None:
        """Print how many more there were."""
        if self._errors > _PROBLEMS_SHOWN and not is_quiet() and not is_verbose():
            click.echo(f"skipped: {self._errors - _PROBLEMS_SHOWN} more", err=True)

    def by_reason(self, counts: Mapping[str, int]) -> str:
        """How many were skipped for each reason: "30 images, 2 of unknown kind (.map)"."""
        parts: list[str] = []
        for reason, count in counts.items():
            text = _number(count, reason)
            if reason == UNKNOWN:
                suffixes = [suffix for suffix, _ in self._suffixes.most_common(_SUFFIXES_SHOWN)]
                more = ["..."] if len(self._suffixes) > len(suffixes) else []
                text += f" ({', '.join([*suffixes, *more])})"
            parts.append(text)
        return ", ".join(parts)


def show_report(report: "IngestReport", reporter: ProblemReporter) -> None:
    """Print what an ingest did: what it read by kind, what changed, what was skipped and why."""
    if report.kinds:
        click.echo(f"Read {_counted(report.kinds)}.")
    evicted = f"{report.evicted:,} evicted, " if report.evicted else ""
    click.echo(
        f"{report.added:,} added, {report.updated:,} updated, {report.unchanged:,} unchanged, "
        f"{report.removed:,} removed, {evicted}{report.skipped:,} skipped in "
        f"{report.seconds:.1f} s; {report.slots:,} slots in the memory."
    )
    if report.skipped_by_reason.keys() - {"errors"}:
        click.echo(f"Skipped {reporter.by_reason(report.skipped_by_reason)}.")


def show_update(report: "WatchReport") -> None:
    """Print what changes in a watched folder did, if anything."""
    counts = {"added": report.added, "updated": report.updated, "removed": report.removed}
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if not done:
        return
    names = [source_name(path) for path in report.paths[:_PATHS_SHOWN]]
    more = len(report.paths) - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    done = f"{done.removeprefix('1 ')} " if len(report.paths) == 1 else f"{done}: "
    click.echo(f"{done}{listed}; {report.slots:,} slots in the memory.")


def _counted(kinds: Mapping[str, int], most: int | None = None) -> str:
    """Files by kind, the commonest first; with ``most`` no more kinds than that."""
    counted = sorted(kinds.items(), key=lambda item: -item[1])
    parts = [_number(count, kind) for kind, count in counted[:most]]
    return ", ".join([*parts, *(["..."] if len(counted) > len(parts) else [])])


def _number(count: int, what: str) -> str:
    """A count with what it counts, whose plural it loses for one."""
    if count == 1:
        what = what.replace("files", "file", 1) if "files" in what else what.removesuffix("s")
    return f"{count:,} {what}"


@contextmanager
def progress_bar(
    paths: Sequence[str], options: "ReadOptions"
) -> "Iterator[Callable[[Progress], None]]":
    """A progress bar over the bytes of the files that will be read, on a terminal.

    Without one a line for each batch that is stored, if more than usual is to be said.
    """
    from memnet.ingest.selection import measure

    named = [path for path in paths if path != "-"]
    total = measure(named, options) if shows_bar() else 0
    started = time.perf_counter()

    def described(progress: "Progress") -> str:
        speed = progress.characters / max(time.perf_counter() - started, 0.001) / 1000
        shown = _counted(progress.kinds, _KINDS_SHOWN) or f"{progress.documents:,} documents"
        return f"{shown}, {speed:,.0f} kB/s"

    if not total:
        verbose = is_verbose()
        yield lambda progress: click.echo(described(progress), err=True) if verbose else None
        return
    with click.progressbar(length=total, label="Ingesting", file=sys.stderr) as bar:

        def advance(progress: "Progress") -> None:
            bar.label = described(progress)
            bar.update(min(progress.bytes, total) - bar.pos)

        yield advance


@contextmanager
def vectors_bar(counts: "VectorCounts") -> "Iterator[Callable[[int], None]]":
    """A progress bar over quick vectors that full ones replace, on a terminal.

    Without one a line says how many there are, unless there are none or little is to be said.
    """
    quick = counts.vectors - counts.full
    if not quick or is_quiet():
        yield lambda _: None
        return
    click.echo("Questions can be asked now; full vectors follow.", err=True)
    if not shows_bar():
        verbose = is_verbose()
        yield lambda done: click.echo(f"{done:,} of {quick:,}", err=True) if verbose else None
        return
    with click.progressbar(length=quick, label="Full vectors", file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)
