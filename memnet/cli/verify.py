"""``memnet verify``."""

from pathlib import Path

import click

from memnet.cli.options import open_engine, store_option
from memnet.errors import one_line


@click.command()
@click.option("--repair", is_flag=True, help="Make text search and vector index anew if need be.")
@store_option
def verify(repair: bool, store: Path | None) -> int:
    """Check that rows, text search and vector index agree; exits with 1 when they do not.

    \b
    Example:
      memnet verify --repair
    """
    with open_engine(store) as engine:
        report = engine.verify(repair)
    for problem in report.problems:
        click.echo(one_line(problem))
    if report.repaired:
        click.echo("Repaired.")
    elif not report.problems:
        click.echo("All is well.")
    return 1 if report.problems and not report.repaired else 0
