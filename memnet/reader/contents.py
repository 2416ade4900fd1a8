"""Tables of contents and indexes: they name what is asked about, and lead to where it stands."""

import re
from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from itertools import groupby, pairwise

from memnet.reader.sequences import is_heading
from memnet.text.english import Unit, units
from memnet.text.names import normalise

_MIN_ENTRIES = 3
_MIN_PAGES = 5  # Entries whose last numbers rise, from which those are taken for pages
_SHARE = 0.5  # of the units that lead elsewhere, from which a text is contents
# "Firing … 12", "Firing ....... xii", "Firing … | 12" of a table; "anchors, 3, 17-19"
_TO_PAGE = re.compile(
    r"(?:…|\.{3,20}|(?:\. ){3,20}|·{3,20}|_{3,20}|\t)(?: \|)? ?(?:p\. ?)?(?:\d{1,4}|[ivxlc]{1,6})$"
)
_IN_INDEX = re.compile(r"[^\d.;:|]{2,60}(?:, ?\d{1,4}(?:[-–]\d{1,4})?){1,20}$")
_LAST_NUMBER = re.compile(r"[^\W\d].* (\d{1,4})$")
_MARK = re.compile(r"^(?:[-*•]|\d{1,3}(?:\.\d{1,3}){0,4}[.)]?) ")
_PAGE = re.compile(r"(?<![\s.…·_|])[\s.…·_|]{1,200}\d{1,4}$")
_CALLED_SO = re.compile(
    r"(?:table of )?contents|index|on this page|toc|inhalt(?:sverzeichnis)?|sommaire", re.IGNORECASE
)
_ASKS_FOR_THEM = re.compile(r"\b(?:contents?|index|chapters?|sections?|topics?|headings?)\b", re.I)


def asks_for_contents(question: str) -> bool:
    """Whether a question is about the parts of a text: "What chapters are there?"."""
    return _ASKS_FOR_THEM.search(question) is not None


class Entries:
    """What in a text may be entries of contents: at least three units in a row, no sentences."""

    def __init__(self, title: str, text: str) -> None:
        self._text = text
        # Most texts have no lines that may be entries: their units are not looked for.
        lines = [line for line in text.split("\n") if line.strip()]
        may_be = sum(not _says(line.rstrip()) for line in lines) >= _MIN_ENTRIES
        self._units = units(text) if may_be else []
        self._is_called_so = bool(_CALLED_SO.fullmatch(title.rsplit(" > ", 1)[-1]))
        grouped = (list(run) for said, run in groupby(self._units, self._is_said) if not said)
        runs = map(self._without_heading, grouped)
        self._runs = [run for run in runs if len(run) >= _MIN_ENTRIES]

    @cached_property
    def names(self) -> frozenset[str]:
        """Normalised names of what they may lead to: with and without number and page."""
        return frozenset(name for run in self._runs for one in run for name in self._names(one))

    def leading(self, known: Collection[str]) -> tuple[tuple[int, int], ...]:
        """The spans of those that lead to pages, or to some ``known`` headings."""
        return tuple((run[0].start, run[-1].end) for run in self._runs if self._lead(run, known))

    def are_most(self, spans: Collection[tuple[int, int]]) -> bool:
        """Whether most units of the text are in some spans of it."""
        inside = sum(any(start <= one.start < end for start, end in spans) for one in self._units)
        return inside > 0 and inside >= _SHARE * len(self._units)

    def _lead(self, run: Sequence[Unit], known: Collection[str]) -> bool:
        if self._is_called_so:
            return True
        lines = [self._text[one.start : one.end] for one in run]
        numbers = [int(match[1]) for line in lines if (match := _LAST_NUMBER.match(line))]
        rising = (
            len(numbers) >= max(_MIN_PAGES, _SHARE * len(lines))
            and all(one <= other for one, other in pairwise(numbers))
            and numbers[0] < numbers[-1]
        )
        leading = sum(
            bool(_TO_PAGE.search(line) or _IN_INDEX.match(line))
            or any(name in known for name in self._names(one))
            for one, line in zip(run, lines, strict=True)
        )
        return rising or leading >= _SHARE * len(run)

    def _without_heading(self, run: list[Unit]) -> list[Unit]:
        """Some units without the last where that is the heading of what follows."""
        ends = run[-1] == self._units[-1] or not is_heading(self._text, run[-1])
        return run if ends else run[:-1]

    def _is_said(self, one: Unit) -> bool:
        return _says(self._text[one.start : one.end])

    def _names(self, one: Unit) -> set[str]:
        line = self._text[one.start : one.end]
        without_page = _PAGE.sub("", line)
        found = {line, without_page, _MARK.sub("", line), _MARK.sub("", without_page)}
        return {name for name in map(normalise, found) if name}


# The same passages are found by many questions, and several times for one.
entries_of = lru_cache(1000)(Entries)


def _says(line: str) -> bool:
    """Whether a line is a sentence, or a row of a table that leads to no page: no entries."""
    return line.endswith((".", "!", ";")) or (" | " in line and not _TO_PAGE.search(line))
