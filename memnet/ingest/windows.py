"""Cutting text into windows on sentence borders, with exact positions."""

import re
from collections.abc import Iterator

from memnet.text.sentences import sentences, trim_span

_BREAK = re.compile(r"\s+")


def windows(text: str, longest: int) -> list[tuple[int, int]]:
    """Character spans that cover every word of a text, each at most ``longest`` characters.

    Windows hold whole sentences and are as long as allowed. A sentence that is longer by itself
    is cut between words, and a word that is longer by itself is cut anywhere.
    """
    joined: list[tuple[int, int]] = []
    for sentence in sentences(text):
        for start, end in _pieces(text, *sentence, longest):
            if joined and end - joined[-1][0] <= longest:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
    return joined


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    while end - start > longest:
        breaks = list(_BREAK.finditer(text, start + 1, start + longest + 1))
        cut = breaks[-1].start() if breaks else start + longest
        yield start, cut
        rest = trim_span(text, cut, end)
        if rest is None:
            return
        start = rest[0]
    yield start, end
