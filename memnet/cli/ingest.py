"""``memnet ingest``."""

import os
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import (
    count_slots,
    is_quiet,
    is_verbose,
    print_result,
    show_note,
    shows_bar,
    source_name,
)
from memnet.errors import InputError, shorten
from memnet.loaders.formats import FORMATS, OCR_ADVICE, UNKNOWN, format_by_name, reads_pictures
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.errors import Problem
    from memnet.ingest.pipeline import Progress
    from memnet.ingest.selection import ReadOptions
    from memnet.types import IngestReport, WatchReport

_PROBLEMS_SHOWN = 20
_SUFFIXES_SHOWN = 5
_KINDS_SHOWN = 3
_PATHS_SHOWN = 3
_SHARES = 1000  # parts of a bar whose length is not known at first
_LEFT = "'memnet serve' makes full ones in the background, 'memnet ingest --finish' at once."
_FINISHING = "Full ones are made; Ctrl+C stops that, 'memnet ingest --finish' goes on."


def _formats() -> str:
    """A line for each format: its name, what people call it, its suffixes."""
    lines = [
        line
        for known in sorted(FORMATS, key=lambda known: known.name)
        for line in textwrap.wrap(
            f"{known.name:<14} {known.title} ({' '.join(known.suffixes)})",
            width=78,
            initial_indent="  ",
            subsequent_indent=" " * 17,
        )
    ]
    return "\b\n" + "\n".join(["Formats:", *lines])


def _format(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Check a format's name: one of memnet's, or one that another package reads."""
    try:
        return name and format_by_name(name).name
    except InputError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=_formats())
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--facts",
    is_flag=True,
    help="Read all files as facts: each line of a fact table, each cell of other tables (its "
    "header is the relation, the first cell of its row the subject).",
)
@click.option(
    "--key", metavar="COLUMN", help="With --facts: the column of subjects.  [default: the first]"
)
@click.option(
    "--as",
    "read_as",
    callback=_format,
    shell_complete=lambda _context, _option, start: [
        known.name for known in FORMATS if known.name.startswith(start)
    ],
    metavar="FORMAT",
    help="Format of files of unknown kind and of files named directly, from the list below.  "
    "[default: by suffix]",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Exclude matching files in folders, in the syntax of .gitignore: 'drafts/', '*.min.js'. "
    "Sources that came from them are removed. May be repeated.",
)
@click.option(
    "--conversation",
    is_flag=True,
    help='Read all .jsonl as messages, {"id", "session", "speaker", "time", "text"} a line, not '
    "only those whose first line has a speaker.",
)
@click.option(
    "--watch",
    "follow",
    is_flag=True,
    help="Then watch the folders until Ctrl+C and ingest each change.",
)
@click.option(
    "--finish",
    is_flag=True,
    help="Then make the full vectors that large ingests leave; without a PATH just these.",
)
@options.encoder(
    help="For a new store: a sentence-transformers model, or static, which encodes passages by "
    "table lookup in a fraction of the time; the best ones are then compared exactly.  "
    "[default: all-MiniLM-L6-v2]"
)
@options.index
@options.device
@click.option(
    "--learn/--no-learn",
    default=False,
    show_default=True,
    help='Learn statements that speakers make about themselves in messages ("I live in Porto").',
)
@options.capacity("slots of messages", "MEMNET_MESSAGE_CAPACITY")
@options.namespace(help="Namespace to keep these documents in.")
@options.store
@options.as_json
def ingest(
    paths: tuple[str, ...],
    facts: bool,
    key: str | None,
    read_as: str | None,
    exclude: tuple[str, ...],
    conversation: bool,
    follow: bool,
    finish: bool,
    learn: bool,
    capacity: int | None,
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Remember files and folders; - is standard input.

    Documents: the formats below, files without a suffix as text, and .jsonl with
    {"id", "title", "text"} a line. Facts: .tsv with subject<TAB>relation<TAB>object a line; other
    .tsv are tables. Files of other kinds are counted and skipped, hidden files ignored. Unchanged
    files cost nothing.

    Many new passages get quick vectors, so that questions can be asked soon. 'memnet serve' makes
    full ones in the background, --finish in the foreground; either may be stopped at any time.

    \b
    Example:
      memnet ingest notes/ articles.jsonl facts.tsv
      cat story.txt | memnet ingest -
      memnet ingest notes/ --exclude drafts/ --watch
      memnet ingest --finish
    """
    from memnet.ingest.inputs import NOT_FOUND
    from memnet.ingest.selection import ReadOptions

    if not paths and not finish:
        raise click.UsageError("Missing argument 'PATH...'.")
    read_as = "conversation" if conversation else read_as
    reporter = _ProblemReporter()
    if paths and not follow and not any(one == "-" or os.path.lexists(one) for one in paths):
        # A mistyped path makes no empty memory.
        raise InputError(f"{paths[0]}: {NOT_FOUND}")
    messages = {"capacity": capacity, "learn": learn}
    with options.open_engine(create=bool(paths), messages=messages, **opening) as engine:
        given: dict[str, Any] = {
            "namespace": namespace or "", "facts": facts, "key": key, "read_as": read_as,
            "exclude": exclude, "on_problem": reporter.report,
        }  # fmt: skip
        updates: Iterator[WatchReport] = iter(())
        if paths:
            with _bytes_bar(paths, ReadOptions(facts, key, read_as, exclude)) as advance:
                if follow:
                    from memnet.ingest.watching import watch

                    updates = watch(engine, *paths, on_progress=advance, **given)
                    report: IngestReport = next(updates)
                else:
                    inputs = [sys.stdin.buffer if path == "-" else path for path in paths]
                    report = engine.ingest(inputs, on_progress=advance, full=False, **given)
            print_result(report, as_json, partial(_show_report, reporter=reporter))
            sys.stdout.flush()
        if follow:
            show_note(f"Watching {', '.join(paths)}; Ctrl+C to stop.")
            with suppress(KeyboardInterrupt):
                for update in updates:
                    print_result(update, as_json, _show_update)
                    sys.stdout.flush()
        counts = engine.store.quick.counts()
        if (quick := counts.vectors - counts.full) and not follow:
            show_note(f"Questions can be asked now; {quick:,} vectors are quick ones.")
            show_note(_FINISHING if finish else _LEFT)
            if finish:
                with _bar("Full vectors", quick) as advance:
                    engine.encode_full(on_progress=lambda done: advance(done, f"{done:,} vectors"))


@click.command()
@click.option(
    "--to",
    metavar="NAME",
    help="static, multilingual, all-MiniLM-L6-v2, a sentence-transformers model by its folder or "
    "name, or hub:ORG/NAME.",
)
@options.store
def encoder(to: str | None, store: StorePlace | None) -> None:
    """Show the encoder of the memory, or change it.

    With --to all that the memory holds is encoded anew, without the files that it came from.

    Questions are answered by the old one until all is encoded. Whatever is interrupted goes on when
    the command is run again. A server or assistant that has the memory open then must be restarted.

    \b
    Example:
      memnet encoder
      memnet encoder --to multilingual
    """
    place = options.store_path(store)
    if to is None:
        from memnet.storage import existing_encoder

        name, dimension = existing_encoder(place)
        click.echo(f"{name}, {dimension} dimensions")
        return
    from memnet.engine import Engine

    with _bar("Encoding", _SHARES) as advance:
        count = Engine.encode_anew(
            place,
            to,
            on_progress=lambda done, of: advance(_SHARES * done // of, f"{done:,} of {of:,} texts"),
        )
    click.echo(f"{count:,} texts encoded anew." if count else "The memory has that encoder.")


class _ProblemReporter:
    """Prints the first problems and counts the others.

    What just holds no text, such as an image, is counted only; at the end all are, by reason.
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
        advice = f" ({OCR_ADVICE})" if "images" in counts and not reads_pictures() else ""
        return ", ".join(parts) + advice


def _show_report(report: "IngestReport", reporter: _ProblemReporter) -> None:
    """Print what an ingest did: what it read by kind, what changed, what was skipped and why."""
    if report.kinds:
        click.echo(f"Read {_counted(report.kinds)}.")
    evicted = f"{report.evicted:,} evicted, " if report.evicted else ""
    click.echo(
        f"{report.added:,} added, {report.updated:,} updated, {report.unchanged:,} unchanged, "
        f"{report.removed:,} removed, {evicted}{report.skipped:,} skipped in "
        f"{report.seconds:.1f} s; {count_slots(report.slots)} in the memory."
    )
    if report.skipped:
        hint = "" if is_verbose() else "; 'memnet -v ingest' names each"
        click.echo(f"Skipped: {reporter.by_reason(report.skipped_by_reason)}{hint}.")


def _show_update(report: "WatchReport") -> None:
    """Print what changes in a watched folder did, if anything."""
    counts = {"added": report.added, "updated": report.updated, "removed": report.removed}
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if not done:
        return
    names = [source_name(path) for path in report.paths[:_PATHS_SHOWN]]
    more = len(report.paths) - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    done = f"{done.removeprefix('1 ')} " if len(report.paths) == 1 else f"{done}: "
    click.echo(f"{done}{listed}; {count_slots(report.slots)} in the memory.")


def _counted(kinds: Mapping[str, int], most: int | None = None) -> str:
    """Files by kind, the commonest first; with ``most`` no more kinds than that."""
    parts = [_number(count, kind) for kind, count in Counter(kinds).most_common(most)]
    return ", ".join([*parts, *(["..."] if len(kinds) > len(parts) else [])])


def _number(count: int, what: str) -> str:
    """A count with what it counts, whose plural it loses for one."""
    if count == 1:
        what = what.replace("files", "file", 1) if "files" in what else what.removesuffix("s")
    return f"{count:,} {what}"


# Columns beside the label: the least bar, its brackets, share, time left and the end of the line.
_BAR_SPACE = 24


@contextmanager
def _bytes_bar(
    paths: Sequence[str], options: "ReadOptions"
) -> "Iterator[Callable[[Progress], None]]":
    """Progress over the bytes of the files that will be read."""
    from memnet.ingest.selection import measure

    named = [path for path in paths if path != "-"]
    started = time.perf_counter()
    with _bar("Ingesting", measure(named, options) if shows_bar() else 0) as advance:

        def advance_by(progress: "Progress") -> None:
            speed = progress.characters / max(time.perf_counter() - started, 0.001) / 1000
            shown = _counted(progress.kinds, _KINDS_SHOWN) or f"{progress.documents:,} documents"
            advance(progress.bytes, progress.reading or f"{shown}, {speed:,.0f} kB/s")

        yield advance_by


@contextmanager
def _bar(label: str, length: int) -> "Iterator[Callable[[int, str], None]]":
    """A progress bar on a terminal, within its width, called with how much is done and a label.

    Without one each label is a line, if more than usual is to be said.
    """
    if not (length and shows_bar()):
        verbose = is_verbose()
        yield lambda _, text: click.echo(text, err=True) if verbose else None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr, width=0) as bar:

        def advance(done: int, text: str) -> None:
            bar.label = shorten(text, max(1, shutil.get_terminal_size().columns - _BAR_SPACE))
            bar.update(min(done, length) - bar.pos)

        yield advance
