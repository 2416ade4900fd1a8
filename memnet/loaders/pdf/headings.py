"""Headings of a PDF, by its outline and by their fonts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice

import pypdfium2 as pdfium

from memnet.loaders.pdf.lines import Entry, Line
from memnet.loaders.pdf.paragraphs import Part

_MAX_ENTRIES = 50_000
_MAX_DEPTH = 15
_MAX_LINES = 3  # a heading has no more lines
_MAX_LENGTH = 200  # characters of a heading that is known by its font alone
_MORE = 20  # characters by which a heading is longer than its entry in the outline, at most
_LARGER = 1.1  # times the body's size: a larger font is a heading's
_LEVELS = 6
_NOT_WORD = re.compile(r"[\W_]+")
_PAGE = re.compile(r"\s+\d+$")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(
    r"^(?:(?:chapter|section|appendix|part|kapitel|chapitre)\s+)?"
    r"(?:[0-9]+(?:[.:-][0-9]+)*|[a-z](?:[.:-][0-9]+)*|[ivxlc]+)[.):]*\s+",
    re.IGNORECASE,
)


def read_outline(document: pdfium.PdfDocument) -> dict[int, list[Entry]]:
    """Entries of a document's outline by the page they lead to."""
    entries: dict[int, list[Entry]] = {}
    # A damaged outline is left out.
    with suppress(pdfium.PdfiumError, UnicodeDecodeError):
        for bookmark in islice(document.get_toc(max_depth=_MAX_DEPTH), _MAX_ENTRIES):
            destination = bookmark.get_dest()
            page = destination.get_index() if destination else None
            title = bookmark.get_title().strip()
            if page is not None and title:
                entries.setdefault(page, []).append(Entry(title, bookmark.level + 1))
    return entries


def match_outline(lines: Sequence[Line], entries: Sequence[Entry]) -> None:
    """Find the lines of a page that are the headings of the entries that lead to it."""
    longest = max(len(entry.title) for entry in entries) + _MORE
    short = [line.text if len(line.text) <= longest else "" for line in lines]
    keys = [_normal(text) for text in short]
    plain_keys = [_normal(_NUMBER.sub("", text)) for text in short]
    for entry in entries:
        wanted = tuple({_normal(entry.title), _normal(_NUMBER.sub("", entry.title))} - {""})
        best: tuple[float, int, int] | None = None
        for start, line in enumerate(lines):
            if not keys[start] or line.entry:
                continue
            joined, plain = keys[start], plain_keys[start]
            for end in range(start + 1, min(start + _MAX_LINES, len(lines)) + 1):
                if joined in wanted or plain in wanted:
                    rank = line.size + 0.5 * line.bold
                    if best is None or rank > best[0]:
                        best = rank, start, end
                    break
                if end == len(lines) or not any(key.startswith((joined, plain)) for key in wanted):
                    break
                joined, plain = joined + keys[end], plain + keys[end]
        if best:
            for line in lines[best[1] : best[2]]:
                line.entry = entry


def _normal(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def body_size(pages: Sequence[list[Line]]) -> float:
    """The font size of most of the text."""
    sizes: Counter[float] = Counter()
    for line in chain.from_iterable(pages):
        sizes[_size(line)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def mark_headings(pages: Sequence[list[Part]], entries: Iterable[Entry], body: float) -> None:
    """Give headings their levels, and find those that the outline does not name.

    ``entries`` are all of the outline, ``body`` is the font size of most of the text.
    """
    known: dict[tuple[float, bool], Counter[int]] = {}
    guessed: list[Part] = []
    for part in chain.from_iterable(pages):
        if entry := part.lines[0].entry:
            part.kind, part.level = "heading", min(entry.level, _LEVELS)
            known.setdefault(_style(part), Counter())[part.level] += 1
        elif _looks_like_heading(part, body):
            guessed.append(part)
    titles = [part.lines[0].text for part in guessed] + [entry.title for entry in entries]
    named = set(map(_normal, titles))
    guessed = [part for part in guessed if not _is_entry(part, named)]
    levels = {style: counts.most_common(1)[0][0] for style, counts in known.items()}
    styles = Counter(_style(part) for part in guessed)
    for style in sorted({*styles} - {*levels}, reverse=True):
        larger = [level for other, level in levels.items() if other > style]
        levels[style] = min(max(larger, default=0) + 1, _LEVELS)
    for part in guessed:
        part.kind, part.level = "heading", levels[_style(part)]


def _looks_like_heading(part: Part, body: float) -> bool:
    if part.kind not in ("paragraph", "item") or len(part.lines) > _MAX_LINES:
        return False
    text = part.lines[-1].text
    if sum(len(line.text) for line in part.lines) > _MAX_LENGTH or part.lines[0].turn > 1:
        return False
    if not any(_LETTERS.search(line.text) for line in part.lines) or text.endswith((".", ",", ";")):
        return False
    if part.lines[0].text[:1].islower() or "\u2026" in text or ". . ." in text or "...." in text:
        return False
    if part.kind == "item" and not part.label[:1].isdigit():
        return False
    size, bold = _style(part)
    return size >= _LARGER * body or (bold and size >= 0.95 * body and not text.endswith(":"))


def _is_entry(part: Part, named: set[str]) -> bool:
    """Whether a part is an entry of a table of contents: a heading with its page."""
    found = _PAGE.search(part.lines[-1].text)
    return found is not None and _normal(part.lines[0].text[: found.start()]) in named


def _style(part: Part) -> tuple[float, bool]:
    return _size(part.lines[0]), all(line.bold for line in part.lines)


def _size(line: Line) -> float:
    return round(line.size * 2) / 2
