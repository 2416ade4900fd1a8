"""Loaders of other packages, which name them by entry points in the group ``memnet.loaders``.

The name of an entry point is a suffix without its dot. Its object is a function from the content of
a file and the name of its source, such as its path, to HTML, of which everything is read, or to the
blocks in their order, where a heading of level 1 that comes first is the title. Where it raises
anything, the file is skipped with the first line of the message. It is imported and called in the
process with limits that reads files; formats of memnet come first.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, get_args

from memnet.errors import InputError, Problem, first_line
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile, other_loaders
from memnet.loaders.web import html

_KINDS = get_args(BlockKind)


class Piece(NamedTuple):
    """A block of a document: any tuple of these values does."""

    kind: BlockKind  # "heading", "paragraph", "item", "header", "row", "code", "quote", "message"
    text: str  # of an item with its bullet or number; cells of rows are separated by tabs
    place: str = ""  # where a reader finds it: "p. 8"; empty: by the headings above it
    level: int = 0  # of a heading 1 for the highest; of an item 0 for the outermost list


def load(file: SourceFile, name: str) -> Iterator[ParsedDocument | Problem]:
    """The document that another package's loader gives, by the name of its entry point."""
    entry = other_loaders()[name]
    try:
        loader: Callable[[bytes, str], str | Iterable[Piece]] = entry.load()
    except Exception as error:  # code of others raises anything
        raise InputError(
            f"has a loader, {entry.value}, that can't be imported ({first_line(error)}); install "
            "its package again"
        ) from error
    result = loader(file.data, file.name)
    builder = DocumentBuilder()
    if isinstance(result, str):
        title = html.add(builder, result, whole=True, max_heading=file.max_title).title
    else:
        title = _add_pieces(builder, result, entry.value)
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    yield file.document(builder, title[: file.max_title])


def _add_pieces(builder: DocumentBuilder, pieces: Iterable[Piece], loader: str) -> str:
    """Add all blocks; gives the title."""
    title = ""
    headers: list[str] = []
    for given in pieces:
        try:
            kind, text, place, level = Piece(*given)
        except TypeError as error:
            raise InputError(
                f"has a loader, {loader}, that gives {type(given).__name__!r}; expected tuples of "
                "kind, text, place and level"
            ) from error
        if kind not in _KINDS or not all(isinstance(part, str) for part in (text, place)):
            raise InputError(
                f"has a loader, {loader}, that gives a block of kind {kind!r}; expected one of "
                f"{', '.join(_KINDS)}, with texts"
            )
        if kind == "heading" and level == 1 and not len(builder):
            title = text
        if kind in ("header", "row"):
            cells = text.split("\t")
            headers = cells if kind == "header" else headers
            labels = [*headers, *[""] * len(cells)][: len(cells)]
            rows = [(label, cell, "") for label, cell in zip(labels, cells, strict=True)]
            builder.add_row(rows, header=kind == "header", place=place)
        else:
            headers = []
            builder.add(kind, text, level=int(level), place=place)
    return title
