"""Answers, hops and statements for people, on a terminal or in a pipe."""

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memnet.cli.evidence import show_evidence
from memnet.cli.output import collapse_spaces, is_quiet, source_name, text_line
from memnet.errors import one_line
from memnet.text.dates import local_time
from memnet.types import (
    Answer,
    Candidate,
    Change,
    Eviction,
    Evidence,
    Quote,
    SlotWeight,
    Statement,
    StatementChange,
)

_MAX_EVIDENCE = 5
_MAX_WEIGHTS = 5
_BAR_WIDTH = 10
# Width of lines in a file or a pipe: their readers need whole ids and texts.
_UNLIMITED = 100_000
_CHANGED: dict[Change, str] = {
    "supersede": "superseded", "correct": "corrected", "end": "ended",
    "contradict": "contradicted",
}  # fmt: skip


def make_console() -> Console:
    """Standard output; lines are as wide as the terminal, and of any width where it is none.

    Texts are printed as they are: what is remembered holds no markup for this terminal.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNLIMITED
    return console


def print_table(console: Console, table: Table) -> None:
    """Print a table; where it is no terminal, without spaces up to its longest line."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    lines = (line.rstrip() for line in printed.get().splitlines())
    console.print("\n".join(lines), soft_wrap=True)


def show_answer(answer: Answer, explained: bool = False) -> None:
    """Print notes, the answer with further values of a set, and the best evidence.

    With ``explained`` also what each hop attended to.
    """
    if not is_quiet():
        for note in answer.notes:
            click.echo(f"Note: {note}.", err=True)
    _show_result(make_console(), answer)
    if explained:
        explain(answer)


def explain(answer: Answer) -> None:
    """Print which experts answered, what each hop attended to, and why."""
    show_experts(answer)
    show_hops(answer)


def _show_result(console: Console, answer: Answer) -> None:
    shown: list[Candidate] = []
    if answer.unknown_words:
        words = ", ".join(answer.unknown_words)
        console.print(Text(f"The model {answer.model} does not know: {words}.", style="bold"))
    elif answer.answer is None:
        console.print("The memory does not hold the answer.", style="bold")
        if answer.candidates and answer.confidence is not None:
            guess = text_line(answer.candidates[0].text)
            console.print(Text(f"Best guess: {guess} (confidence {answer.confidence:.2f})"))
        console.print(
            "Nearest to the question:" if answer.evidence else "Nothing similar is stored."
        )
    else:
        shown = list(answer.candidates if answer.kind == "facts" else answer.candidates[:1])
        line = _answer_text(console, answer, shown)
        if answer.confidence is not None:
            line.append(f"  (confidence {answer.confidence:.2f})", style="not bold")
        console.print(line)
    if answer.unseen_relations:
        relations = ", ".join(answer.unseen_relations)
        console.print(f"The model {answer.model} was not trained on these relations: {relations}.")
    # "yes" and "no" are not quotations.
    marked = [] if answer.kind in ("yes", "no") else shown
    quoted = {quote.evidence for quote in answer.quotes}
    for number, item in enumerate(answer.evidence[:_MAX_EVIDENCE], start=1):
        show_evidence(console, number, item, answer.question, marked, item.id in quoted)


def _answer_text(console: Console, answer: Answer, shown: Sequence[Candidate]) -> Text:
    """The answer with its short form marked, if it has one; of facts all values."""
    if answer.kind == "facts" or answer.answer is None:
        return Text(text_line(", ".join(one.text for one in shown)), style="bold")
    lines = [text_line(line) for line in answer.answer.split("\n") if line.strip()]
    text = "\n".join(lines)
    short = text_line(answer.short or "")
    start = text.find(short) if answer.kind == "value" and short != text else -1
    if start < 0 or not short:
        return Text(text, style="bold")
    bold = console.is_terminal and not console.is_dumb_terminal
    return (
        Text(text[:start])
        .append(short if bold else f"**{short}**", style="bold")
        .append(text[start + len(short) :])
    )


def show_found(query: str, evidence: Sequence[Evidence]) -> None:
    """Print the evidence that a search found, all of it."""
    console = make_console()
    if not evidence:
        console.print("Nothing similar is stored.")
    for number, item in enumerate(evidence, start=1):
        show_evidence(console, number, item, query, ())


def show_experts(answer: Answer) -> None:
    """Print the experts that answered, with what decided between them."""
    if not answer.experts:
        return
    table = _table("Experts", "confidence", what="expert")
    for expert in answer.experts:
        share = f"{_bar(expert.weight)} {expert.weight:.2f}"
        table.add_row(share, expert.name, f"{expert.confidence:.2f}")
    print_table(make_console(), table)


def show_hops(answer: Answer) -> None:
    """Print a table of what each hop attended to, and why it went there where that is known."""
    console = make_console()
    scored = any(weight.dense for hop in answer.hops for weight in hop.weights)
    for hop in answer.hops:
        columns = ("vector", "words", "name", "trained", "led here by") if scored else ()
        wanted = f' looked for "{text_line(hop.query)}"' if hop.query else ""
        table = _table(f"Hop {hop.hop}{wanted}", *columns)
        for weight in hop.weights[:_MAX_WEIGHTS]:
            table.add_row(
                *_share(weight),
                *(_parts(weight, answer.hops[0].weights) if scored else ()),
            )
        print_table(console, table)
    if answer.units:
        _show_units(console, answer)
    for alignment in answer.alignments:
        table = _table(f'"{alignment.word}" was read from')
        for weight in alignment.weights[:_MAX_WEIGHTS]:
            table.add_row(*_share(weight))
        print_table(console, table)


def _show_units(console: Console, answer: Answer) -> None:
    """Print what the last hop attended to inside the passages, with the supporting words."""
    evidence = {item.id: item for item in answer.evidence}
    table = Table(title="Inside the passages", title_justify="left", box=None, padding=(0, 1))
    table.add_column("weight", no_wrap=True)
    table.add_column("text, supporting words marked", overflow="fold")
    table.add_column("place", overflow="fold")
    for unit in answer.units:
        item = evidence.get(unit.evidence)
        place = item.place or item.title if item else source_name(unit.source)
        weight = f"{_bar(unit.weight)} {unit.weight:.2f}"
        table.add_row(weight, _marked_words(console, unit), one_line(place))
    print_table(console, table)


def _marked_words(console: Console, unit: Quote) -> Text:
    """The text of a unit, with its words bold or between asterisks."""
    bold = console.is_terminal and not console.is_dumb_terminal
    text, last = Text(), unit.start
    for word in unit.words:
        shown = text_line(unit.text[word.start - unit.start : word.end - unit.start])
        text.append(collapse_spaces(unit.text[last - unit.start : word.start - unit.start]))
        text.append(shown if bold else f"*{shown}*", style="bold")
        last = word.end
    return text.append(collapse_spaces(unit.text[last - unit.start :]))


def _table(title: str, *columns: str, what: str = "slot") -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    table.add_column("weight", no_wrap=True)
    table.add_column(what, overflow="fold")
    for column in columns:
        table.add_column(column, justify="left" if " " in column else "right", overflow="fold")
    return table


def _share(weight: SlotWeight) -> tuple[str, str]:
    slot = one_line(weight.title) or source_name(weight.source)
    return f"{_bar(weight.weight)} {weight.weight:.2f}", slot


def _parts(weight: SlotWeight, known: tuple[SlotWeight, ...]) -> tuple[str, ...]:
    parts = (weight.dense, weight.lexical, weight.symbolic, weight.learned)
    return *(f"{part:.2f}" for part in parts), _reason(weight, known)


def _reason(weight: SlotWeight, known: tuple[SlotWeight, ...]) -> str:
    if weight.via is None:
        return "similarity" if weight.dense >= weight.lexical else "shared words"
    # A name that starts with a slash is that of what a link leads to.
    name = f'link "{weight.via[1:]}"' if weight.via.startswith("/") else f'"{weight.via}"'
    if weight.via_source is None:
        return f"{name} in the question"
    titles = {item.source: item.title for item in known}
    sender = one_line(titles.get(weight.via_source, "")) or source_name(weight.via_source)
    return f"{name} in {sender}"


def _bar(weight: float) -> str:
    filled = round(weight * _BAR_WIDTH)
    return "█" * filled + "·" * (_BAR_WIDTH - filled)


def show_statements(statements: Sequence[Statement]) -> None:
    """Print statements, one or more lines each, with when they held and what changed them."""
    console = make_console()
    if not statements:
        console.print("No statement about it is stored.")
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
        known.append(f"said {told}")
    return f"{text_line(one.text)}  ({', '.join(known)})"


def _changed(change: StatementChange) -> str:
    by = "" if change.text is None else f' by "{text_line(change.text)}"'
    return "  " + text_line(f"{_CHANGED[change.change]}{by}: {change.reason}")


def _day(seconds: float) -> str:
    return f"{local_time(seconds):%Y-%m-%d}"
