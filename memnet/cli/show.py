"""Answers, hops and statements for people, on a terminal or in a pipe."""

import os
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memnet.cli.output import collapse_spaces, shorten, show_note, source_name, text_line
from memnet.errors import one_line
from memnet.text.citations import NOT_SURE
from memnet.text.dates import local_time
from memnet.text.english import overlapping, query_terms, sentences
from memnet.types import Answer, Candidate, Change, Eviction, Evidence, Quote, SlotWeight, Statement

_NOTHING = "Nothing similar is stored."
_MAX_EVIDENCE = 5
_MAX_WEIGHTS = 5
_BAR_WIDTH = 10
_INDENT = "      "
_MAX_LINES = 2  # lines of a sentence; a longer one is cropped around the answer
_SLACK = 12  # characters that wrapping between words and the ellipses may cost
_MIN_SOURCE = 16  # characters of a source that are shown beside a long title or fact
# Width of lines in a file or a pipe: their readers need whole ids and texts.
_UNLIMITED = 100_000
_CHANGED: dict[Change, str] = {
    "supersede": "superseded", "correct": "corrected", "end": "ended",
    "contradict": "contradicted",
}  # fmt: skip

_Span = tuple[int, int]


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
    for note in answer.notes:
        show_note(f"Note: {note}.")
    _show_result(make_console(), answer)
    if explained:
        explain(answer)


def explain(answer: Answer) -> None:
    """Print which experts answered, what each hop attended to, and why."""
    if answer.experts:
        table = _table("Experts", "confidence", what="expert")
        for expert in answer.experts:
            table.add_row(_share(expert.weight), expert.name, f"{expert.confidence:.2f}")
        print_table(make_console(), table)
    show_hops(answer)


def _show_result(console: Console, answer: Answer) -> None:
    shown: list[Candidate] = []
    if answer.unknown_words:
        words = ", ".join(answer.unknown_words)
        console.print(Text(f"The model {answer.model} does not know: {words}.", style="bold"))
    elif answer.answer is None:
        console.print("The memory does not hold the answer.", style="bold")
        console.print("Nearest to the question:" if answer.evidence else _NOTHING)
    elif answer.shown == "passage":
        console.print(f"{NOT_SURE}:")
        console.print(_answer_text(console, answer, shown))
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
    text = "\n".join(text_line(line) for line in answer.answer.split("\n") if line.strip())
    short = text_line(answer.short or "")
    start = text.find(short) if answer.kind == "value" and short != text else -1
    if start < 0 or not short:
        return Text(text, style="bold" if answer.shown == "answer" else "")
    return Text.assemble(text[:start], _mark(console, short), text[start + len(short) :])


def show_evidence(
    console: Console,
    number: int,
    item: Evidence,
    question: str,
    answers: Sequence[Candidate],
    quoted: bool = False,
) -> None:
    """Print one piece of evidence under its number, with the answers marked.

    Without an answer in it the sentence closest to the question is shown; of one that the answer
    quotes already (``quoted``) only the place.
    """
    lead = f"  [{number}] hop {item.hop}  "
    found = _find_answer(item, answers)
    if item.kind == "fact":
        whole = (0, len(item.text))
        text = _highlight(console, item.text, whole, whole, found)
        source = _fact_source(item)
        left = console.width - len(lead) - text.cell_len - len(" ()")
        if left >= min(len(source), _MIN_SOURCE):
            console.print(Text(lead).append_text(text).append(f" ({_shorten_start(source, left)})"))
            return
    room = _MAX_LINES * (console.width - len(_INDENT)) - _SLACK
    sentence = _sentence(item, found, question)
    shown = _crop(sentence, found, item.text, max(room, _SLACK))
    heading = Text(f"{lead}{_heading(item, console.width - len(lead))}")
    console.print(heading, overflow="ellipsis", no_wrap=True)
    if item.copies:
        others = "; ".join(_place(copy.source, copy.place) for copy in item.copies)
        line = f"{_INDENT}also in {others}"
        console.print(Text(line), overflow="ellipsis", no_wrap=True)
    if quoted:
        return
    text = _highlight(console, item.text, sentence, shown, found)
    for wrapped in text.wrap(console, max(1, console.width - len(_INDENT))):
        wrapped.rstrip()
        console.print(Text(_INDENT).append_text(wrapped), no_wrap=True, overflow="ellipsis")


def _fact_source(item: Evidence) -> str:
    """Source and place: a fact has no title that the place could follow."""
    return _place(item.source, item.place)


def _place(source: str, place: str | None) -> str:
    return ", ".join(filter(None, (source_name(source), one_line(place or ""))))


def _heading(item: Evidence, width: int) -> str:
    """Title, place and source within a width; a long source loses its first folders."""
    if item.kind == "fact":
        return _shorten_start(_fact_source(item), width)
    source, title = source_name(item.source), one_line(" ".join(item.title.split()))
    place = one_line(item.place or "")
    if title.endswith(place) or f" > {place}" in title:  # the headings, which the title has
        place = ""
    elif place.startswith(f"{title} > "):  # a section of several that share the slot
        title = ""
    if not title and not place:
        return _shorten_start(source, width)
    between = len(" ()")
    least = min(_MIN_SOURCE, width // 2)
    whole = ", ".join(filter(None, (title, place)))
    source = _shorten_start(source, max(width - between - len(whole), least))
    max_length = max(1, width - between - len(source))
    if title and place and len(whole) > max_length:
        # The title is cut before the place, which is shorter and says more.
        room = max(max_length // 2, max_length - len(title) - len(", "))
        place = _shorten_start(place, room, " > ")
        title = shorten(title, max(1, max_length - len(place) - len(", ")))
        whole = f"{title}, {place}"
    return f"{shorten(whole, max_length)} ({source})"


def _shorten_start(path: str, max_length: int, separator: str = os.sep) -> str:
    """A path without its first parts, or a name without its start, where it is too long."""
    if len(path) <= max_length:
        return path
    end = path[len(path) - max(1, max_length) + 1 :]
    return f"…{end[max(0, end.find(separator)) :]}"


def _find_answer(item: Evidence, answers: Sequence[Candidate]) -> _Span | None:
    """The span of the first answer that the evidence holds as whole words; at the end of a fact.

    Where the answer was read in this evidence, it is the span that was read.
    """
    for read in answers:
        if read.evidence == item.id and read.start is not None and read.end is not None:
            return read.start - item.start, read.end - item.start
        answer = read.text
        start = item.text.rfind(answer) if item.kind == "fact" else item.text.find(answer)
        while start >= 0 and answer.strip():
            end = start + len(answer)
            if not _is_inside_word(item.text, start) and not _is_inside_word(item.text, end):
                return start, end
            start = -1 if item.kind == "fact" else item.text.find(answer, start + 1)
    return None


def _is_inside_word(text: str, offset: int) -> bool:
    return text[max(0, offset - 1) : offset].isalnum() and text[offset : offset + 1].isalnum()


def _sentence(item: Evidence, found: _Span | None, question: str) -> _Span:
    """The sentence with the answer, else the one that shares most words with the question."""
    spans = sentences(item.text) if item.kind == "passage" else []
    if not spans:
        return 0, len(item.text)
    if found is not None:
        inside = [found, *overlapping(spans, *found)]
        return min(start for start, _ in inside), max(end for _, end in inside)
    asked = set(query_terms(question))
    return max(spans, key=lambda span: len(asked & set(query_terms(item.text[slice(*span)]))))


def _crop(sentence: _Span, found: _Span | None, text: str, max_length: int) -> _Span:
    """At most ``max_length`` characters around the answer, or of the start, cut between words."""
    first, last = sentence
    if last - first <= max_length:
        return sentence
    focus = found or (first, first)
    end = min(last, max(first + max_length, sum(focus) // 2 + max_length // 2))
    start = max(first, end - max_length)
    if start > first:
        start = text.find(" ", start, max(start, focus[0])) + 1 or start
    if end < last:
        space = text.rfind(" ", max(start + 1, focus[1]), end)
        end = end if space < 0 else space
    return start, end


def _highlight(
    console: Console, text: str, sentence: _Span, shown: _Span, found: _Span | None
) -> Text:
    """The shown part of a sentence as one line, with the answer bold or between asterisks."""
    (start, end), inside = shown, found or (shown[1], shown[1])
    first, last = max(start, inside[0]), min(end, inside[1])
    before = ("…" if start > sentence[0] else "") + collapse_spaces(text[start:first])
    line = Text(before)
    if found is not None and first < last:
        line.append(_mark(console, text_line(text[first:last])))
        line.append(collapse_spaces(text[last:end]))
    return line.append("…" if end < sentence[1] else "")


def show_found(query: str, evidence: Sequence[Evidence]) -> None:
    """Print the evidence that a search found, all of it."""
    console = make_console()
    if not evidence:
        console.print(_NOTHING)
    for number, item in enumerate(evidence, start=1):
        show_evidence(console, number, item, query, ())


def show_hops(answer: Answer) -> None:
    """Print a table of what each hop attended to, and why it went there where that is known."""
    console = make_console()
    scored = any(weight.dense for hop in answer.hops for weight in hop.weights)
    for hop in answer.hops:
        columns = ("vector", "words", "name", "trained", "led here by") if scored else ()
        wanted = f' looked for "{text_line(hop.query)}"' if hop.query else ""
        table = _table(f"Hop {hop.hop}{wanted}", *columns)
        for weight in hop.weights[:_MAX_WEIGHTS]:
            row = [_share(weight.weight), _slot(weight)]
            if scored:
                parts = (weight.dense, weight.lexical, weight.symbolic, weight.learned)
                row += [*(f"{part:.2f}" for part in parts), _reason(weight, answer.hops[0].weights)]
            table.add_row(*row)
        print_table(console, table)
    if answer.units:
        evidence = {item.id: item for item in answer.evidence}
        table = _table("Inside the passages", "place", what="text, supporting words marked")
        for unit in answer.units:
            item = evidence.get(unit.evidence)
            place = item.place or item.title if item else source_name(unit.source)
            table.add_row(_share(unit.weight), _marked_words(console, unit), one_line(place))
        print_table(console, table)
    for alignment in answer.alignments:
        table = _table(f'"{alignment.word}" was read from')
        for weight in alignment.weights[:_MAX_WEIGHTS]:
            table.add_row(_share(weight.weight), _slot(weight))
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


def _table(title: str, *columns: str, what: str = "slot") -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    table.add_column("weight", no_wrap=True)
    table.add_column(what, overflow="fold")
    for column in columns:
        text = column in ("led here by", "place")
        table.add_column(column, justify="left" if text else "right", overflow="fold")
    return table


def _slot(weight: SlotWeight) -> str:
    return one_line(weight.title) or source_name(weight.source)


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
