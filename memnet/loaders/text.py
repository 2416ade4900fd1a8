"""Plain text: a block for each paragraph, placed by its line; or a chat, if it evidently is one."""

from bisect import bisect_right
from collections.abc import Iterator

from memnet.errors import EMPTY, InputError, Problem
from memnet.io import decode
from memnet.loaders.chats.transcripts import read_chat
from memnet.loaders.document import Block, ParsedDocument, paragraphs
from memnet.loaders.formats import SourceFile


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text as it stands."""
    text = decode(file.data)
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it", EMPTY)
    if chat := read_chat(file, text):
        yield chat
        return
    lines = [at for at, character in enumerate(text) if character == "\n"]
    blocks = tuple(
        Block("paragraph", start, end, place=f"line {bisect_right(lines, start) + 1}")
        for start, end in paragraphs(text)
    )
    yield ParsedDocument(file.name, file.title, text, blocks)
