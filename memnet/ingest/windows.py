"""Cutting text into windows on sentence borders, with exact positions."""

import re
from collections.abc import Iterator

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]

_WIDE_BREAK = re.compile(r"[\x85\u2028\u2029]")
_WIDE = re.compile(r"[^\S\x00-\x7f\x85\u2028\u2029]")
_BREAK = re.compile(r"\s+")
_VISIBLE = re.compile(r"\S")
_BLOCK = 8_000
"""Characters that are segmented at once. The segmenter's time grows with the square of the
quotation marks in a text: 64,000 opening ones take 0.9 s, and a file of them would take days."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Character spans of the sentences of a text, without the white space around them."""
    trimmed = (_trimmed(text, start, end) for start, end in _segments(_plain(text)))
    return [span for span in trimmed if span is not None]


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
        rest = _trimmed(text, cut, end)
        if rest is None:
            return
        start = rest[0]
    yield start, end


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends, looking no further than it must; None if blank."""
    first = _VISIBLE.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return first.start(), end
