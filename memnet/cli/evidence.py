"""A piece of evidence on a terminal: where it stands, and its sentence with the answer marked."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from memnet.cli.output import collapse_spaces, shorten, source_name, text_line
from memnet.errors import one_line
from memnet.text.english import overlapping, query_terms, sentences
from memnet.types import Candidate, Evidence

_INDENT = "      "
_MAX_LINES = 2  # lines of a sentence; a longer one is cropped around the answer
_SLACK = 12  # characters that wrapping between words and the ellipses may cost
_MIN_SOURCE = 16  # characters of a source that are shown beside a long title or fact

Span = tuple[int, int]


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
    console.print(
        Text(f"{lead}{_heading(item, console.width - len(lead))}"),
        overflow="ellipsis",
        no_wrap=True,
    )
    if quoted:
        return
    text = _highlight(console, item.text, sentence, shown, found)
    for line in text.wrap(console, max(1, console.width - len(_INDENT))):
        line.rstrip()
        console.print(Text(_INDENT).append_text(line), no_wrap=True, overflow="ellipsis")


def _fact_source(item: Evidence) -> str:
    """Source and place: a fact has no title that the place could follow."""
    return ", ".join(filter(None, (source_name(item.source), one_line(item.place or ""))))


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


def _find_answer(item: Evidence, answers: Sequence[Candidate]) -> Span | None:
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


def _sentence(item: Evidence, found: Span | None, question: str) -> Span:
    """The sentence with the answer, else the one that shares most words with the question."""
    spans = sentences(item.text) if item.kind == "passage" else []
    if not spans:
        return 0, len(item.text)
    if found is not None:
        inside = [found, *overlapping(spans, *found)]
        return min(start for start, _ in inside), max(end for _, end in inside)
    asked = set(query_terms(question))
    return max(spans, key=lambda span: len(asked & set(query_terms(item.text[slice(*span)]))))


def _crop(sentence: Span, found: Span | None, text: str, max_length: int) -> Span:
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
    console: Console, text: str, sentence: Span, shown: Span, found: Span | None
) -> Text:
    """The shown part of a sentence as one line, with the answer bold or between asterisks."""
    (start, end), inside = shown, found or (shown[1], shown[1])
    first, last = max(start, inside[0]), min(end, inside[1])
    before = ("…" if start > sentence[0] else "") + collapse_spaces(text[start:first])
    line = Text(before)
    if found is not None and first < last:
        bold = console.is_terminal and not console.is_dumb_terminal
        answer = text_line(text[first:last])
        line.append(answer if bold else f"**{answer}**", style="bold")
        line.append(collapse_spaces(text[last:end]))
    return line.append("…" if end < sentence[1] else "")
