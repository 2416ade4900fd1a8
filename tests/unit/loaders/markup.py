"""What the tests of the loaders of light markup share."""

import time
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from memnet.errors import InputError, Problem
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile

Load = Callable[[SourceFile], Iterator[ParsedDocument | Problem]]


def read(load: Load, text: str | bytes, name: str) -> ParsedDocument:
    """The document of a text that has no problem."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    (document,) = load(SourceFile(name, data))
    assert isinstance(document, ParsedDocument)
    check(document)
    return document


def check(document: ParsedDocument) -> None:
    """Blocks stand in the order of the text, and cells where their texts are."""
    position = 0
    for block in document.blocks:
        assert position <= block.start < block.end <= len(document.text)
        text = document.text[block.start : block.end]
        assert text.strip() == text or block.kind == "code"
        for cell in block.cells:
            assert block.start <= cell.start < cell.end <= block.end
        position = block.end
    document.text.encode()


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def links(document: ParsedDocument) -> list[str]:
    return [name for block in document.blocks for name in block.links]


def survives(load: Load, text: str, name: str) -> None:
    """Any text is read, or refused in one line."""
    message = ""
    try:
        for document in load(SourceFile(name, text.encode("utf-8", "surrogatepass"))):
            if isinstance(document, ParsedDocument):
                check(document)
    except InputError as error:
        message = str(error)
    assert "\n" not in message


def seconds(load: Load, text: str, name: str) -> float:
    """Processor time that reading takes."""
    start = time.process_time()
    survives(load, text, name)
    return time.process_time() - start


def soup(pieces: str) -> st.SearchStrategy[str]:
    """Texts of pieces of markup in any order."""
    return st.lists(st.sampled_from([*pieces.split(" "), " ", "\n", "\n\n", "  ", "    "])).map(
        "".join
    )
