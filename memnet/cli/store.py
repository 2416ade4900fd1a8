"""Commands about a memory as a whole: what is in it, what leaves it, and its files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli import options
from memnet.cli.output import source_name, text_line, write_file
from memnet.cli.settings import store_path
from memnet.errors import InputError, one_line
from memnet.storage.place import StorePlace, place_name

if TYPE_CHECKING:
    from memnet.engine import Engine
    from memnet.types import Source


@click.command()
@options.namespace(help="List only this one.")
@options.store
@options.as_json
def sources(namespace: str | None, store: StorePlace | None, as_json: bool) -> None:
    """List what is stored: kind, number of slots, source id and title.

    'memnet forget' takes these source ids.

    \b
    Example:
      memnet sources --json
    """
    with options.open_engine(store) as engine:
        found = engine.sources(namespace)
        if as_json:
            items = ", ".join(item.model_dump_json() for item in found)
            click.echo(f'{{"sources": [{items}]}}')
            return
        for item in found:
            show_source(item)


def show_source(source: "Source") -> None:
    """Print a line about a source."""
    title = f"  {text_line(source.title)}" if source.title else ""
    kept_apart = f"  (namespace {one_line(source.namespace)})" if source.namespace else ""
    name = source_name(source.id)
    click.echo(f"{source.kind:<9} {source.slots:>6}  {name}{title}{kept_apart}")


@click.command()
@options.store
@options.as_json
def info(store: StorePlace | None, as_json: bool) -> None:
    """Show what the memory holds.

    \b
    Example:
      memnet info --json
    """
    with options.open_engine(store) as engine:
        found = engine.info()
    if as_json:
        click.echo(found.model_dump_json())
        return
    models = [f"{one.name} ({one_line(one.note or 'used')})" for one in found.models]
    for name, value in {**found.model_dump(), "models": ", ".join(models) or "none"}.items():
        click.echo(f"{name.replace('_', ' '):<15} {value}")


@click.command()
@click.argument(
    "source_ids", nargs=-1, required=True, metavar="SOURCE_ID...",
    shell_complete=options.complete_sources,
)  # fmt: skip
@options.namespace(help="Namespace of the sources.  [default: the default one]")
@options.store
def forget(source_ids: tuple[str, ...], namespace: str | None, store: StorePlace | None) -> None:
    """Remove documents and fact files with everything made from them.

    A source id is what evidence cites: the "id" of a JSON line, else the file's path. The path of a
    folder, an archive or a file of JSON lines stands for all sources that came from it. Sources
    with the same id in another namespace stay.

    \b
    Example:
      memnet forget notes/old.md
      memnet forget notes/
    """
    kept_apart = namespace or ""
    with options.open_engine(store) as engine:
        names = dict.fromkeys(
            name for given in source_ids for name in _sources_of(engine, given, kept_apart)
        )
        slots = engine.forget(*names, namespace=kept_apart)
    click.echo(f"{len(names)} forgotten, {slots} slots removed.")


def _sources_of(engine: "Engine", given: str, namespace: str) -> list[str]:
    """A source id itself; else the ids of what came from the file or folder of that path."""
    path = os.path.abspath(given)
    sources = engine.store.sources
    stored = sources.states([given, path], namespace)
    named = [name for name in (given, path) if name in stored][:1]
    return named or sources.from_path(path, namespace) or [given]


@click.command()
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild text search and vector index if needed, and delete unused data.",
)
@options.store
def verify(repair: bool, store: StorePlace | None) -> int:
    """Check that rows, text search and vector index agree; exits with 1 if they do not.

    \b
    Example:
      memnet verify --repair
    """
    with options.open_engine(store) as engine:
        report = engine.verify(repair)
    for line in (*report.problems, *report.notes):
        click.echo(one_line(line))
    if report.repaired:
        click.echo("Repaired.")
    elif not report.problems:
        click.echo("No problems found.")
    return 1 if report.problems and not report.repaired else 0


@click.command("export")
@click.argument("bundle", type=options.new_file)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@options.store
def export_store(bundle: Path, force: bool, store: StorePlace | None) -> None:
    """Write the memory to one file, as a backup or to move it to another machine.

    The bundle is a zip file of JSON lines and vectors. An existing file is kept unless --force is
    given.

    \b
    Example:
      memnet export memory.zip
    """
    if bundle.exists() and not force:
        raise InputError(
            f"{bundle} already exists; choose another name, or replace it with --force"
        )
    with options.open_engine(store) as engine:
        slots = engine.export_bundle(bundle)
    click.echo(f"{slots} slots exported to {bundle}.")


@click.command("import")
@click.argument("bundle", type=options.new_file)
@options.encoder(
    help="Its encoder: a sentence-transformers model, or static.  [default: all-MiniLM-L6-v2]"
)
@options.store
def import_store(bundle: Path, encoder: str | None, store: StorePlace | None) -> None:
    """Make a new memory from a bundle that 'memnet export' wrote.

    The bundle is checked, and imported completely or not at all. The store's folder, or its schema
    in the database, must be new or empty.

    \b
    Example:
      memnet import memory.zip --store notes
    """
    from memnet.engine import Engine

    place = store_path(store)
    Engine.import_bundle(bundle, place, encoder)
    click.echo(f"{bundle} imported into {place_name(place)}.")


@click.command()
@options.out_file(metavar="FILE", help="File to write, such as encoder.onnx.")
def encoder(out: Path) -> None:
    """Write the default encoder, in eight bits, as an ONNX file; memnet itself needs none.

    \b
    Example:
      memnet encoder --out encoder.onnx
    """
    from memnet.encoders.onnx_model import encoder_model, shipped_weights

    model = encoder_model(shipped_weights())
    write_file(out, model)
    click.echo(f"{out}: {len(model):,} bytes; ids [B, T] int64 -> vectors [B, 384] float32")


@click.command()
@click.argument("source", type=options.place, metavar="FROM")
@click.argument("target", type=options.place, metavar="TO")
def copy(source: StorePlace, target: StorePlace) -> None:
    """Copy a whole memory: a folder, or postgresql://HOST/DATABASE, to another of either.

    TO must be new or empty. FROM is copied as it is at one moment, whoever writes to it meanwhile,
    and stays as it is. An export and an import of the file that it made do the same.

    \b
    Example:
      memnet copy ~/.local/share/memnet/store "postgresql://ann@db.example/memory?schema=notes"
    """
    from memnet.storage import copy_store

    slots = copy_store(source, target)
    click.echo(f"{slots} slots copied from {place_name(source)} to {place_name(target)}.")
