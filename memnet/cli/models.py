"""``memnet models``: what was trained on a store, what is used, and what goes."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.errors import InputError, MemnetError, one_line
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.engine import Engine


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
