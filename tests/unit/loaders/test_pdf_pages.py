"""What belongs to the pages of a PDF file and what to its text."""

import pytest

from tests.unit.loaders.pdf_reading import PROSE, blocks, book, prose, read, shape, table
from tests.unit.loaders.pdf_writer import Page, write_pdf


def test_running_headers_and_page_numbers_are_left_out() -> None:
    text = read(write_pdf(book(6))).text
    assert "Almanac" not in text
    assert "Tides" not in text
    assert "- 3 -" not in text
    assert text.count("engineer Maud Orre") == 6
    assert all(f"w{number} says" in text for number in range(1, 7))


@pytest.mark.parametrize("header", ["Tides 12 / 99", "Page 12 of 99", "12 Tides", "Tides 12", "12"])
def test_numbers_of_running_headers(header: str) -> None:
    pages = []
    for number in range(5):
        page = prose(Page().text(72, 800, header.replace("12", str(number + 20))))
        pages.append(page.text(72, 640, f"Ships called: {'I' * (number + 1)}"))
    text = read(write_pdf(pages)).text
    assert text.split() == [
        word
        for number in range(5)
        for word in [*" ".join(PROSE).split(), "Ships", "called:", "I" * (number + 1)]
    ]


def test_numbers_of_tables_are_no_page_numbers() -> None:
    pages = [
        table(prose(Page()), 600, [["Hour", "Height"], [f"{n}.0", f"{n}.5"], [f"{n}.1", f"{n}.6"]])
        for n in range(5)
    ]
    text = read(write_pdf(pages)).text
    assert all(f"{n}.1 | {n}.6" in text for n in range(5))


def test_running_headers_that_name_the_section() -> None:
    names = "Tides Winds Ships Piers Lamps Ropes Anchors".split()
    pages = [prose(Page().text(72, 800, f"Of {name}")) for name in names]
    for page, name in zip(pages, names, strict=True):
        page.text(72, 640, f"This page is about {name}.")
    text = read(write_pdf(pages)).text
    assert all(f"about {name}." in text and f"Of {name}" not in text for name in names)


def test_titles_of_slides_are_no_running_headers() -> None:
    names = "Tides Winds Ships Piers Lamps Ropes Anchors".split()
    pages = [prose(Page().text(72, 800, f"Of {name}", 18)) for name in names]
    assert blocks(read(write_pdf(pages)), "heading") == [f"Of {name}" for name in names]


def test_lines_alone_are_not_joined_over_pages() -> None:
    pages = [Page().text(72, 700, f"Picture {name}") for name in ("A", "B", "C")]
    assert blocks(read(write_pdf(pages))) == ["Picture A", "Picture B", "Picture C"]


def test_what_pages_share_is_kept_where_it_is_all_they_have() -> None:
    pages = [Page().text(72, 400, "The same words on each page.") for _ in range(5)]
    assert read(write_pdf(pages)).text.count("The same words") == 5


def test_a_paragraph_over_the_border_of_a_page() -> None:
    first = Page().text(72, 800, "The Kestle Almanac").lines(72, 700, PROSE[:3])
    first.lines(72, 100, ["1 A note on the first page, in small print."], 7)
    second = Page().text(72, 800, "The Kestle Almanac").lines(72, 700, PROSE[3:])
    second.text(72, 640, "A new paragraph.")
    third = prose(Page().text(72, 800, "The Kestle Almanac"))
    document = read(write_pdf([first, second, third]))
    assert [(block[2], block[3]) for block in shape(document)] == [
        ("pp. 1-2", " ".join(PROSE)),
        ("p. 1", "1 A note on the first page, in small print."),
        ("p. 2", "A new paragraph."),
        ("p. 3", " ".join(PROSE)),
    ]
    assert [block.opens for block in document.blocks] == [True, False, True, True]


def test_a_paragraph_over_the_end_of_a_column_with_a_footnote() -> None:
    page = Page().lines(72, 700, [line[:40].rsplit(" ", 1)[0] for line in PROSE[:3]])
    page.lines(72, 100, ["1 A note at the end of the column."], 7)
    page.lines(320, 700, [line[:40].rsplit(" ", 1)[0] for line in PROSE[3:]])
    joined = " ".join(line[:40].rsplit(" ", 1)[0] for line in PROSE)
    assert blocks(read(write_pdf([page]))) == [joined, "1 A note at the end of the column."]


def test_page_labels() -> None:
    labels = "<< /Nums [0 << /S /r >> 2 << /S /D >>] >>"
    first = Page().lines(72, 700, PROSE[:3])
    second = Page().lines(72, 700, PROSE[3:])
    places = [
        block.place
        for block in read(write_pdf([first, second, prose(Page())], labels=labels)).blocks
    ]
    assert places == ["pp. i-ii (1-2)", "p. 1 (3)"]


def test_turned_text_does_not_stand_in_the_way() -> None:
    page = Page().lines(72, 700, PROSE[:2])
    page.text(560, 300, "Draft of May", turn="0 1 -1 0")
    page.lines(72, 700 - 24, PROSE[2:])
    assert blocks(read(write_pdf([page])))[-1] == "Draft of May"


def test_filled_fields_of_a_form_are_text() -> None:
    page = Page().text(72, 520, "Name of the ship:")
    assert "Grey Heron" in read(write_pdf([page], annotation="Grey Heron")).text
