"""What belongs to the pages of a PDF file and what to its text."""

import pytest

from tests.unit.loaders.pdf_reading import PROSE, blocks, book, prose, read, shape, table
from tests.unit.loaders.pdf_writer import Page


def test_running_headers_and_page_numbers_are_left_out() -> None:
    text = read(*book(6)).text
    assert not any(header in text for header in ("Almanac", "Tides", "- 3 -"))
    assert text.count("engineer Maud Orre") == 6
    assert all(f"w{number} says" in text for number in range(1, 7))


@pytest.mark.parametrize("header", ["Tides 12 / 99", "Page 12 of 99", "12 Tides", "Tides 12", "12"])
def test_numbers_of_running_headers(header: str) -> None:
    pages = []
    for number in range(5):
        page = prose(Page().text(72, 800, header.replace("12", str(number + 20))))
        pages.append(page.text(72, 640, f"Ships called: {'I' * (number + 1)}"))
    words = [f"{' '.join(PROSE)} Ships called: {'I' * (number + 1)}" for number in range(5)]
    assert read(*pages).text.split() == " ".join(words).split()


def test_numbers_of_tables_are_no_page_numbers() -> None:
    pages = [
        table(prose(Page()), 600, [["Hour", "Height"], [f"{n}.0", f"{n}.5"], [f"{n}.1", f"{n}.6"]])
        for n in range(5)
    ]
    text = read(*pages).text
    assert all(f"{n}.1 | {n}.6" in text for n in range(5))


@pytest.mark.parametrize("size", [10, 18])
def test_running_headers_name_the_section_and_are_not_titles_of_slides(size: float) -> None:
    names = "Tides Winds Ships Piers Lamps Ropes Anchors".split()
    pages = [prose(Page().text(72, 800, f"Of {name}", size)) for name in names]
    for page, name in zip(pages, names, strict=True):
        page.text(72, 640, f"This page is about {name}.")
    document = read(*pages)
    assert all(f"about {name}." in document.text for name in names)
    titles = [f"Of {name}" for name in names] if size == 18 else []
    assert [line for line in blocks(document) if line.startswith("Of")] == titles


def test_lines_alone_are_not_joined_over_pages() -> None:
    pages = [Page().text(72, 700, f"Picture {name}") for name in ("A", "B", "C")]
    assert blocks(read(*pages)) == ["Picture A", "Picture B", "Picture C"]


def test_what_pages_share_is_kept_where_it_is_all_they_have() -> None:
    pages = [Page().text(72, 400, "The same words on each page.") for _ in range(5)]
    assert read(*pages).text.count("The same words") == 5


def test_a_paragraph_over_the_border_of_a_page() -> None:
    first = Page().text(72, 800, "The Kestle Almanac").lines(72, 700, PROSE[:3])
    first.lines(72, 100, ["1 A note on the first page, in small print."], 7)
    second = Page().text(72, 800, "The Kestle Almanac").lines(72, 700, PROSE[3:])
    second.text(72, 640, "A new paragraph.")
    third = prose(Page().text(72, 800, "The Kestle Almanac"))
    document = read(first, second, third)
    assert [(block[2], block[3]) for block in shape(document)] == [
        ("pp. 1-2", " ".join(PROSE)),
        ("p. 1", "1 A note on the first page, in small print."),
        ("p. 2", "A new paragraph."),
        ("p. 3", " ".join(PROSE)),
    ]
    assert [block.opens for block in document.blocks] == [True, False, True, True]


def test_a_paragraph_over_the_end_of_a_column_with_a_footnote() -> None:
    lines = [line[:40].rsplit(" ", 1)[0] for line in PROSE]
    page = Page().lines(72, 700, lines[:3])
    page.lines(72, 100, ["1 A note at the end of the column."], 7)
    page.lines(320, 700, lines[3:])
    assert blocks(read(page)) == [" ".join(lines), "1 A note at the end of the column."]


def test_page_labels() -> None:
    labels = "<< /Nums [0 << /S /r >> 2 << /S /D >>] >>"
    first, second = Page().lines(72, 700, PROSE[:3]), Page().lines(72, 700, PROSE[3:])
    document = read(first, second, prose(Page()), labels=labels)
    assert [block.place for block in document.blocks] == ["pp. i-ii (1-2)", "p. 1 (3)"]


def test_turned_text_does_not_stand_in_the_way() -> None:
    page = Page().lines(72, 700, PROSE[:2])
    page.text(560, 300, "Draft of May", turn="0 1 -1 0")
    page.lines(72, 700 - 24, PROSE[2:])
    assert blocks(read(page))[-1] == "Draft of May"


def test_filled_fields_of_a_form_are_text() -> None:
    page = Page().text(72, 520, "Name of the ship:")
    assert "Grey Heron" in read(page, annotation="Grey Heron").text
