"""Citations: where a quotation stands ("p. 8", "Sheet1!B4"), and answers as text that cites."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple
from urllib.parse import quote

from memnet.errors import one_line
from memnet.text.dates import local_time
from memnet.types import Answer, Evidence

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
_MAX_NEAREST = 3  # Pieces of evidence that are named where there is no answer


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


def source_url(source_id: str, metadata: Mapping[str, Any]) -> str:
    """The address of a source: that of its metadata, else its id behind ``SOURCE_SCHEME``."""
    url = metadata.get("url")
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        return url
    return SOURCE_SCHEME + quote(source_id, safe="/")


def answer_text(answer: Answer) -> CitedText:
    """An answer as people read it, each quotation followed by the number of its source."""
    if answer.answer is None:
        return CitedText(_no_answer(answer), ())
    if answer.kind == "facts":
        return _facts_text(answer)
    evidence = {item.id: item for item in answer.evidence}
    cited: list[Evidence] = []
    parts = [f"{NOT_SURE}:\n"] if answer.shown == "passage" else []
    citations: list[Citation] = []
    last, length = 0, sum(map(len, parts))
    for piece in answer.quotes:
        start = answer.answer.find(piece.text, last)
        item = evidence.get(piece.evidence)
        if start < 0 or item is None:
            continue
        end = start + len(piece.text)
        number = _number(item, cited)
        place = length + start - last
        citations.append(Citation(place, place + len(piece.text), number, item))
        parts.append(f"{answer.answer[last:end]} [{number}]")
        length += len(parts[-1])
        last = end
    text = "".join(parts) + answer.answer[last:]
    if not cited and answer.evidence:
        cited.append(answer.evidence[0])
    return CitedText(_with_sources(text, [_heading(item) for item in cited]), tuple(citations))


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
    lines = dict.fromkeys(_heading(item) for item in cited)
    for item in answer.evidence:
        # A fact is a slot in each direction, with one text.
        if len(lines) < _MAX_FACTS:
            lines.setdefault(_heading(item))
    return CitedText(_with_sources(text or answer.answer or "", list(lines)), tuple(citations))


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
    nearest = dict.fromkeys(_heading(item) for item in answer.evidence)
    if nearest:
        lines.append(f"Nearest to the question: {'; '.join(list(nearest)[:_MAX_NEAREST])}")
    return "\n".join(lines)


def _with_sources(text: str, sources: Sequence[str]) -> str:
    lines = [f"[{number}] {line}" for number, line in enumerate(sources, 1)]
    return "\n\n".join(part for part in (text, "\n".join(lines)) if part)


def _heading(item: Evidence) -> str:
    """A fact, or title and place of a passage; with the id of the source."""
    if item.kind == "fact":
        return f"{_line(item.text)} ({_line(item.source)})"
    title = "" if item.title == item.source else _line(item.title)
    place = _line(item.place or "")
    # Headings may be in both.
    repeated = place in title or title in place
    name = max(title, place, key=len) if repeated else f"{title}, {place}"
    return f"{name} ({_line(item.source)})" if name else _line(item.source)


def _line(text: str) -> str:
    return one_line(" ".join(text.split()), None)
