"""Sentences of a text, with exact character spans."""

import re
from collections.abc import Iterable, Iterator

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]

from memnet.text.english import LANGUAGE

_WIDE_BREAK = re.compile(r"[\x85\u2028\u2029]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f\x85\u2028\u2029]")
_VISIBLE = re.compile(r"\S")
_BLOCK = 8_000
"""Characters segmented at once. The segmenter's time grows with the square of the quotation marks
in a text: 64,000 opening ones take 0.9 s, and a file of them would take days."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Character spans of the sentences of a text, without the white space around them."""
    # The segmenter takes white space outside ASCII to be a byte wide, and panics.
    plain = _WIDE_BREAK.sub("\n", _WIDE_SPACE.sub(" ", text))
    spans = (trim_span(text, start, end) for start, end in _segments(plain))
    return [span for span in spans if span is not None]


def overlapping(spans: Iterable[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The spans that share a character with the one from ``start`` to ``end``."""
    return [span for span in spans if span[0] < end and start < span[1]]


def trim_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends; None if it is blank."""
    first = _VISIBLE.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return first.start(), end


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text, with the white space around them, in order.

    The last sentence of a block may go on after it, so the next block starts with it; one that is
    as long as a block is cut there.
    """
    start = 0
    while start < len(text):
        block = text[start : start + _BLOCK]
        segments = segment(LANGUAGE, block)
        if start + len(block) < len(text) and len(segments) > 1:
            segments.pop()
        offset = 0
        for one in segments:
            # The segmenter leaves out the line breaks before some paragraphs of a long text.
            offset = block.index(one, offset)
            yield start + offset, start + offset + len(one)
            offset += len(one)
        start += offset or len(block)
