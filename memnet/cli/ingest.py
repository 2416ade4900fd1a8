"""``memnet ingest``."""

import logging
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import is_quiet
from memnet.cli.progress import (
    ProblemReporter,
    progress_bar,
    show_report,
    show_update,
    vectors_bar,
)
from memnet.errors import InputError
from memnet.loaders.formats import FORMATS, format_by_name

if TYPE_CHECKING:
    from memnet.engine import Engine
    from memnet.types import IngestReport, WatchReport

_log = logging.getLogger("memnet")


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
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--facts",
    is_flag=True,
    help="Read all files as facts: each line of a fact table, each cell of other tables (its "
    "header is the relation, the first cell of its row the subject).",
)
@click.option(
    "--key",
    metavar="COLUMN",
    help="With --facts: the column of subjects.  [default: the first]",
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
    help='Read .jsonl as messages, {"id", "session", "speaker", "time", "text"} a line.',
)
@click.option(
    "--watch",
    "follow",
    is_flag=True,
    help="Then watch the folders until Ctrl+C and ingest each change.",
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
    default=True,
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
    capacity: int | None,
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Remember files and folders (or standard input, as -).

    Documents: the formats below, files without a suffix as text, and .jsonl with
    {"id", "title", "text"} a line. Facts: .tsv with subject<TAB>relation<TAB>object a line. Files
    of other kinds are counted and skipped, hidden files ignored. Unchanged files cost nothing.

    Many passages are first stored with quick vectors: once the counts are printed, questions can be
    asked. Full vectors follow; if interrupted, the next 'memnet ingest' continues.

    \b
    Example:
      memnet ingest notes/ articles.jsonl facts.tsv
      cat story.txt | memnet ingest -
      memnet ingest notes/ --exclude drafts/ --watch
    """
    from memnet.ingest.selection import ReadOptions

    read_as = "conversation" if conversation else read_as
    reporter = ProblemReporter()
    with ExitStack() as stack:
        engine = stack.enter_context(options.open_engine(create=True, messages=capacity, **opening))
        given: dict[str, Any] = {
            "namespace": namespace or "",
            "facts": facts,
            "key": key,
            "read_as": read_as,
            "exclude": exclude,
            "on_problem": reporter.report,
        }
        updates: Iterator[WatchReport] = iter(())
        with progress_bar(paths, ReadOptions(facts, key, read_as, exclude)) as advance:
            if follow:
                from memnet.ingest.watching import watch

                updates = watch(engine, *paths, on_progress=advance, **given)
                report: IngestReport = next(updates)
            else:
                inputs = [sys.stdin.buffer if path == "-" else path for path in paths]
                report = engine.ingest(inputs, on_progress=advance, full=False, **given)
        reporter.finish()
        if as_json:
            click.echo(report.model_dump_json())
        else:
            show_report(report, reporter)
        if follow:
            _follow(updates, paths, as_json=as_json)
        else:
            sys.stdout.flush()
            _encode_full(engine)


def _encode_full(engine: "Engine") -> None:
    """Replace quick vectors, until all are full or the user interrupts."""
    from memnet.errors import StoreBusyError

    with vectors_bar(engine.store.quick.counts()) as advance:
        try:
            engine.encode_full(on_progress=advance)
        except StoreBusyError as error:
            _log.warning("full vectors are left for the next ingest: %s", error)


def _follow(updates: "Iterator[WatchReport]", paths: tuple[str, ...], *, as_json: bool) -> None:
    """Print what each change of the folders did, until the user interrupts."""
    if not is_quiet():
        click.echo(f"Watching {', '.join(paths)}; Ctrl+C to stop.", err=True)
    with suppress(KeyboardInterrupt):
        for report in updates:
            if as_json:
                click.echo(report.model_dump_json())
            else:
                show_update(report)
            sys.stdout.flush()
