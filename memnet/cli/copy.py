"""``memnet copy``: a memory from one place to another."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from memnet.cli.options import StorePlaceType
from memnet.cli.output import is_quiet, shows_bar
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.storage.tables.digests import TableDigest


@click.command()
@click.argument("source", type=StorePlaceType(), metavar="FROM")
@click.argument("target", type=StorePlaceType(), metavar="TO")
def copy(source: StorePlace, target: StorePlace) -> None:
    """Copy a whole memory: a folder, or postgresql://HOST/DATABASE, to another of either.

    TO must be new or empty. FROM is copied as it is at one moment, whoever writes to it meanwhile,
    and stays as it is. What is interrupted goes on when the same command is run again. At the
    end digests of all rows of both are compared and printed; 'memnet verify --digest' prints
    the same.

    \b
    Example:
      memnet copy ~/.local/share/memnet/store "postgresql://ann@db.example/memory?schema=notes"
    """
    from memnet.storage import copy_store

    with _bar() as advance:
        report = copy_store(source, target, on_progress=advance, on_note=_note)
    show_digests(report.digests)
    slots = report.digests["slot"].rows
    what = "finished" if report.resumed else "made"
    click.echo(f"Copy of {report.source} at {report.target} {what}: {slots:,} slots.")


def show_digests(digests: "Mapping[str, TableDigest]") -> None:
    """Print the digest of each table, and one for all, if there are any."""
    from memnet.storage.tables.digests import digest_of_all

    if digests:
        for name, (rows, digest) in digests.items():
            click.echo(f"{name:<16} {rows:>11,}  {digest}")
        click.echo(f"{'all':<16} {'':>11}  {digest_of_all(digests)}")


def _note(line: str) -> None:
    if not is_quiet():
        click.echo(line, err=True)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A progress bar over rows, on a terminal."""
    if not shows_bar():
        yield lambda _done, _all: None
        return
    with click.progressbar(length=1, label="Copying", file=sys.stderr) as bar:

        def advance(done: int, rows: int) -> None:
            bar.length = max(rows, 1)
            bar.update(done - bar.pos)

        yield advance
