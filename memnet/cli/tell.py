"""``memnet tell``."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli.options import json_option, namespace_option, open_engine, store_option
from memnet.cli.text import text_line

if TYPE_CHECKING:
    from memnet.types import Statement, TellReport

_LINES = {
    "add": '"{text}" as {source}',
    "merge": '"{text}" with "{other_text}" ({source})',
    "supersede": '"{other_text}" by "{text}" ({source})',
    "erase": '"{other_text}"',
    "evict": '"{other_text}"',
}


@click.command()
@click.argument("text", required=False)
@click.option("--history", metavar="NAME", help="Show what was told about NAME instead, and when.")
@namespace_option("Keep this apart under this name, or look only there.")
@store_option
@json_option
def tell(
    text: str | None, history: str | None, namespace: str | None, store: Path | None, as_json: bool
) -> None:
    """Remember a text, sentence by sentence, and say what that changed.

    A sentence is added, merged with one that says the same, or put in the place of one that it
    makes out of date, which stays as history. "Ann left Paris" ends what it takes back; "Forget
    that Ann lives in Paris" deletes it.

    \b
    Example:
      memnet tell "Ann moved to Paris."
      memnet tell "Ann moved to Rome."
      memnet tell --history Ann
    """
    if text is not None and history is None:
        with open_engine(store, create=True) as engine:
            _show_report(engine.tell(text, namespace=namespace or ""), as_json)
    elif text is None and history is not None:
        with open_engine(store) as engine:
            _show_history(engine.history(history, namespace=namespace), as_json)
    else:
        raise click.UsageError("give either a TEXT to remember or --history NAME")


def _show_report(report: "TellReport", as_json: bool) -> None:
    if as_json:
        click.echo(report.model_dump_json())
        return
    for decision in report.decisions:
        what = text_line(_LINES[decision.action].format_map(decision.model_dump()))
        click.echo(f"{decision.action:<10} {what}: {decision.reason}")


def _show_history(statements: "tuple[Statement, ...]", as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"history": [one.model_dump() for one in statements]}))
        return
    for one in statements:
        until = "" if one.valid_until is None else _moment(one.valid_until)
        click.echo(
            f"{_moment(one.valid_from)} - {until:<19}  {text_line(one.text)}  ({one.source})"
        )


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    # Windows knows the local time of some years only.
    with suppress(OSError, OverflowError, ValueError):
        moment = moment.astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")
