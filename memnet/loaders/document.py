"""What a loader gives: a plain text, the blocks that it consists of, and where each one stands."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

BlockKind = Literal["heading", "paragraph", "item", "header", "row", "code", "quote", "message"]

FORM_LINE = re.compile(r"[^\W\d_][^:.!?\n]{0,39}: \S")  # "Fee: 20 francs"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_LEVEL = 100  # of a block: each level indents the text of an item, and damaged files have any
# Neighbours of these kinds are separated by a line break, all others by an empty line.
_TIGHT: frozenset[BlockKind] = frozenset({"item", "header", "row", "message"})


class Cell(NamedTuple):
    """A cell of a table row."""

    header: str  # text of its column's header; empty without one
    start: int
    end: int  # its text is ``text[start:end]`` of the document
    place: str = ""  # "Sheet1!B4"; empty for that of its row


class Block(NamedTuple):
    """A piece of a document that reads as one: a heading, a paragraph, a row of a table."""

    # "header" is the first row of a table that names its columns, "row" any other; "item" is an
    # item of a list with its bullet or number; "message" one of a chat, a mail or a subtitle.
    kind: BlockKind
    start: int
    end: int  # the block is ``text[start:end]`` of the document
    level: int = 0  # of a heading 1 for the highest; of a list item 0 for one of the outermost list
    # Where a reader finds it: "p. 8", "slide 4", "Sheet1!A4:D4", "2024-03-01 Ann", "line 12".
    # Empty: by the headings above it.
    place: str = ""
    # Whether something new starts here, such as a page or a slide: no slot reaches across.
    opens: bool = False
    links: tuple[str, ...] = ()  # names of what its links lead to, in any spelling
    cells: tuple[Cell, ...] = ()  # of a row


class Turn(NamedTuple):
    """What is known of a document that is a message of a conversation."""

    speaker: str
    time: str  # as it was written; empty if unknown
    session: str = ""
    before: str = ""  # the message before it in its session, with its speaker: "Ann: See you at 5"
    addressed: str = ""  # who else spoke last before it


@dataclass(frozen=True)
class ParsedDocument:
    """A document with its blocks. What is in no block is not stored."""

    name: str  # its source id
    title: str
    text: str
    blocks: tuple[Block, ...]  # in the order of the text, without overlap
    origin: str = ""  # path of the file it was read from; empty without one
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # Further names of it, in any spelling: aliases, and what links to it are written with.
    names: tuple[str, ...] = ()
    # A story is read sentence by sentence in its order.
    kind: Literal["document", "story"] = "document"
    turn: Turn | None = None  # of a message; None for any other document

    def digest(self) -> bytes:
        """16 bytes, equal for equal content."""
        blocks = [(block, self.text[block.start : block.end]) for block in self.blocks]
        kind = () if self.kind == "document" else (self.kind,)
        # What was said before it does not make it another message.
        turn = () if self.turn is None else self.turn[:3]
        content = (self.title, blocks, sorted(self.metadata.items()), self.names, *kind, *turn)
        return hashlib.blake2b(
            repr(content).encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()

    def size(self) -> int:
        """Characters."""
        return len(self.text)


class DocumentBuilder:
    """Collects the blocks of a document, and joins their texts."""

    def __init__(self) -> None:
        self.place = ""  # of all blocks that are added without one, until it changes
        self.quoted = ""  # that of quotations among them, where it is another
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self.length = 0  # characters so far
        self._opens = False
        self._links: tuple[str, ...] = ()  # of the first block, before there is one

    def __len__(self) -> int:
        """Number of blocks."""
        return len(self._blocks)

    def open(self, place: str = "") -> None:
        """Start something new, such as a page or a slide, where the next block begins."""
        self.place, self._opens = place, True

    def add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int = 0,
        place: str | None = None,
        links: Iterable[str] = (),
    ) -> None:
        """Add a block, if its text is not blank.

        Its text has line breaks where they matter; ``one_line`` joins those that do not. Without
        a place it has that of the builder. Links are the names of what its links lead to.
        """
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()
        if text:
            self._append(kind, text, level, place, links, ())

    def add_links(self, links: Iterable[str]) -> None:
        """Add links to the last block, or else the first one: for what leads on but is not text."""
        if self._blocks:
            last = self._blocks[-1]
            self._blocks[-1] = last._replace(links=(*last.links, *links))
        else:
            self._links += tuple(links)

    def add_row(
        self,
        cells: Iterable[tuple[str, str, str]],
        *,
        header: bool = False,
        labelled: bool = False,
        place: str | None = None,
        links: Iterable[str] = (),
    ) -> None:
        """Add a row of a table, unless all its cells are blank.

        Args:
            cells: header, text and place of each; headers and places may be empty.
            header: whether it is the row of the headers.
            labelled: write "Price: $4; Seats: 5" in place of "$4 | 5", leaving empty cells out,
                for a table that is too long to be read with its header.
            place: as in ``add``.
            links: as in ``add``.
        """
        given = [(one_line(name), one_line(text), at) for name, text, at in cells]
        if not any(text for _, text, _ in given):
            return
        kind: BlockKind = "header" if header else "row"
        start = self.length + len(self._separator(kind))
        if not labelled and not given[0][1]:
            start -= 1  # the blank after an empty first cell goes
        parts: list[str] = []
        placed: list[Cell] = []
        for name, text, at in given:
            if labelled and not text:
                continue
            before = "" if not parts else "; " if labelled else " | "
            if labelled and name:
                before = f"{before}{name}: "
            start += len(before)
            parts.append(f"{before}{text}")
            if text:
                placed.append(Cell(name, start, start + len(text), at))
                start += len(text)
        self._append(kind, "".join(parts).strip(), 0, place, links, tuple(placed))

    def add_document(
        self, document: ParsedDocument, kinds: Mapping[BlockKind, BlockKind] | None = None
    ) -> None:
        """Add the blocks of another document, at the builder's place if they have none.

        ``kinds`` says what blocks of some kinds become.
        """
        for block in document.blocks:
            kind = (kinds or {}).get(block.kind, block.kind)
            moved = self.length + len(self._separator(kind)) - block.start
            cells = tuple(
                cell._replace(start=cell.start + moved, end=cell.end + moved)
                for cell in block.cells
            )
            text = document.text[block.start : block.end]
            self._append(kind, text, block.level, block.place or self.place, block.links, cells)

    def build(
        self,
        name: str,
        title: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        names: Iterable[str] = (),
    ) -> ParsedDocument:
        """The document of all blocks so far."""
        return ParsedDocument(
            name,
            well_formed(one_line(title)),
            "".join(self._parts),
            tuple(self._blocks),
            metadata=metadata or {},
            names=tuple(dict.fromkeys(well_formed(alias) for alias in names if alias)),
        )

    def _separator(self, kind: BlockKind) -> str:
        if not self._blocks:
            return ""
        tight = kind in _TIGHT and self._blocks[-1].kind in _TIGHT and not self._opens
        return "\n" if tight else "\n\n"

    def _append(
        self,
        kind: BlockKind,
        text: str,
        level: int,
        place: str | None,
        links: Iterable[str],
        cells: tuple[Cell, ...],
    ) -> None:
        text, level = well_formed(text), min(level, _MAX_LEVEL)
        links, self._links = (*self._links, *links), ()
        if place is None:
            place = (kind == "quote" and self.quoted) or self.place
        separator = self._separator(kind)
        if kind == "item":  # outside of the block, whose text starts with its bullet
            separator += "  " * level
            text = text.replace("\n", "\n" + "  " * level)
        start = self.length + len(separator)
        self.length = start + len(text)
        self._parts += [separator, text]
        self._blocks.append(
            Block(kind, start, self.length, level, place, self._opens, links, cells)
        )
        self._opens = False


def one_line(text: str) -> str:
    """A text with single spaces where white space stands, and none at its ends."""
    return " ".join(text.split())


def well_formed(text: str) -> str:
    """A text of the same length that can be encoded: "\ufffd" for each lone surrogate.

    JSON, mail and broken encodings bring them.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the parts of a text between empty lines, without white space around them."""
    start = 0
    for gap in [*re.finditer(r"\n[^\S\n]*\n\s*", text), None]:
        end = len(text) if gap is None else gap.start()
        part = text[start:end]
        if part.strip():
            left = len(part) - len(part.lstrip())
            yield start + left, start + len(part.rstrip())
        start = end if gap is None else gap.end()


# Stems that say nothing; the folder's name does.
_NO_NAME = frozenset({"", ".", "..", "index", "readme", "_index"})
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FILE_NAME = re.compile(r"\S+\.\w{2,4}$|https?:")
_MIN_ALT_WORDS = 3  # shorter descriptions of images are "logo", "Screenshot", "Build Status"
_ADMONITIONS = frozenset(
    "abstract attention bug caution danger deprecated error example failure hint important info "
    "note question quote seealso success summary tip todo warning versionadded versionchanged "
    "versionremoved".split()
)
_SPELLED = {
    "seealso": "See also",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}


def admonition_label(kind: str) -> str:
    """What an admonition of a kind is headed with; empty for kinds that are only layout."""
    kind = kind.strip().lower()
    return _SPELLED.get(kind, kind.capitalize()) if kind in _ADMONITIONS else ""


def path_name(path: str) -> str:
    """Stem of a path, or the name of its folder where the stem says nothing."""
    for part in reversed(PurePosixPath(path.strip().replace("\\", "/")).parts):
        stem = _SUFFIX.sub("", part)
        if stem.strip("/").lower() not in _NO_NAME:
            return stem
    return ""


def image_text(description: str, target: str = "") -> str:
    """Description of an image if it says something, else nothing."""
    words = _WORD.findall(description)
    badge = "badge" in target or "shields.io" in target
    if len(words) < _MIN_ALT_WORDS or badge or _FILE_NAME.match(description):
        return ""
    return one_line(description)
