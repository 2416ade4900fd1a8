"""Commands about a memory as a whole: what is in it, what leaves it, its files and models."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import count_slots, source_name
from memnet.errors import InputError, MemnetError, one_line, text_line
from memnet.storage.place import StorePlace, place_name

if TYPE_CHECKING:
    from memnet.engine import Engine
    from memnet.types import Source


@click.command()
@options.namespace(help="List only this one.")
@options.store
@options.as_json
def sources(namespace: str | None, store: StorePlace | None, as_json: bool) -> None:
    """List what is stored: kind, slots, source id and title.

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
    name, file = source_name(source.id), source.origin or source.id
    within = "" if source.id.startswith(file) else f"  in {source_name(file)}"
    click.echo(f"{source.kind:<9} {source.slots:>6}  {name}{title}{within}{kept_apart}")


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
    quick, space = found.vectors - found.vectors_full, found.bytes / 1e6
    models = [f"{one.name} ({one_line(one.note or 'used')})" for one in found.models]
    for name, value in {
        "Memory": f"{found.path}, {space:,.1f} MB, layout {found.schema_version}",
        "Holds": f"{found.sources:,} sources: {found.documents:,} documents, {found.facts:,} facts",
        "Searched in": f"{found.slots:,} passages and facts, by {found.symbols:,} names"
        + f", {found.superseded:,} of them out of date" * bool(found.superseded),
        "Vectors": f"{found.vectors:,} by {found.encoder}"
        + f"; {quick:,} are quick ones until 'memnet ingest --finish'" * bool(quick),
        "Compared by": f"{found.index}, finds {found.index_recall:.0%}; on {found.device}",
        "Trained models": ", ".join(models) or "none; the shipped ones answer",
    }.items():
        click.echo(f"{name:<15} {value}")


@click.command()
@click.argument(
    "source_ids", nargs=-1, required=True, metavar="SOURCE_ID...",
    shell_complete=options.complete_sources,
)  # fmt: skip
@options.namespace(help="Namespace of the sources.  [default: the default one]")
@options.store
def forget(source_ids: tuple[str, ...], namespace: str | None, store: StorePlace | None) -> None:
    """Remove documents and fact files with all made from them.

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
    click.echo(f"{len(names)} forgotten, {count_slots(slots)} removed.")


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
    """Check that rows, text search and vector index agree. Exits with 1 if they do not.

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
    """Write the memory to one file, as a backup or to move it.

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
    click.echo(f"{count_slots(slots)} exported to {bundle}.")


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

    place = options.store_path(store)
    Engine.import_bundle(bundle, place, encoder)
    click.echo(f"{bundle} imported into {place_name(place)}.")


@click.command()
@click.argument("source", type=options.place, metavar="FROM")
@click.argument("target", type=options.place, metavar="TO")
def copy(source: StorePlace, target: StorePlace) -> None:
    """Copy a whole memory from or to a folder or PostgreSQL.

    Each is a folder or postgresql://HOST/DATABASE. TO must be new or empty. FROM is copied as it is
    at one moment, whoever writes to it meanwhile, and stays as it is.

    \b
    Example:
      memnet copy ~/.local/share/memnet/store "postgresql://ann@db.example/memory?schema=notes"
    """
    from memnet.storage import copy_store

    slots = copy_store(source, target)
    click.echo(f"{count_slots(slots)} copied from {place_name(source)} to {place_name(target)}.")


@click.group(invoke_without_command=True)
@options.store
@options.as_json
@click.pass_context
def models(context: click.Context, store: StorePlace | None, as_json: bool) -> None:
    """List the models that were trained on a store.

    \b
    Example:
      memnet models
      memnet models use text-aside
      memnet models remove text
    """
    if context.invoked_subcommand is not None:
        return
    with options.open_engine(store) as engine:
        found = list(_described(engine))
    if as_json:
        click.echo(json.dumps({"models": found}))
        return
    for one in found:
        measured = ", ".join(f"{name} {value}" for name, value in one["measured"].items())
        click.echo(one_line(f"{one['name']:<11} {one['state']}  {one['trained']}  {measured}"))
    if not found:
        click.echo("The store has no models of its own; the shipped ones answer.")


@models.command()
@click.argument("name")
@options.store
def use(name: str, store: StorePlace | None) -> None:
    """Use a model that is set aside. The one that was used takes its place."""
    from memnet.storage.files import ASIDE

    with options.open_engine(store) as engine:
        _check(name, engine.store.models.set_aside(), "set aside")
        engine.store.models.use(name.removesuffix(ASIDE))
    click.echo(f"The store uses what was {name}.")


@models.command()
@click.argument("name")
@options.store
def remove(name: str, store: StorePlace | None) -> None:
    """Delete a model. Where it was used, the shipped one answers again."""
    with options.open_engine(store) as engine:
        folders = engine.store.models
        _check(name, (*folders.names(), *folders.set_aside()), "there")
        folders.remove(name)
    click.echo(f"{name} removed.")


def _check(name: str, known: tuple[str, ...], what: str) -> None:
    if name not in known:
        listed = ", ".join(known) or "none"
        raise InputError(f"no model {name!r} is {what}; expected one of: {listed}")


def _described(engine: "Engine") -> Iterator[dict[str, Any]]:
    """Name, state, day and measures of each model."""
    from memnet.checkpoints import MODEL, load_checkpoint

    notes = {one.name: one.note or "used" for one in engine.info().models}
    folders = engine.store.models
    for name in (*folders.names(), *folders.set_aside()):
        try:
            trained = load_checkpoint(folders.folder(name), MODEL)[1].get("trained")
        except MemnetError:
            trained = None
        trained = trained if isinstance(trained, dict) else {}
        yield {
            "name": name,
            "state": notes.get(name, "set aside"),
            "trained": trained.get("date", "day unknown"),
            "measured": {
                key: round(value, 3) if isinstance(value, float) else value
                for key, value in trained.items()
                if isinstance(value, int | float | str) and key in _MEASURES
            },
        }


_MEASURES = (
    "questions", "measured_on", "recall_before", "recall_trained", "hits_at_1", "f1",
)  # fmt: skip
