"""Windows: a document is cut into pieces of bounded length, on the borders of its blocks."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memnet.loaders.document import Block, ParsedDocument
from memnet.text.english import sentences, trim_span

_SPACE = re.compile(r"\s+")
_MAX_CONTEXT = 200
"""Characters of an introduction that are repeated with the later parts of what it introduces."""


class Window(NamedTuple):
    """A piece of a document that becomes a slot."""

    start: int
    end: int
    headings: tuple[str, ...]
    """Those above it, the highest first."""
    context: str
    """The header of the table, or the introduction of the list, that an earlier window begins."""
    places: tuple[tuple[int, str], ...]
    """Where its parts stand, each with the offset in the window from which it holds."""
    links: tuple[str, ...]
    """Names of what its links lead to."""
    opens: bool
    """Whether it is the first one under its headings."""


class _Section(NamedTuple):
    headings: tuple[str, ...]
    blocks: list[Block]


def document_windows(document: ParsedDocument, max_characters: int) -> Iterator[Window]:
    """Windows over all blocks of a document but its headings, in the order of the text.

    A list stays with the sentence that introduces it, a row of a table with its header and code
    with the paragraph before it, as long as all of it fits into ``max_characters``.
    """
    for section in _sections(document):
        opens = True
        for blocks, context in _packed(document.text, section.blocks, max_characters):
            for start, end in _cut(document.text, blocks, max_characters):
                yield Window(
                    start,
                    end,
                    section.headings,
                    context,
                    _places(document, section, blocks, start, end),
                    tuple(dict.fromkeys(link for block in blocks for link in block.links)),
                    opens,
                )
                opens = False


def _sections(document: ParsedDocument) -> Iterator[_Section]:
    """Runs of blocks under the same headings, and on the same page, slide or sheet.

    A heading with nothing below it, not even another heading, is a block of its own section.
    """
    path: list[tuple[int, str, Block]] = []
    blocks: list[Block] = []

    def section() -> _Section:
        return _Section(tuple(text for _, text, _ in path), blocks)

    empty_heading = False
    for block in document.blocks:
        is_heading = block.kind == "heading"
        if blocks and (is_heading or block.opens):
            yield section()
            blocks = []
        if is_heading:
            if empty_heading and block.level <= path[-1][0]:
                yield _Section(tuple(text for _, text, _ in path[:-1]), [path[-1][2]])
            while path and path[-1][0] >= block.level:
                path.pop()
            text = " ".join(document.text[block.start : block.end].split())
            path.append((block.level, text, block))
        else:
            blocks.append(block)
        empty_heading = is_heading
    if blocks:
        yield section()
    elif empty_heading:
        yield _Section(tuple(text for _, text, _ in path[:-1]), [path[-1][2]])


def _groups(text: str, blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks that are read together: a list or a table with its introduction, code likewise."""
    group: list[Block] = []
    for block in blocks:
        if group and not _continues(text, group[-1], block):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _continues(text: str, before: Block, block: Block) -> bool:
    if block.kind == "item":
        return before.kind in ("item", "paragraph", "code")
    if block.kind == "row" and before.kind in ("header", "row"):
        return block.place == before.place  # rows with places of their own are looked up alone
    if block.kind in ("header", "code"):
        return before.kind in ("paragraph", "item", "code")
    return text[before.start : before.end].endswith(":")


def _packed(
    text: str, blocks: Sequence[Block], max_characters: int
) -> Iterator[tuple[list[Block], str]]:
    """As many blocks at a time as fit, groups whole where they fit; with the context of each."""
    packed: list[Block] = []
    context = ""
    for group in _groups(text, blocks):
        fits = group[-1].end - group[0].start <= max_characters
        alone = group[0].kind == "row" and bool(group[0].place)
        for block in group:
            end = group[-1].end if fits else block.end
            if packed and (end - packed[0].start > max_characters or (alone and block is group[0])):
                yield packed, context
                packed = []
                context = "" if block is group[0] else _introduction(text, group)
            packed.append(block)
    if packed:
        yield packed, context


def _introduction(text: str, group: Sequence[Block]) -> str:
    """The header of the table in a group of blocks, else the end of its first paragraph."""
    headers = [block for block in group if block.kind == "header"]
    first = (headers or group)[0]
    if first.kind not in ("header", "paragraph"):
        return ""
    spans = sentences(text[first.start : first.end])
    start = first.start + spans[-1][0] if spans and not headers else first.start
    return " ".join(text[start : first.end].split())[:_MAX_CONTEXT]


def _cut(text: str, blocks: Sequence[Block], max_characters: int) -> list[tuple[int, int]]:
    """The span of some blocks, in several where even a single one is too long."""
    start, end = blocks[0].start, blocks[-1].end
    if end - start <= max_characters:
        return [(start, end)]
    whole = text[start:end]
    lines = [match.span() for match in re.finditer(r"[^\n]+", whole)]
    units = lines if blocks[0].kind == "code" else sentences(whole)
    return [(start + first, start + last) for first, last in _joined(whole, units, max_characters)]


def _joined(
    text: str, units: Sequence[tuple[int, int]], max_characters: int
) -> list[tuple[int, int]]:
    """As many units of a text at a time as fit; a longer one is cut between words, or anywhere."""
    joined: list[tuple[int, int]] = []
    for unit in units:
        for start, end in _pieces(text, *unit, max_characters):
            if joined and end - joined[-1][0] <= max_characters:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
    return joined


def _pieces(text: str, start: int, end: int, max_characters: int) -> Iterator[tuple[int, int]]:
    while end - start > max_characters:
        spaces = list(_SPACE.finditer(text, start + 1, start + max_characters + 1))
        cut = spaces[-1].start() if spaces else start + max_characters
        yield start, cut
        rest = trim_span(text, cut, end)
        if rest is None:
            return
        start = rest[0]
    yield start, end


def _places(
    document: ParsedDocument, section: _Section, blocks: Sequence[Block], start: int, end: int
) -> tuple[tuple[int, str], ...]:
    above = " > ".join(titles(document.title, section.headings))
    places: list[tuple[int, str]] = []
    for block in blocks:
        if block.end <= start or block.start >= end:
            continue
        cells = [(cell.start, cell.place) for cell in block.cells if cell.place]
        for at, place in cells or [(block.start, block.place or above)]:
            if place and (not places or places[-1][1] != place):
                places.append((max(0, at - start), place))
    return tuple(places)


def titles(title: str, headings: Sequence[str]) -> list[str]:
    """A document's title and some headings, without the first where it repeats the title."""
    return [one for one in (title, *headings[headings[:1] == (title,) :]) if one]
