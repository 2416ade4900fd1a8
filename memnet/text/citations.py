"""Citations: where a quotation stands ("p. 8", "Sheet1!B4"), and answers as text that cites."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain, takewhile
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import quote as quote_url

from memnet.errors import text_line
from memnet.text.dates import local_time
from memnet.types import Answer, Cell, Evidence, Quote

_PAGES = re.compile(r"pp?\. (.+)")
_CELLS = re.compile(r"([A-Z]{1,3}\d{1,7})(?::([A-Z]{1,3}\d{1,7}))?")


def place_of(places: Sequence[tuple[int, str]], start: int, end: int) -> str | None:
    """The place of a span of a text; None if it has none.

    ``places`` are of parts of the text, each with the offset from which it holds, in rising order.
    """
    ends = [offset for offset, _ in places[1:]] + [end + 1]
    found = [
        place
        for (first, place), last in zip(places, ends, strict=False)
        if first < max(end, start + 1) and last > start
    ]
    if not found:
        return None
    return found[0] if len(set(found)) == 1 else _range(found[0], found[-1])


def place_in_time(told: float, until: float | None) -> str:
    """The days on which a statement was told and ceased to hold (None: not yet), from the epoch."""
    place = f"told {local_time(told):%Y-%m-%d}"
    return place if until is None else f"{place}, until {local_time(until):%Y-%m-%d}"


def _range(first: str, last: str) -> str:
    pages = [_PAGES.fullmatch(place) for place in (first, last)]
    if pages[0] and pages[1]:
        return f"pp. {pages[0][1].split('-')[0]}-{pages[1][1].split('-')[-1]}"
    sheets, _, names = zip(*(place.rpartition("!") for place in (first, last)), strict=True)
    cells = [_CELLS.fullmatch(name) for name in names]
    if cells[0] and cells[1] and sheets[0] == sheets[1]:
        return f"{sheets[0]}!{cells[0][1]}:{cells[1][2] or cells[1][1]}"
    if first.startswith("line "):
        return first
    pairs = zip(first.split(" > "), last.split(" > "), strict=False)
    common = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return " > ".join(common) or f"{first} to {last}"


# What the address of a source without one of its own begins with.
SOURCE_SCHEME = "memnet://source/"
NO_ANSWER = "The memory does not hold the answer."
NOT_SURE = "Not sure; this may answer"
_MAX_FACTS = 5  # Pieces of evidence that are listed below values of facts, unless more are cited
_ALIKE = 0.3  # Score by vector, words and names from which a slot has to do with a question
MAX_NEAREST = 3  # Pieces of evidence that are named where there is no answer


class Citation(NamedTuple):
    """A piece of a text that a piece of evidence supports."""

    start: int
    end: int  # Offsets of the piece in the text
    number: int  # That the source is listed under, from 1
    evidence: Evidence


class CitedText(NamedTuple):
    """An answer with a list of what it cites: "Born in Kestle. [1]", then "[1] Tobias Wrennick"."""

    text: str
    citations: tuple[Citation, ...]
    confidence: float | None = None  # of the answer, 0..1


def source_url(source_id: str, metadata: Mapping[str, Any]) -> str:
    """The address of a source: that of its metadata, else its id behind ``SOURCE_SCHEME``."""
    url = metadata.get("url")
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        return url
    return SOURCE_SCHEME + quote_url(source_id, safe="/")


def answer_text(answer: Answer) -> CitedText:
    """An answer as people read it, each quotation followed by the number of its source."""
    if answer.answer is None:
        return CitedText(_no_answer(answer), ())
    if answer.kind == "facts":
        return _facts_text(answer)
    evidence = {item.id: item for item in answer.evidence}
    cited: list[Evidence] = []
    text = f"{NOT_SURE}:\n" if answer.shown == "passage" else ""
    citations: list[Citation] = []
    for part in parts_of(answer):
        ids = dict.fromkeys(one.evidence for one in part.quotes)
        items = [evidence[one] for one in ids if one in evidence]
        shown = part.text
        if part.headers:
            text, shown = f"{text.rstrip()}\n\n".lstrip(), _markdown(part)
        elif part.quotes and answer.kind == "code":
            shown = f"```\n{shown}\n```\n"
        start, text = len(text), text + shown
        new = [Citation(start, len(text), _number(one, cited), one) for one in items]
        citations += new
        if new:
            marks = " ".join(f"[{one.number}]" for one in new)
            text += f"\n\n{marks}\n" if part.headers else f" {marks}"
    if not cited and answer.evidence:
        cited.append(answer.evidence[0])
    return _cited(answer, text.rstrip("\n"), list(map(heading, cited)), citations)


def carrying(answer: Answer) -> tuple[int, ...]:
    """The ids of its evidence that matters, as ``Answer.carrying`` describes them.

    What a hop attended to beside what an answer quotes adds nothing to it.
    """
    ids = {quote.evidence for quote in answer.quotes}
    quoted = frozenset(ids) if answer.shown == "answer" else frozenset[int]()
    unsure = answer.shown == "nothing" and any(
        one.dense for hop in answer.hops for one in hop.weights
    )
    for hop in answer.hops:
        least = max((one.weight for one in hop.weights), default=0.0) / 2
        most = {
            one.id
            for one in hop.weights
            if one.weight >= least
            and (not unsure or one.dense + one.lexical + one.symbolic >= _ALIKE)
        }
        ids |= quoted if most & quoted else most
    if not any(hop.weights for hop in answer.hops):
        ids |= {item.id for item in answer.evidence}
    return tuple(item.id for item in answer.evidence if item.id in ids)


def certainty(answer: Answer) -> str:
    """The confidence as a number and, of an answer, in words; empty without one."""
    if answer.confidence is None:
        return ""
    known = round(answer.confidence, 2)  # as it is shown beside the words
    words = "almost certain" if known >= 0.9 else "likely" if known >= 0.7 else "perhaps"
    return f"(confidence {known:.2f}{f', {words}' * (answer.shown == 'answer')})"


class Part(NamedTuple):
    """A part of an answer: a quotation, rows of one table, or what stands before and between."""

    text: str
    quotes: tuple[Quote, ...] = ()

    @property
    def headers(self) -> list[str]:
        """Of its table; none of text."""
        return list(dict.fromkeys(cell.header for one in self.quotes for cell in chain(*one.rows)))

    @property
    def rows(self) -> list[list[Cell | None]]:
        """Of its table, a cell for each header; None for one that a row does not have."""
        headers = self.headers
        cells = ({cell.header: cell for cell in row} for one in self.quotes for row in one.rows)
        return [[row.get(header) for header in headers] for row in cells]


def parts_of(answer: Answer) -> list[Part]:
    """The text of an answer in parts, in order; before rows what they answer, rows together."""
    text, last = answer.answer or "", 0
    short = answer.short if answer.shown == "answer" and answer.kind in ("value", "table") else None
    found: list[Part] = []
    for quote in answer.quotes:
        start = text.find(quote.text, last)
        if start < 0:
            continue
        own, between = Part(quote.text, (quote,)), text[last:start]
        common = len({*own.headers} & {*found[-1].headers}) if found else 0
        if common and 2 * common >= len(own.headers) and not between.strip():
            before = found.pop()
            own = Part(f"{before.text}{between}{quote.text}", (*before.quotes, quote))
        elif between:
            found.append(Part(between))
        elif own.headers and short and not found:
            found.append(Part(f"{short}\n"))
        found.append(own)
        last = start + len(quote.text)
    return [*found, Part(text[last:])] if last < len(text) else found


def _markdown(table: Part) -> str:
    """Rows as a table in Markdown, the cell that answers in bold."""
    lines = [[_cell(one) for one in table.headers], ["---"] * len(table.headers)]
    for row in table.rows:
        texts = ["" if cell is None else _cell(cell.text) for cell in row]
        lines.append([
            f"**{text}**" if cell is not None and cell.answers else text
            for text, cell in zip(texts, row, strict=True)
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str) -> str:
    return text_line(text).replace("|", "\\|")


def _facts_text(answer: Answer) -> CitedText:
    """All values, each cited with the first fact that states it; then the best other evidence."""
    text = ""
    cited: list[Evidence] = []
    citations: list[Citation] = []
    for candidate in answer.candidates:
        text += (", " if text else "") + candidate.text
        item = next((one for one in answer.evidence if _states(one, candidate.text)), None)
        if item is not None:
            number = _number(item, cited)
            end = len(text)
            citations.append(Citation(end - len(candidate.text), end, number, item))
            text += f" [{number}]"
    lines = dict.fromkeys(map(heading, cited))
    for item in answer.evidence:
        # A fact is a slot in each direction, with one text.
        if len(lines) < _MAX_FACTS:
            lines.setdefault(heading(item))
    return _cited(answer, text or answer.answer or "", list(lines), citations)


def _states(item: Evidence, value: str) -> bool:
    """Whether a piece of evidence is a fact with this subject or object."""
    parts = item.text.replace("|", "\t").split("\t")
    return item.kind == "fact" and value in (parts[0].strip(), parts[-1].strip())


def _number(item: Evidence, cited: list[Evidence]) -> int:
    """The number of a piece of evidence, which joins the list when it is new."""
    if item not in cited:
        cited.append(item)
    return cited.index(item) + 1


def _no_answer(answer: Answer) -> str:
    lines = [NO_ANSWER]
    if answer.unknown_words:
        lines.append(f"The model {answer.model} does not know: {', '.join(answer.unknown_words)}.")
    near = carrying(answer)
    nearest = dict.fromkeys(heading(item) for item in answer.evidence if item.id in near)
    if nearest:
        lines.append(f"Nearest to the question: {'; '.join(list(nearest)[:MAX_NEAREST])}")
    return "\n".join(lines)


def _cited(
    answer: Answer, text: str, sources: Sequence[str], citations: Sequence[Citation]
) -> CitedText:
    lines = "\n".join(f"[{number}] {line}" for number, line in enumerate(sources, 1))
    parts = filter(None, (text, certainty(answer), lines))
    return CitedText("\n\n".join(parts), tuple(citations), answer.confidence)


def heading(item: Evidence, source: str | None = None) -> str:
    """A fact, or title and place of a passage; with its source, of a text as "notes/oil.txt:3".

    ``source`` is shown in place of its id.
    """
    source = item.source if source is None else source
    title = "" if item.title in (item.source, PurePath(source).stem) else text_line(item.title)
    source, place = text_line(source), text_line(item.place or "")
    if place.startswith("line "):
        source, place = f"{source}:{place.removeprefix('line ')}", ""
    if item.kind == "fact":
        return f"{text_line(item.text)} ({', '.join(filter(None, (source, place)))})"
    # Headings may be in both.
    repeated = place in title or title in place
    name = max(title, place, key=len) if repeated else f"{title}, {place}"
    return f"{name} ({source})" if name else source
