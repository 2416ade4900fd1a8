"""A table of statements on a terminal."""

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memnet.cli.text import text_line
from memnet.text.places import local_time
from memnet.types import Change, Eviction, Statement, StatementChange

_CHANGED: dict[Change, str] = {
    "supersede": "superseded", "correct": "corrected", "end": "ended",
    "contradict": "contradicted",
}  # fmt: skip


def show_statements(statements: Sequence[Statement]) -> None:
    """Print statements, one or more lines each, with when they held and what changed them."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not statements:
        console.print("Nothing was told about it.")
        return
    table = Table(box=None, padding=(0, 1))
    for name in ("held", "told", "subject", "relation", "values", "changed"):
        table.add_column(name, overflow="fold", no_wrap=name in ("held", "told"))
    for one in statements:
        table.add_row(*map(Text, _cells(one)))
    console.print(table)


def show_evictions(evictions: Sequence[Eviction]) -> None:
    """Print what was evicted, a line each, and when."""
    for one in evictions:
        where = f" in {text_line(one.namespace)}" if one.namespace else ""
        click.echo(f"evicted {_day(one.evicted)}  {one.kind} {text_line(one.source)}{where}")


def _cells(one: Statement) -> tuple[str, ...]:
    until = "" if one.valid_until is None else _day(one.valid_until)
    held = "never" if one.change == "correct" else f"{_day(one.valid_from)} - {until}"
    if one.standing:
        held = f"{held.rstrip()} (standing)"
    relation = " ".join(filter(None, ("" if one.polarity else "not", one.relation)))
    if one.certainty in ("planned", "maybe"):
        relation = f"{relation} ({one.certainty})"
    return (
        held.rstrip(),
        _day(one.told),
        *map(text_line, (one.subject, relation, "; ".join(one.values))),
        "\n".join(map(_changed, one.changes)),
    )


def _changed(change: StatementChange) -> str:
    by = "" if change.text is None else f' by "{text_line(change.text)}"'
    return text_line(f"{_CHANGED[change.change]}{by}: {change.reason}")


def _day(seconds: float) -> str:
    return f"{local_time(seconds):%Y-%m-%d}"
