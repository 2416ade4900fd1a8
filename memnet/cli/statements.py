"""Statements on a terminal."""

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from memnet.cli.console import make_console, print_table
from memnet.cli.text import text_line
from memnet.text.dates import local_time
from memnet.types import Change, Eviction, Statement, StatementChange

_CHANGED: dict[Change, str] = {
    "supersede": "superseded", "correct": "corrected", "end": "ended",
    "contradict": "contradicted",
}  # fmt: skip


def show_statements(statements: Sequence[Statement]) -> None:
    """Print statements, one or more lines each, with when they held and what changed them."""
    console = make_console()
    if not statements:
        console.print("Nothing was told about it.")
        return
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for one in statements:
        lines = (_told(one), *_structure(one), *map(_changed, one.changes))
        table.add_row(Text(_held(one)), Text("\n".join(lines)))
    print_table(console, table)


def show_evictions(evictions: Sequence[Eviction]) -> None:
    """Print what was evicted, a line each, and when."""
    for one in evictions:
        where = f" in {text_line(one.namespace)}" if one.namespace else ""
        click.echo(f"evicted {_day(one.evicted)}  {one.kind} {text_line(one.source)}{where}")


def _held(one: Statement) -> str:
    """From when until when; an end that is left out has not come."""
    until = "" if one.valid_until is None else _day(one.valid_until)
    held = "never" if one.change == "correct" else f"{_day(one.valid_from)} - {until}".rstrip()
    return f"{held} (standing)" if one.standing else held


def _structure(one: Statement) -> tuple[str, ...]:
    """Subject, relation and values, where they are known: "Ann | moved to | Paris"."""
    if not one.subject:
        return ()
    relation = one.relation if one.polarity else f"not: {one.relation}"
    return ("  " + text_line(" | ".join(filter(None, (one.subject, relation, *one.values)))),)


def _told(one: Statement) -> str:
    """The text and its source id, with what the text does not say itself."""
    known = [text_line(one.source)]
    if one.certainty in ("planned", "maybe"):
        known.append(one.certainty)
    if (told := _day(one.told)) != _day(one.valid_from):
        known.append(f"told {told}")
    return f"{text_line(one.text)}  ({', '.join(known)})"


def _changed(change: StatementChange) -> str:
    by = "" if change.text is None else f' by "{text_line(change.text)}"'
    return "  " + text_line(f"{_CHANGED[change.change]}{by}: {change.reason}")


def _day(seconds: float) -> str:
    return f"{local_time(seconds):%Y-%m-%d}"
