"""What loaders of light markup share: lists and quotes as blocks, titles, names of links."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote

from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
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


def link_names(target: str) -> tuple[str, ...]:
    """Names of what a link leads to: the stem of its path, and its anchor as words.

    Addresses of the web have none: nothing that is stored has their name.
    """
    target = target.strip()
    if _SCHEME.match(target):
        return ()
    path, _, anchor = target.partition("#")
    names = (path_name(unquote(path.partition("?")[0])), anchor_name(unquote(anchor)))
    return tuple(filter(None, names))


def path_name(path: str) -> str:
    """Stem of a path, or the name of its folder where the stem says nothing."""
    for part in reversed(PurePosixPath(path.strip().replace("\\", "/")).parts):
        stem = _SUFFIX.sub("", part)
        if stem.strip("/").lower() not in _NO_NAME:
            return stem
    return ""


def anchor_name(anchor: str) -> str:
    """Words of an anchor: "getting-started" as "getting started"."""
    return one_line(anchor.replace("-", " ").replace("_", " "))


def image_text(description: str, target: str = "") -> str:
    """Description of an image if it says something, else nothing."""
    words = _WORD.findall(description)
    badge = "badge" in target or "shields.io" in target
    if len(words) < _MIN_ALT_WORDS or badge or _FILE_NAME.match(description):
        return ""
    return one_line(description)


@dataclass
class _Item:
    """An item of a list that is open."""

    marker: str
    # None once it is a block; what follows in it is no part of that block.
    parts: list[str] | None = field(default_factory=list)
    links: list[str] = field(default_factory=list)


class MarkupWriter:
    """Adds the parts of a text with light markup to a document, in the order of the text.

    An item of a list is one block with its own paragraphs; lists, code and tables in it are blocks
    of their own.
    """

    def __init__(self, file: SourceFile) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self.metadata: dict[str, object] = {}
        self.names: list[str] = []
        self.quotes = 0  # how many are open
        self.title_levels = {1}  # a heading of these levels that opens the text is its title
        self._file = file
        self._items: list[_Item] = []
        self._label = ""
        self._label_links: tuple[str, ...] = ()

    def heading(self, text: str, level: int, links: Iterable[str] = ()) -> None:
        """Add a heading; one in a list or a quote, or one that is too long, is text."""
        text = one_line(text)
        if self._items or self.quotes or len(text) > self._file.max_title:
            self.paragraph(text, links)
            return
        self._flush()
        if not len(self.builder):
            if not self.title and level in self.title_levels:
                self.title = text
            if self.title.casefold() == text.casefold():
                return
        self.builder.add("heading", text, level=level, links=links)

    def paragraph(self, text: str, links: Iterable[str] = ()) -> None:
        """Add a paragraph, to the item that is open if it is still being collected.

        Links without a text are those of what stands before them.
        """
        text, item = text.strip(), self._items[-1] if self._items else None
        if not text:
            if item is not None and item.parts:
                item.links += links
            else:
                self.builder.add_links(links)
            return
        if self._label:
            label, self._label = self._label, ""
            text = text if text.lower().startswith(label.lower()) else f"{label}: {text}"
            links = (*self._label_links, *links)
        if item is not None and item.parts is not None:
            item.parts.append(text)
            item.links += links
        else:
            self.builder.add("quote" if self.quotes else "paragraph", text, links=links)

    def label(self, text: str, links: Iterable[str] = ()) -> None:
        """Begin the next paragraph with the kind of an admonition, or a term: "Note: ..."."""
        self._end_label()
        self._label, self._label_links = one_line(text), tuple(links)

    def _end_label(self) -> None:
        """Add the label that no paragraph follows as a paragraph."""
        label, self._label = self._label, ""
        if label:
            self.paragraph(label, self._label_links)

    def code(self, text: str) -> None:
        """Add code as it stands."""
        self._flush()
        self.builder.add("code", text)

    def row(
        self,
        cells: Sequence[str],
        header: Sequence[str],
        *,
        is_header: bool = False,
        links: Iterable[str] = (),
    ) -> None:
        """Add a row of a table, or its header row; ``header`` names as many cells as it has."""
        self._flush()
        names = [*header, *[""] * (len(cells) - len(header))]
        given = [(name, cell, "") for name, cell in zip(names, cells, strict=False)]
        self.builder.add_row(given, header=is_header, links=links)

    def open_item(self, marker: str) -> None:
        """Open an item, inside of the one that is open, with "-" or its number."""
        self._flush()
        self._items.append(_Item(marker))

    def close_item(self) -> None:
        """Close the item that was opened last."""
        self._flush()
        self._items.pop()

    def finish(self) -> ParsedDocument:
        """The document."""
        self._flush()
        title = one_line(self.title)
        return self._file.document(self.builder, title, self.metadata, self.names)

    def _flush(self) -> None:
        """Make a block of what waits for its end."""
        self._end_label()
        if not self._items or self._items[-1].parts is None:
            return
        item = self._items[-1]
        parts, item.parts = item.parts or [], None
        if parts:
            indent = "\n" + " " * (len(item.marker) + bool(item.marker))
            text = "\n".join(parts).replace("\n", indent)
            self.builder.add(
                "item",
                f"{item.marker} {text}".strip(),
                level=len(self._items) - 1,
                links=dict.fromkeys(item.links),
            )
