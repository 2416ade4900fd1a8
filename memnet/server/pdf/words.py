"""Where the words of a stored text stand on a page of the PDF file that it was read from.

A text is stored as it reads: without running headers, with broken words joined and columns one
after the other. So its words are looked for among those of the page, wherever these lead.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple
from unicodedata import normalize

_WORD = re.compile(r"\S+")
_NO_LETTER = re.compile(r"[\W_]+")
_MAX_ALIGNED = 4000
"""Words of a page, and of its text, that are aligned: time grows with the product of both. A page
in the smallest print has 2,000."""


class Word(NamedTuple):
    """A word of a text."""

    text: str
    """Its letters and digits, in lower case; hyphens, which may break it, left out."""
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text."""
    found = (Word(_plain(one[0]), one.start(), one.end()) for one in _WORD.finditer(text))
    return [word for word in found if word.text]


def find_words(stored: Sequence[Word], page: Sequence[Word], start: int, end: int) -> list[int]:
    """Which words of a page are those of a span of its stored text.

    Args:
        stored: the words of the part of the text that stands on this page.
        page: the words of the page, in the order of the file.
        start: of the span in the stored text.
        end: of the span.

    Returns:
        Indices of ``page``, rising.
    """
    span = [index for index, word in enumerate(stored) if word.start < end and word.end > start]
    if not span:
        return []
    texts = [word.text for word in page]
    wanted = [stored[index].text for index in span]
    places = _occurrences(wanted, texts)
    if len(places) != 1:
        aligned = _aligned(stored, page, set(span))
        if aligned or not places:
            return aligned
    return [places[0] + offset for offset in range(len(wanted))]


def _occurrences(wanted: list[str], texts: list[str]) -> list[int]:
    """Where some words stand one after the other."""
    return [
        first
        for first in range(len(texts) - len(wanted) + 1)
        if texts[first] == wanted[0] and texts[first : first + len(wanted)] == wanted
    ]


def _aligned(stored: Sequence[Word], page: Sequence[Word], span: set[int]) -> list[int]:
    """The words of the page that an alignment of both texts gives those of the span."""
    if max(len(stored), len(page)) > _MAX_ALIGNED:
        return []
    matcher = SequenceMatcher(
        None, [word.text for word in stored], [word.text for word in page], autojunk=False
    )
    return [
        block.b + offset
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
        if block.a + offset in span
    ]


def _plain(word: str) -> str:
    return _NO_LETTER.sub("", normalize("NFKD", word)).casefold()
