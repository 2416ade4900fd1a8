"""Answers, hops and statements for people, on a terminal or in a pipe."""

import re
from collections.abc import Collection, Mapping, Sequence

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memnet.cli.output import collapse_spaces, show_note, source_name
from memnet.errors import one_line, text_line
from memnet.text.citations import MAX_NEAREST, NOT_SURE, Part, certainty, heading, parts_of
from memnet.text.dates import local_time
from memnet.text.english import query_terms, units, unwrapped
from memnet.types import (
    Answer,
    AnswerKind,
    Change,
    Eviction,
    Evidence,
    Quote,
    SlotWeight,
    Statement,
)

_NOTHING = "Nothing similar is stored."
_MAX_EVIDENCE = 5
_MAX_WEIGHTS = 5
_BAR_WIDTH = 10
_INDENT = "      "
_MAX_LINES = 2  # lines of a sentence
_SLACK = 12  # characters that wrapping between words may cost
# Width of lines in a file or a pipe: their readers need whole ids and texts.
_UNLIMITED = 100_000
_ITEM = re.compile(r" {0,20}(?:[-*+•◦▪‣–]|\(?\w{1,3}[.)]) +")
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
    """Print a table; where it is not a terminal, without spaces up to its longest line."""
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
    for note in answer.notes:
        show_note(f"Note: {note}.")
    console = make_console()
    values: list[str] = []
    ids = answer.carrying
    if answer.unknown_words:
        words = ", ".join(answer.unknown_words)
        console.print(Text(f"The model {answer.model} does not know: {words}.", style="bold"))
    elif answer.answer is None:
        console.print("The memory does not hold the answer.", style="bold")
        console.print("Nearest to the question:" if ids or explained else _NOTHING)
    else:
        if answer.shown == "passage":
            console.print(f"{NOT_SURE}:")
        else:
            best = answer.candidates if answer.kind == "facts" else answer.candidates[:1]
            values = [one.text for one in best]
        _show_parts(console, answer)
    if answer.unseen_relations:
        relations = ", ".join(answer.unseen_relations)
        console.print(f"The model {answer.model} was not trained on these relations: {relations}.")
    quoted = {quote.evidence for quote in answer.quotes}
    most = _MAX_EVIDENCE if answer.shown == "answer" else MAX_NEAREST
    for number, item in enumerate(answer.evidence, start=1):
        if explained or item.id in ids[:most]:
            show_evidence(console, number, item, answer.question, values, item.id in quoted)
    if explained:
        explain(answer)


def _show_parts(console: Console, answer: Answer) -> None:
    """The answer with its short form and the cells that answer marked; of facts all values."""
    parts, sure, short, text = parts_of(answer), certainty(answer), "", ""
    if answer.kind == "facts":
        short = ", ".join(one.text for one in answer.candidates)
        parts = [Part(short)]
    elif answer.shown == "answer" and answer.kind in ("value", "table", "yes", "no"):
        short = answer.short or ""
        short = short.capitalize() if answer.kind in ("yes", "no") else short
    for part in [*parts, None]:
        if part is not None and not part.headers:
            text += part.text
            continue
        if part is not None and answer.kind in ("yes", "no"):
            text = text.rstrip(": ")  # before a table
        own = text.split("\n") if answer.kind == "code" else unwrapped(text)
        lines = [_line_of(line, answer.kind) for line in own if line.strip()]
        for line in lines:
            last = sure if line is lines[-1] else ""
            item = _ITEM.match(line.plain)
            indent = item.end() if item else 0
            _print_hanging(console, line[:indent], _marked(console, line[indent:], short), last)
        if lines:
            sure = short = text = ""
        if part is not None:
            print_table(console, _rows_table(console, part))
    if sure:
        console.print(sure)


def _line_of(line: str, kind: AnswerKind) -> Text:
    """A line of an answer; one of code keeps its indentation."""
    indent = line[: len(line) - len(line.lstrip())].expandtabs() if kind == "code" else ""
    return Text(indent + text_line(line))


def _marked(console: Console, line: Text, short: str) -> Text:
    """A line with the first occurrence of a short answer marked; alone it is bold without signs."""
    short = text_line(short)
    start = line.plain.find(short)
    if start < 0 or not short:
        return line
    mark = Text(short, style="bold") if line.plain == short else _mark(console, short)
    return Text.assemble(line[:start], mark, line[start + len(short) :])


def _print_hanging(console: Console, sign: Text, line: Text, last: str = "") -> None:
    """Print a line after a sign, below which it wraps; ``last`` follows and is never broken."""
    indent = " " * sign.cell_len
    lines = line.wrap(console, max(1, console.width - len(indent))) or [line]
    for wrapped in lines:
        wrapped.rstrip()
        fits = last and sign.cell_len + wrapped.cell_len + 2 + len(last) <= console.width
        if wrapped is lines[-1] and fits:
            wrapped.append(f"  {last}")
            last = ""
        console.print(sign.append_text(wrapped), no_wrap=True)
        sign = Text(indent)
    if last:
        console.print(last)


def _rows_table(console: Console, part: Part) -> Table:
    """Rows under their headers; of one row that is too wide, each cell on a line."""
    lines = [
        [
            Text("") if cell is None
            else _mark(console, text_line(cell.text)) if cell.answers
            else Text(text_line(cell.text))
            for cell in row
        ]
        for row in part.rows
    ]  # fmt: skip
    headers = [Text(text_line(one)) for one in part.headers]
    widths = [max(one.cell_len for one in column) for column in zip(headers, *lines, strict=True)]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    if len(lines) == 1 and sum(widths) + 2 * len(widths) > console.width:
        table.show_header, table.box = False, None
        for header, text in zip(headers, lines[0], strict=True):
            table.add_row(header, text)
        return table
    for header in headers:
        table.add_column(header, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def show_evidence(
    console: Console,
    number: int,
    item: Evidence,
    question: str,
    values: Collection[str] = (),
    quoted: bool = False,
) -> None:
    """Print one piece of evidence under its number: a fact with its value marked if it answers.

    Of a passage the sentence closest to the question is shown, or only the place where the answer
    quotes it already (``quoted``).
    """
    place = Text(heading(item, source_name(item.source)))
    value = next((one for one in values if one and item.kind == "fact" and _ends(item, one)), None)
    if value is not None:
        end = len(text_line(item.text))
        mark = _mark(console, text_line(value))
        place = Text.assemble(place[: end - len(text_line(value))], mark, place[end:])
    _print_hanging(console, Text(f"  [{number}] hop {item.hop}  "), place)
    if item.copies:
        others = "; ".join(_place(copy.source, copy.place) for copy in item.copies)
        _print_hanging(console, Text(_INDENT), Text(f"also in {others}"))
    if item.kind == "passage" and not quoted:
        nearest = Text(text_line(_nearest(item, question)))
        nearest.truncate(_MAX_LINES * (console.width - len(_INDENT)) - _SLACK, overflow="ellipsis")
        _print_hanging(console, Text(_INDENT), nearest)


def _ends(fact: Evidence, value: str) -> bool:
    before = fact.text.removesuffix(value)
    return len(before) < len(fact.text) and not before[-1:].isalnum()


def _nearest(item: Evidence, question: str) -> str:
    """The piece of a passage that shares most words with the question, but for a mail's head."""
    found = [item.text[one.start : one.end] for one in units(item.text)]
    pieces = [one for one in found if not one.startswith("From: ")] or found
    asked = set(query_terms(question))
    return max(pieces, key=lambda one: len(asked & set(query_terms(one))), default=item.text)


def _place(source: str, place: str | None) -> str:
    return ", ".join(filter(None, (source_name(source), one_line(place or ""))))


def show_found(query: str, evidence: Sequence[Evidence]) -> None:
    """Print the evidence that a search found, all of it."""
    console = make_console()
    if not evidence:
        console.print(_NOTHING)
    for number, item in enumerate(evidence, start=1):
        show_evidence(console, number, item, query)


def explain(answer: Answer) -> None:
    """Print which experts answered, and what each hop attended to, with why where that is known."""
    console = make_console()
    if answer.experts:
        table = _table("Answered by", "confidence", what="expert")
        for expert in answer.experts:
            table.add_row(_share(expert.weight), expert.name, f"{expert.confidence:.2f}")
        print_table(console, table)
    scored = any(weight.dense for hop in answer.hops for weight in hop.weights)
    evidence = {item.id: item for item in answer.evidence}
    for hop in answer.hops:
        columns = ("meaning", "words", "names", "learned", "led here by") if scored else ()
        wanted = f' looked for "{text_line(hop.query)}"' if hop.query else ""
        table = _table(f"Hop {hop.hop}{wanted}", *columns)
        for weight in hop.weights[:_MAX_WEIGHTS]:
            row = [_share(weight.weight), _slot(weight, evidence)]
            if scored:
                parts = (weight.dense, weight.lexical, weight.symbolic, weight.learned)
                row += [*(f"{part:.2f}" for part in parts), _reason(weight, answer.hops[0].weights)]
            table.add_row(*row)
        print_table(console, table)
    if answer.units:
        table = _table("Inside the passages", "place", what="text, supporting words marked")
        for unit in answer.units:
            item = evidence.get(unit.evidence)
            place = item.place or item.title if item else source_name(unit.source)
            table.add_row(_share(unit.weight), _marked_words(console, unit), one_line(place))
        print_table(console, table)
    for alignment in answer.alignments:
        table = _table(f'"{alignment.word}" was read from')
        for weight in alignment.weights[:_MAX_WEIGHTS]:
            table.add_row(_share(weight.weight), _slot(weight, evidence))
        print_table(console, table)


def _marked_words(console: Console, unit: Quote) -> Text:
    """The text of a unit, with its words bold or between asterisks."""
    text, last = Text(), 0
    for word in unit.words:
        start, end = word.start - unit.start, word.end - unit.start
        text.append(collapse_spaces(unit.text[last:start]))
        text.append(_mark(console, text_line(unit.text[start:end]), "*"))
        last = end
    return text.append(collapse_spaces(unit.text[last:]))


def _mark(console: Console, text: str, signs: str = "**") -> Text:
    """A text in bold, or between signs where the output knows no bold."""
    bold = console.is_terminal and not console.is_dumb_terminal
    return Text(text if bold else f"{signs}{text}{signs}", style="bold")


def _table(title: str, *columns: str, what: str = "passage or fact") -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    table.add_column("weight", no_wrap=True)
    table.add_column(what, overflow="fold")
    for column in columns:
        text = column in ("led here by", "place")
        table.add_column(column, justify="left" if text else "right", overflow="fold")
    return table


def _slot(weight: SlotWeight, evidence: Mapping[int, Evidence]) -> str:
    """A fact as it reads, or as a fact model followed it; a passage by its title and place."""
    item = evidence.get(weight.id)
    if item is not None and item.kind == "fact" and weight.title in item.text.split("\t"):
        return text_line(item.text)
    title = weight.title or source_name(weight.source)
    place = item.place if item is not None else None
    return one_line(title if place is None or place == title else f"{title}, {place}")


def _reason(weight: SlotWeight, known: tuple[SlotWeight, ...]) -> str:
    if weight.via is None:
        return "meaning" if weight.dense >= weight.lexical else "shared words"
    # A name that starts with a slash is that of what a link leads to.
    name = f'link "{weight.via[1:]}"' if weight.via.startswith("/") else f'"{weight.via}"'
    if weight.via_source is None:
        return f"{name} in the question"
    titles = {item.source: item.title for item in known}
    sender = one_line(titles.get(weight.via_source, "")) or source_name(weight.via_source)
    return f"{name} in {sender}"


def _share(weight: float) -> str:
    """A weight as a bar and a number."""
    filled = round(weight * _BAR_WIDTH)
    return f"{'█' * filled}{'·' * (_BAR_WIDTH - filled)} {weight:.2f}"


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
        lines = [_told(one)]
        if one.subject:  # "Ann | moved to | Paris"
            relation = one.relation if one.polarity else f"not: {one.relation}"
            parts = filter(None, (one.subject, relation, *one.values))
            lines.append(f"  {text_line(' | '.join(parts))}")
        for change in one.changes:
            by = "" if change.text is None else f' by "{text_line(change.text)}"'
            lines.append("  " + text_line(f"{_CHANGED[change.change]}{by}: {change.reason}"))
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


def _told(one: Statement) -> str:
    """The text and its source id, with what the text does not say itself."""
    known = [text_line(one.source)]
    if one.certainty in ("planned", "maybe"):
        known.append(one.certainty)
    if (told := _day(one.told)) != _day(one.valid_from):
        known.append(f"said {told}")
    return f"{text_line(one.text)}  ({', '.join(known)})"


def _day(seconds: float) -> str:
    return f"{local_time(seconds):%Y-%m-%d}"
