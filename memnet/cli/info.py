"""``memnet info``."""

from pathlib import Path

import click

from memnet.cli.options import json_option, open_engine, store_option


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
