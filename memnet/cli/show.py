"""Answers and hops for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from memnet.cli.evidence import show_evidence
from memnet.cli.text import source_name, text_line
from memnet.errors import one_line
from memnet.types import Answer, Candidate, Evidence, SlotWeight

_MAX_EVIDENCE = 5
_MAX_WEIGHTS = 5
_BAR_WIDTH = 10


def show_answer(answer: Answer) -> None:
    """Print the answer, the further values of a set, and the best evidence."""
    console = _console()
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
            "Nearest to the question:" if answer.evidence else "Nothing in it comes near."
        )
    else:
        shown = list(answer.candidates if answer.kind == "facts" else answer.candidates[:1])
        line = Text(text_line(", ".join(one.text for one in shown)), style="bold")
        if answer.confidence is not None:
            line.append(f"  (confidence {answer.confidence:.2f})", style="not bold")
        console.print(line)
    if answer.unseen_relations:
        relations = ", ".join(answer.unseen_relations)
        console.print(f"The model {answer.model} never saw these relations: {relations}.")
    # Yes and no stand in no evidence, though their letters may.
    marked = [] if answer.kind in ("yes", "no") else shown
    for number, item in enumerate(answer.evidence[:_MAX_EVIDENCE], start=1):
        show_evidence(console, number, item, answer.question, marked)


def show_found(query: str, evidence: Sequence[Evidence]) -> None:
    """Print the evidence that a search found, all of it."""
    console = _console()
    if not evidence:
        console.print("Nothing in the memory comes near.")
    for number, item in enumerate(evidence, start=1):
        show_evidence(console, number, item, query, ())


def show_hops(answer: Answer) -> None:
    """Print a table of what each hop attended to, and why it went there where that is known."""
    console = _console()
    scored = any(weight.dense for hop in answer.hops for weight in hop.weights)
    for hop in answer.hops:
        columns = ("vector", "words", "name", "trained", "led here by") if scored else ()
        table = _table(f"Hop {hop.hop}", *columns)
        for weight in hop.weights[:_MAX_WEIGHTS]:
            table.add_row(
                *_share(weight),
                *(_parts(weight, answer.hops[0].weights) if scored else ()),
            )
        console.print(table)
    for alignment in answer.alignments:
        table = _table(f'"{alignment.word}" was read from')
        for weight in alignment.weights[:_MAX_WEIGHTS]:
            table.add_row(*_share(weight))
        console.print(table)


def _console() -> Console:
    """Prints texts as they are: what is remembered holds no markup for this terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    table.add_column("weight", no_wrap=True)
    table.add_column("slot", overflow="fold")
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
