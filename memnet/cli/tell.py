"""``memnet tell``, ``undo`` and ``history``."""

import json
from typing import TYPE_CHECKING

import click

from memnet.cli import options
from memnet.cli.output import print_result
from memnet.errors import text_line
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.types import Decision, TellReport, UndoReport

_LINES = {
    "add": '"{text}" as {source}',
    "merge": '"{text}" with "{other_text}" ({source})',
    "supersede": '"{other_text}" by "{text}" ({source})',
    "correct": '"{other_text}" by "{text}" ({source})',
    "end": '"{other_text}" by "{text}"',
    "contradict": '"{other_text}" and "{text}" ({source})',
    "erase": '"{other_text}"',
    "evict": '"{other_text}"',
}


@click.command()
@options.words("text", required=True)
@click.option(
    "--at",
    metavar="DATE",
    help="When it was said, if not now: 2026-01-12, with a time 2026-01-12T10:30, or yesterday.",
)
@click.option("--standing", is_flag=True, help="Never evict it.")
@options.capacity("statements", "MEMNET_TELL_CAPACITY")
@options.namespace(help="Namespace to write to.")
@options.store
@options.as_json
def tell(
    text: str,
    at: str | None,
    standing: bool,
    capacity: int | None,
    namespace: str | None,
    store: StorePlace | None,
    as_json: bool,
) -> None:
    """Remember a text sentence by sentence; says what changed.

    A sentence is added, merged with one that says the same, or replaces one that is now out of
    date, which stays as history. "Ann left Paris" ends an earlier statement; "Forget that Ann lives
    in Paris" deletes it. What came about on a day that the sentence names holds from that day.

    \b
    Example:
      memnet tell "Ann moved to Paris."
      memnet tell "Ann moved to Rome on 3 May 2024."
      memnet tell "Ann moved to Oslo." --at 2025-03-01
    """
    with options.open_engine(store, create=True, tell={"capacity": capacity}) as engine:
        report = engine.tell(text, at=at, namespace=namespace or "", standing=standing)
    print_result(report, as_json, show_report)


def show_report(report: "TellReport") -> None:
    """Print the decision about each sentence."""
    for decision in report.decisions:
        click.echo(_decision_line(decision))


def _decision_line(decision: "Decision") -> str:
    """A decision and its reason; a contradiction as a question."""
    texts = {name: text_line(str(value)) for name, value in decision.model_dump().items()}
    reason = decision.reason
    if decision.action == "contradict":
        reason = text_line(f"{reason.rstrip('.')}; which one is right?")
    return f"{decision.action:<10} {_LINES[decision.action].format_map(texts)}: {reason}"


@click.command()
@options.namespace(help="Namespace of the statements.")
@options.store
@options.as_json
def undo(namespace: str | None, store: StorePlace | None, as_json: bool) -> None:
    """Undo the last 'memnet tell'; again, the one before it.

    Statements that it added are deleted, and those that it ended or replaced hold again. What was
    erased ("Forget that ...", 'memnet forget') can't be restored, and undo stops there.

    \b
    Example:
      memnet tell "Ann moved to Rome."
      memnet undo
    """
    with options.open_engine(store) as engine:
        report = engine.undo(namespace=namespace or "")
    print_result(report, as_json, show_undone)


def show_undone(report: "UndoReport") -> None:
    """Print the statements that were taken back, and those that hold again."""
    for what, statements in (("removed", report.removed), ("restored", report.restored)):
        for one in statements:
            click.echo(f'{what:<10} "{text_line(one.text)}" ({one.source})')


@click.command("history")
@click.argument("name", required=False)
@options.namespace(help="Search only here.")
@options.store
@options.as_json
def history(
    name: str | None, namespace: str | None, store: StorePlace | None, as_json: bool
) -> None:
    """Show what was told, when it held, and what changed it.

    With a NAME only those about it, by any of its names; without one also the messages and
    statements that were evicted.

    \b
    Example:
      memnet history Ann
    """
    with options.open_engine(store) as engine:
        found = engine.history(name, namespace=namespace)
        evicted = () if name else engine.evictions(namespace=namespace)
    if as_json:
        shown = {"history": [one.model_dump() for one in found]}
        if not name:
            shown["evicted"] = [one.model_dump() for one in evicted]
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    from memnet.cli.show import show_evictions, show_statements

    show_statements(found)
    show_evictions(evicted)
