"""An answer as plain text with its citations, for doors that hand on one string."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from memnet.errors import one_line
from memnet.types import Answer, Evidence

SOURCE_SCHEME = "memnet://source/"
"""What the address of a source without one of its own begins with."""
NO_ANSWER = "The memory does not hold the answer."
_MAX_FACTS = 5
"""Pieces of evidence that are listed below values of facts, unless more are cited."""
_MAX_NEAREST = 3
"""Pieces of evidence that are named where there is no answer."""


class Citation(NamedTuple):
    """A piece of a text that a piece of evidence supports."""

    start: int
    end: int
    """Offsets of the piece in the text."""
    number: int
    """That the source is listed under, from 1."""
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
    parts: list[str] = []
    citations: list[Citation] = []
    last = length = 0
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
    if answer.candidates and answer.confidence is not None:
        guess = _line(answer.candidates[0].text)
        lines.append(f"Best guess: {guess} (confidence {answer.confidence:.2f})")
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
