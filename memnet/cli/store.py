"""``memnet sources``, ``info``, ``forget`` and ``verify``: a memory as a whole."""

from pathlib import Path

import click

from memnet.cli.options import json_option, namespace_option, open_engine, store_option
from memnet.errors import one_line


@click.command()
@namespace_option("List only this one.")
@store_option
@json_option
def sources(namespace: str | None, store: Path | None, as_json: bool) -> None:
    """List what is stored: kind, number of slots, source id and title.

    A source id is what evidence cites and 'memnet forget' takes.

    \b
    Example:
      memnet sources --json
    """
    from memnet.cli.text import source_name, text_line

    with open_engine(store) as engine:
        found = engine.sources(namespace)
        if as_json:
            items = ", ".join(item.model_dump_json() for item in found)
            click.echo(f'{{"sources": [{items}]}}')
            return
        for item in found:
            title = f"  {text_line(item.title)}" if item.title else ""
            kept_apart = f"  (namespace {one_line(item.namespace)})" if item.namespace else ""
            name = source_name(item.id)
            click.echo(f"{item.kind:<9} {item.slots:>6}  {name}{title}{kept_apart}")


@click.command()
@store_option
@json_option
def info(store: Path | None, as_json: bool) -> None:
    """Show what the memory holds.

    \b
    Example:
      memnet info --json
    """
    with open_engine(store) as engine:
        found = engine.info()
    if as_json:
        click.echo(found.model_dump_json())
        return
    for name, value in found.model_dump().items():
        click.echo(f"{name.replace('_', ' '):<15} {value}")


@click.command()
@click.argument("source_ids", nargs=-1, required=True, metavar="SOURCE_ID...")
@namespace_option("Where they were kept apart.  [default: the default namespace only]")
@store_option
def forget(source_ids: tuple[str, ...], namespace: str | None, store: Path | None) -> None:
    """Remove documents and fact files, with all that was made from them.

    A source id is what evidence cites: the "id" of a JSON line, else the file's path. Sources of
    the same id in another namespace stay.

    \b
    Example:
      memnet forget notes/old.md
    """
    with open_engine(store) as engine:
        slots = engine.forget(*source_ids, namespace=namespace or "")
    click.echo(f"{len(source_ids)} forgotten, {slots} slots removed.")


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
