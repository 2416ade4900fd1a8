"""Tables of contents and indexes: they name what is asked about, and lead to where it stands."""

import re
from collections.abc import Collection
from itertools import pairwise

from memnet.text.english import units
from memnet.text.names import normalise

_MIN_ENTRIES = 3
_MIN_PAGES = 5  # Entries whose last numbers rise, from which those are taken for pages
_SHARE = 0.5  # of the units that lead elsewhere, from which a text is contents
# "Firing … 12", "Firing ....... xii"; "anchors, 3, 17-19"
_TO_PAGE = re.compile(
    r"(?:…|\.{3,20}|(?:\. ){3,20}|·{3,20}|_{3,20}|\t) ?(?:p\. ?)?(?:\d{1,4}|[ivxlc]{1,6})$"
)
_IN_INDEX = re.compile(r"[^\d.;:|]{2,60}(?:, ?\d{1,4}(?:[-–]\d{1,4})?){1,20}$")
_LAST_NUMBER = re.compile(r"[^\W\d].* (\d{1,4})$")
_MARK = re.compile(r"^(?:[-*•]|\d{1,3}(?:\.\d{1,3}){0,4}[.)]?) ")
_PAGE = re.compile(r"[\s.…·_]{1,200}\d{1,4}$")
_CALLED_SO = re.compile(
    r"(?:table of )?contents|index|on this page|toc|inhalt(?:sverzeichnis)?|sommaire", re.IGNORECASE
)
_ASKS_FOR_THEM = re.compile(r"\b(?:contents?|index|chapters?|sections?|topics?|headings?)\b", re.I)


def asks_for_contents(question: str) -> bool:
    """Whether a question is about the parts of a text: "What chapters are there?"."""
    return _ASKS_FOR_THEM.search(question) is not None


class Entries:
    """The units of a text as entries of contents, where they may be."""

    def __init__(self, title: str, text: str) -> None:
        lines = [text[one.start : one.end] for one in units(text)]
        said = sum(line.endswith((".", "!", ";")) or " | " in line for line in lines)
        self._lines = lines if len(lines) >= _MIN_ENTRIES and said <= _SHARE * len(lines) else []
        self._is_called_so = bool(_CALLED_SO.fullmatch(title.rsplit(" > ", 1)[-1]))

    @property
    def names(self) -> frozenset[str]:
        """Normalised names of what they may lead to: with and without number and page."""
        return frozenset(name for line in self._lines for name in _names(line))

    def lead_elsewhere(self, known: Collection[str]) -> bool:
        """Whether most name a page, or one of some ``known`` headings; or are called contents."""
        if not self._lines:
            return False
        if self._is_called_so:
            return True
        numbers = [int(match[1]) for line in self._lines if (match := _LAST_NUMBER.match(line))]
        rising = (
            len(numbers) >= max(_MIN_PAGES, _SHARE * len(self._lines))
            and all(one <= other for one, other in pairwise(numbers))
            and numbers[0] < numbers[-1]
        )
        leading = sum(
            bool(_TO_PAGE.search(line) or _IN_INDEX.match(line))
            or any(name in known for name in _names(line))
            for line in self._lines
        )
        return rising or leading >= _SHARE * len(self._lines)


def _names(line: str) -> set[str]:
    without_page = _PAGE.sub("", line)
    found = {line, without_page, _MARK.sub("", line), _MARK.sub("", without_page)}
    return {name for name in map(normalise, found) if name}
