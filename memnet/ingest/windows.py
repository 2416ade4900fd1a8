"""Windows: a document is cut into pieces of bounded length, on the borders of its blocks."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from memnet.loaders.document import Block, Cell, ParsedDocument, one_line
from memnet.text.english import sentences, trim_span
from memnet.text.names import normalise

_SPACE = re.compile(r"\s+")
_MIN_ENTRIES, _MAX_CONTENTS = 3, 10_000  # Lines and characters of a table of contents
# Characters of an introduction that are repeated with the later parts of what it introduces.
_MAX_CONTEXT = 200


class Window(NamedTuple):
    """A piece of a document that becomes a slot."""

    start: int
    end: int
    headings: tuple[str, ...]  # those above all of it, the highest first
    # The headings that say what it is about: the lowest one above it, and those within.
    names: tuple[str, ...]
    # The header of the table, or the introduction of the list, that an earlier window begins.
    context: str
    places: tuple[tuple[int, str], ...]  # of its parts, with the offset in it from which each holds
    links: tuple[str, ...]  # names of what its links lead to
    opens: bool  # whether it is the first one under its headings


class _Section(NamedTuple):
    """Blocks under the same headings, and on the same page, slide or sheet."""

    path: tuple[Block, ...]  # the headings above them, the highest first
    blocks: Sequence[Block]
    own: int = 0  # how many of the headings, the lowest ones, stand directly before the blocks

    def start(self, depth: int) -> int:
        """Where it starts with those of its own headings that are deeper than ``depth``.

        A heading at the foot of the page before stays there.
        """
        own = self.path[max(depth, len(self.path) - self.own) :]
        return (*own, *self.blocks)[0 if not self.blocks[0].opens else len(own)].start


def document_windows(
    document: ParsedDocument, max_characters: int, min_characters: int = 0
) -> Iterator[Window]:
    """Windows over all blocks of a document but its headings, in the order of the text.

    A list stays with the sentence that introduces it, a row of a table with its header and code
    with the paragraph before it, as long as all of it fits into ``max_characters``. Sections of
    less than ``min_characters`` are joined with what follows; the headings between them are then
    a part of the window.
    """
    for sections in _joined_sections(document, max_characters, min_characters):
        first, last = sections[0], sections[-1]
        depth = _common_depth(first.path, last.path)
        headings = tuple(_heading(document, block) for block in first.path[:depth])
        within = tuple(_heading(document, one.path[-1]) for one in sections if one.path[depth:])
        names = (*headings[-1:], *within)
        if len(sections) > 1:
            spans = [(first.start(depth), last.blocks[-1].end, "", sections)]
        else:
            spans = [
                (start, end, before, [_Section(first.path, blocks)])
                for blocks, context in _packed(document.text, first.blocks, max_characters)
                for start, end, before in _cut(document.text, blocks, context, max_characters)
            ]
        for number, (start, end, context, parts) in enumerate(spans):
            places = _places(document, parts, start, end)
            links = (link for part in parts for block in part.blocks for link in block.links)
            unique = tuple(dict.fromkeys(links))
            yield Window(start, end, headings, names, context, places, unique, opens=not number)


def _heading(document: ParsedDocument, block: Block) -> str:
    return one_line(document.text[block.start : block.end])


def _joined_sections(
    document: ParsedDocument, max_characters: int, min_characters: int
) -> Iterator[list[_Section]]:
    """The sections of a document, those that are short together with what follows.

    But for a table of contents: what it leads to counts more than it does.
    """
    joined: list[_Section] = []
    names = {_entry(_heading(document, one)) for one in document.blocks if one.kind == "heading"}
    is_alone = False
    for section in _sections(document):
        was_alone, is_alone = is_alone, _is_contents(document.text, section, names)
        if joined:
            depth = _common_depth(joined[0].path, section.path)
            start, end = joined[0].start(depth), joined[-1].blocks[-1].end
            if (
                end - start >= min_characters
                or section.blocks[-1].end - start > max_characters
                or section.blocks[0].opens
                or any(heading.opens for heading in section.path[depth:])
                or was_alone
                or is_alone
            ):
                yield joined
                joined = []
        joined.append(section)
    if joined:
        yield joined


def _is_contents(text: str, section: _Section, names: Collection[str]) -> bool:
    """Whether most lines of a section are ``names`` of headings, as those of contents are."""
    if (
        len(names) < _MIN_ENTRIES
        or section.blocks[-1].end - section.blocks[0].start > _MAX_CONTENTS
    ):
        return False
    lines = [
        line for one in section.blocks for line in text[one.start : one.end].splitlines() if line
    ]
    named = sum(_entry(line) in names for line in lines)
    return named >= max(_MIN_ENTRIES, len(lines) / 2)


def _entry(line: str) -> str:
    """A heading, or an entry of contents, without the numbers of section and page around it."""
    words = normalise(line).split()
    places = [place for place, word in enumerate(words) if not word.isdecimal()]
    return " ".join(words[places[0] : places[-1] + 1]) if places else ""


def _common_depth(path: Sequence[Block], other: Sequence[Block]) -> int:
    pairs = zip(path, other, strict=False)
    return next((depth for depth, (a, b) in enumerate(pairs) if a != b), min(len(path), len(other)))


def _sections(document: ParsedDocument) -> Iterator[_Section]:
    """All blocks but headings, under their headings.

    A heading with nothing below it, not even another heading, is a block of its own section.
    """
    path: list[Block] = []
    blocks: list[Block] = []
    own = 0
    for block in document.blocks:
        is_heading = block.kind == "heading"
        if blocks and (is_heading or block.opens):
            yield _Section(tuple(path), blocks, own)
            blocks, own = [], 0
        if not is_heading:
            blocks.append(block)
            continue
        if own and block.level <= path[-1].level:
            yield _Section(tuple(path[:-1]), [path[-1]], own - 1)
            own = 0
        while path and path[-1].level >= block.level:
            path.pop()
        path.append(block)
        own += 1
    if blocks:
        yield _Section(tuple(path), blocks, own)
    elif own:
        yield _Section(tuple(path[:-1]), [path[-1]], own - 1)


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
    return one_line(text[start : first.end])[:_MAX_CONTEXT]


def _cut(
    text: str, blocks: Sequence[Block], context: str, max_characters: int
) -> list[tuple[int, int, str]]:
    """The span of some blocks, in several where even a single one is too long, with its context.

    A row is cut between its cells. Where it has no header as context, its first cell, which names
    it, is that of its later parts.
    """
    start, end = blocks[0].start, blocks[-1].end
    if end - start <= max_characters:
        return [(start, end, context)]
    whole = text[start:end]
    cells = blocks[0].cells if blocks[0].kind == "row" and len(blocks) == 1 else ()
    if blocks[0].kind == "code":
        units = [match.span() for match in re.finditer(r"[^\n]+", whole)]
    elif cells:
        units = [
            (first + offset, last + offset)
            for offset, cell_end in _cell_spans(text, start, cells)
            for first, last in _sentences_of(whole[offset:cell_end], max_characters)
        ]
    else:
        units = sentences(whole)
    # As many of them at a time as fit.
    joined: list[tuple[int, int]] = []
    for unit in units:
        for first, last in _pieces(whole, *unit, max_characters):
            if joined and start + last - joined[-1][0] <= max_characters:
                joined[-1] = (joined[-1][0], start + last)
            else:
                joined.append((start + first, start + last))
    name = one_line(text[start : cells[0].end]) if cells else ""
    named = context or (name if len(name) <= _MAX_CONTEXT else "")
    return [(first, last, named if n else context) for n, (first, last) in enumerate(joined)]


def _cell_spans(text: str, start: int, cells: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """The cells of a row from ``start`` on with their labels, by offsets in it."""
    before = start
    for cell in cells:
        labelled = text[before : cell.start]
        yield cell.start - len(labelled.lstrip("; |")) - start, cell.end - start
        before = cell.end


def _sentences_of(text: str, max_characters: int) -> list[tuple[int, int]]:
    return [(0, len(text))] if len(text) <= max_characters else sentences(text)


def _pieces(text: str, start: int, end: int, max_characters: int) -> Iterator[tuple[int, int]]:
    """A unit of a text, cut between words, or anywhere, where it is too long."""
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
    document: ParsedDocument, parts: Sequence[_Section], start: int, end: int
) -> tuple[tuple[int, str], ...]:
    """Where the parts of a window stand, each with the offset in it from which that holds."""
    places: list[tuple[int, str]] = []
    for part in parts:
        above = [_heading(document, block) for block in part.path]
        path = " > ".join(titles(document.title, above))
        first = part.start(len(part.path) - 1)
        for block in part.blocks:
            if block.end <= start or block.start >= end:
                continue
            cells = [(cell.start, cell.place) for cell in block.cells if cell.place]
            # Of a row that is cut, the cell that the window begins in, and those that begin in it
            begun = [place for offset, place in cells if offset <= start][-1:]
            cells = [
                *((start, place) for place in begun),
                *((offset, place) for offset, place in cells if start < offset < end),
            ]
            for offset, place in cells or [(block.start, block.place or path)]:
                if place and (not places or places[-1][1] != place):
                    offset = first if block is part.blocks[0] and first > start else offset
                    places.append((offset - start if places else 0, place))
    return tuple(places)


def titles(title: str, headings: Sequence[str]) -> list[str]:
    """A document's title and some headings, without the first where it repeats the title."""
    return [one for one in (title, *headings[tuple(headings[:1]) == (title,) :]) if one]
