"""Sentences of a text, with exact positions."""

import re
from collections.abc import Iterator

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]

_WIDE_BREAK = re.compile(r"[\x85\u2028\u2029]")
_WIDE = re.compile(r"[^\S\x00-\x7f\x85\u2028\u2029]")
_VISIBLE = re.compile(r"\S")
_BLOCK = 8_000
"""Characters that are segmented at once. The segmenter's time grows with the square of the
quotation marks in a text: 64,000 opening ones take 0.9 s, and a file of them would take days."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Character spans of the sentences of a text, without the white space around them."""
    spans = (trimmed(text, start, end) for start, end in _segments(_plain(text)))
    return [span for span in spans if span is not None]


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text, with the white space around them, in their order.

    A block's last sentence may go on after it, so the next block starts with it; one that is as
    long as a block is cut there.
    """
    start = 0
    while start < len(text):
        block = text[start : start + _BLOCK]
        parts = segment("en", block)
        if start + len(block) < len(text) and len(parts) > 1:
            parts.pop()
        position = 0
        for part in parts:
            # The segmenter leaves out the line breaks before some paragraphs of a long text.
            position = block.index(part, position)
            yield start + position, start + position + len(part)
            position += len(part)
        start += position or len(block)


def _plain(text: str) -> str:
    """A text of the same characters, but for white space that is none of ASCII's.

    The segmenter takes that to be a byte wide, and panics.
    """
    return _WIDE_BREAK.sub("\n", _WIDE.sub(" ", text))


def trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends, looking no further than it must; None if blank."""
    first = _VISIBLE.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return first.start(), end
