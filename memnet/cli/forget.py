"""``memnet forget``."""

from pathlib import Path

import click

from memnet.cli.options import namespace_option, open_engine, store_option


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
