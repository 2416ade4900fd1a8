"""``memnet ingest``."""

import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli.options import (
    device_option,
    encoder_option,
    index_option,
    json_option,
    namespace_option,
    open_engine,
    store_option,
)
from memnet.cli.progress import ProblemReporter
from memnet.loaders.formats import FORMATS

if TYPE_CHECKING:
    from memnet.ingest.pipeline import Progress


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


@click.command(epilog=_formats())
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--facts", is_flag=True, help="Read all files as fact tables.")
@click.option(
    "--as",
    "read_as",
    type=click.Choice([known.name for known in FORMATS]),
    metavar="FORMAT",
    help="Read files of an unknown kind, and those that are named here by themselves, as this "
    "format of the list below.  [default: by suffix]",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out what matches in folders, as a line of a .gitignore would: 'drafts/', "
    "'*.min.js'. What came from there before is removed. May be repeated.",
)
@encoder_option("For a new store: a sentence-transformers model.  [default: all-MiniLM-L6-v2]")
@index_option
@device_option
@namespace_option("Keep these documents apart under this name.")
@store_option
@json_option
def ingest(
    paths: tuple[str, ...],
    facts: bool,
    read_as: str | None,
    exclude: tuple[str, ...],
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Remember files and folders (or standard input, as -).

    Documents: the formats below, files without a suffix as text, and .jsonl with
    {"id", "title", "text"} a line. Facts: .tsv with subject<TAB>relation<TAB>object a line. Files
    of any other kind are counted and skipped, hidden ones left out. What is unchanged since last
    time costs nothing.

    \b
    Example:
      memnet ingest notes/ articles.jsonl facts.tsv
      cat story.txt | memnet ingest -
    """
    with open_engine(create=True, **opening) as engine, _bar(paths) as advance:
        reporter = ProblemReporter()
        report = engine.ingest(
            [sys.stdin.buffer if path == "-" else path for path in paths],
            namespace=namespace or "",
            facts=facts,
            read_as=read_as,
            exclude=exclude,
            on_progress=advance,
            on_problem=reporter.report,
        )
    reporter.finish()
    if as_json:
        click.echo(report.model_dump_json())
        return
    click.echo(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.removed} removed, {report.skipped} skipped in {report.seconds:.1f} s; "
        f"{report.slots} slots in the memory."
    )
    if report.skipped_by_reason.keys() - {"errors"}:
        click.echo(reporter.summary(report.skipped_by_reason))


@contextmanager
def _bar(paths: tuple[str, ...]) -> "Iterator[Callable[[Progress], None]]":
    """A progress bar over the bytes of the inputs; shown on a terminal only."""
    total = sum(_size(Path(path)) for path in paths if path != "-")
    if not sys.stderr.isatty() or not total:
        yield lambda _: None
        return
    with click.progressbar(length=total, label="Ingesting", file=sys.stderr) as bar:

        def advance(progress: "Progress") -> None:
            bar.label = f"Ingesting ({progress.documents} documents)"
            bar.update(min(progress.characters, total) - bar.pos)

        yield advance


def _size(path: Path) -> int:
    """Bytes of a file, or of the files below a folder, links left out."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        files = (Path(parent, name) for parent, _, names in os.walk(path) for name in names)
        return sum(file.lstat().st_size for file in files)
    except (OSError, ValueError):
        return 0
