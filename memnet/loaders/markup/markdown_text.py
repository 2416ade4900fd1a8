"""Pieces of Markdown in other documents: a cell of a notebook, an assistant's message."""

import re
from collections.abc import Mapping

from memnet.errors import InputError
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup import markdown

_HEADING = re.compile(r"\s*(#{1,6})[ \t]+\S")


def add_markdown(
    builder: DocumentBuilder, text: str, kinds: Mapping[BlockKind, BlockKind] | None = None
) -> str:
    """Add the blocks of a piece of Markdown to a document, at the builder's place.

    Args:
        builder: takes them.
        text: without front matter.
        kinds: what blocks of some kinds become.

    Returns:
        The heading that it begins with, if there is one and it is a title.
    """
    # An empty line at the start: what begins with "---" is no front matter here.
    file = SourceFile("", f"\n{text}".encode("utf-8", "replace"))
    try:
        pieces = [item for item in markdown.load(file) if isinstance(item, ParsedDocument)]
    except InputError:  # nothing but marks, such as an image
        return ""
    for piece in pieces:
        if piece.title:
            # The heading that is the title is no block of a document, but one of this piece.
            found = _HEADING.match(text)
            kind = (kinds or {}).get("heading", "heading")
            builder.add(kind, piece.title, level=len(found[1]) if found else 1)
        if piece.text != piece.title:
            builder.add_document(piece, kinds)
        return piece.title
    return ""
