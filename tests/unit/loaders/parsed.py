"""What tests of loaders look at."""

import time
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from memnet.errors import InputError, Problem
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile, find_format, format_by_name


def read(
    name: str,
    data: bytes | str,
    form: str = "",
    sibling: Callable[[str], bytes | None] = lambda _path: None,
) -> list[ParsedDocument | Problem]:
    """All that a file holds, with the promises of every loader checked."""
    found = format_by_name(form) if form else find_format(name)
    assert found is not None
    file = SourceFile(name, data if isinstance(data, bytes) else data.encode(), sibling)
    items = list(found.loader()(file))
    for item in items:
        if isinstance(item, ParsedDocument):
            check(item, name)
    return items


def check(document: ParsedDocument, name: str) -> None:
    """Blocks in order and without white space around them; text that can be stored."""
    assert document.name == name or document.name.startswith(f"{name}#")
    assert document.title
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text)
        text = document.text[block.start : block.end]
        assert text.rstrip() == text
        assert text.lstrip() == text or block.kind == "code"
        for cell in block.cells:
            assert block.start <= cell.start < cell.end <= block.end
        end = block.end
    document.text.encode()
    document.title.encode()


def only(items: list[ParsedDocument | Problem]) -> ParsedDocument:
    """The document, if it is all that there is."""
    assert len(items) == 1
    assert isinstance(items[0], ParsedDocument)
    return items[0]


def texts(document: ParsedDocument) -> list[str]:
    """The texts of its blocks."""
    return [document.text[block.start : block.end] for block in document.blocks]


def placed(document: ParsedDocument) -> list[tuple[str, str]]:
    """The place and the text of each block."""
    return list(zip((block.place for block in document.blocks), texts(document), strict=True))


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    return list(zip((block.kind for block in document.blocks), texts(document), strict=True))


def problems(items: list[ParsedDocument | Problem]) -> Iterator[str]:
    """What could not be read."""
    return (str(item) for item in items if isinstance(item, Problem))


def links(document: ParsedDocument) -> list[str]:
    return [name for block in document.blocks for name in block.links]


def survives(name: str, text: str) -> None:
    """Any text is read, or refused in one line."""
    try:
        read(name, text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


def seconds(name: str, text: str) -> float:
    """Processor time that reading takes."""
    start = time.process_time()
    survives(name, text)
    return time.process_time() - start


def soup(pieces: str) -> st.SearchStrategy[str]:
    """Texts of pieces of markup in any order."""
    return st.lists(st.sampled_from([*pieces.split(" "), " ", "\n", "\n\n", "  ", "    "])).map(
        "".join
    )
