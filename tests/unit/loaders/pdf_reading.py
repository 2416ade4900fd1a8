"""Pages that the tests of PDF files share, and what is read of them."""

from typing import Any

from memnet.loaders.document import ParsedDocument
from tests.unit.loaders import parsed
from tests.unit.loaders.parsed import only
from tests.unit.loaders.pdf_writer import Page, write_pdf

PROSE = [
    "The harbour of Kestle was built in the year 1871 by the",
    "engineer Maud Orre, who had come from the north to find",
    "work on the railways and stayed until the end of her life",
    "in the house beside the mole. Her plans are kept in the",
    "museum of the town.",
]


def read(*pages: Page, name: str = "harbour.pdf", **options: Any) -> ParsedDocument:
    """What is read of pages, written with options of ``write_pdf``."""
    return only(parsed.read(name, write_pdf(pages, **options)))


def blocks(document: ParsedDocument, *kinds: str) -> list[str]:
    return [
        document.text[block.start : block.end]
        for block in document.blocks
        if not kinds or block.kind in kinds
    ]


def shape(document: ParsedDocument) -> list[tuple[str, int, str, str]]:
    return [
        (block.kind, block.level, block.place, document.text[block.start : block.end])
        for block in document.blocks
    ]


def prose(page: Page, y: float = 700, x: float = 72) -> Page:
    return page.lines(x, y, PROSE)


def table(page: Page, y: float, rows: list[list[str]], head: str = "bold") -> Page:
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            page.text(72 + 110 * column, y - 14 * number, text, 10, "body" if number else head)
    return page


def book(pages: int) -> list[Page]:
    made = []
    for number in range(1, pages + 1):
        page = Page().text(72, 800, f"{number}   The Kestle Almanac" if number % 2 else "The Tides")
        prose(page, 700)
        page.lines(72, 600, [f"Only page number {word} says so." for word in [f"w{number}"] * 5])
        made.append(page.text(290, 40, f"- {number} -"))
    return made
