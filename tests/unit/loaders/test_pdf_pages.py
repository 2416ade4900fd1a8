"""What belongs to the pages of a PDF file and what to its text."""

from collections.abc import Callable

import pytest

from tests.unit.loaders.pdf_reading import PROSE, blocks, book, prose, read, shape, table
from tests.unit.loaders.pdf_writer import Page


def test_running_headers_are_kept_once_and_page_numbers_left_out() -> None:
    text = read(*book(6)).text
    assert [text.count(words) for words in ("Almanac", "The Tides", "- 3 -")] == [1, 1, 0]
    assert text.startswith("The Kestle Almanac\n")
    assert text.count("engineer Maud Orre") == 6
    assert all(f"w{number} says" in text for number in range(1, 7))


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        ("Tides 12 / 99", ["Tides"]),
        ("Page 12 of 99", []),
        ("12 Tides", ["Tides"]),
        ("Tides 12", ["Tides"]),
        ("Tides               32", ["Tides"]),
        ("Tides from 1871               4711", ["Tides from 1871 4711"]),
        ("Bill 32", [f"Bill {number}" for number in range(21, 26)]),
        ("12", []),
        ("32", []),
    ],
)
def test_numbers_of_running_headers(header: str, kept: list[str]) -> None:
    pages = []
    for number in range(1, 6):
        top = header.replace("12", str(number)).replace("32", str(number + 20))
        page = prose(Page().text(72, 800, top))
        pages.append(page.text(72, 640, f"Ships called: {'I' * number}"))
    found = [block for block in blocks(read(*pages)) if "Maud" not in block]
    assert [block for block in found if not block.startswith("Ships")] == kept
    assert len(found) == 5 + len(kept)


def test_a_running_header_that_stands_in_the_text_is_not_kept() -> None:
    pages = [prose(Page().text(72, 800, "Of the harbour")) for _ in range(4)]
    pages[2].text(72, 720, "Of the harbour", 14)
    assert [kind for kind, _, _, text in shape(read(*pages)) if "Of the" in text] == ["heading"]


FORM = ["Sails and Nets", "Boat: Pike", "Berth: 12", "Month: M", "Rent: 80", "Power: N", "Sum: 95"]


@pytest.mark.parametrize("pages", [2, 5])
@pytest.mark.parametrize(("top", "step"), [(800, 12), (800, 20), (600, 14), (116, 14)])
def test_lines_of_a_form_are_no_running_headers(pages: int, top: float, step: float) -> None:
    made, wanted = [], []
    for number in range(pages):
        values = {"M": "June July May April March".split()[number], "N": str(number)}
        lines = [f"{line[:-1]}{values[line[-1]]}" if line[-1] in values else line for line in FORM]
        page = Page()
        for place, line in enumerate(lines):
            page.text(72, top - step * place, line)
        made.append(page)
        wanted += lines
    assert read(*made).text.split() == " ".join(wanted).split()


def test_a_sum_that_stands_apart_in_the_middle_of_a_page_is_kept() -> None:
    pages = [prose(Page()).text(72, 400, "Sum to pay: 95 crowns") for _ in range(4)]
    assert read(*pages).text.count("Sum to pay") == 4


def test_headers_and_footers_of_several_lines() -> None:
    pages = []
    for number in range(4):
        page = prose(Page().lines(72, 810, ["Harbour Office", "Mole 3, Kestle"]))
        prose(page, 600).text(72, 500, f"Paragraph {'I' * (number + 1)}.")
        pages.append(page.lines(72, 52, ["Open from nine", "and on Sundays"], 8))
    found = blocks(read(*pages))
    assert found[:2] == ["Harbour Office", "Mole 3, Kestle"]
    assert found[5:7] == ["Open from nine", "and on Sundays"]
    assert len(found) == 4 + 3 * 4


def test_numbers_of_tables_are_no_page_numbers() -> None:
    pages = [
        table(prose(Page()), 600, [["Hour", "Height"], [f"{n}.0", f"{n}.5"], [f"{n}.1", f"{n}.6"]])
        for n in range(5)
    ]
    text = read(*pages).text
    assert all(f"{n}.1 | {n}.6" in text for n in range(5))


@pytest.mark.parametrize("size", [10, 18])
def test_running_headers_that_name_the_section_are_no_headings(size: float) -> None:
    names = "Tides Winds Ships Piers Lamps Ropes Anchors".split()
    pages = [prose(Page().text(72, 800, f"Of {name}", size)) for name in names]
    for page, name in zip(pages, names, strict=True):
        page.text(72, 640, f"This page is about {name}.")
    document = read(*pages)
    assert all(f"about {name}." in document.text for name in names)
    kind = "heading" if size == 18 else "paragraph"
    assert [block for block in blocks(document, kind) if block.startswith("Of")] == [
        f"Of {name}" for name in names
    ]


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
        ("p. 1", "The Kestle Almanac"),
        ("pp. 1-2", " ".join(PROSE)),
        ("p. 1", "1 A note on the first page, in small print."),
        ("p. 2", "A new paragraph."),
        ("p. 3", " ".join(PROSE)),
    ]
    assert [block.opens for block in document.blocks] == [True, False, False, True, True]


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


def test_fields_stand_where_they_are_whatever_their_order() -> None:
    page = Page().text(60, 700, "From:").text(300, 700, "To:")
    page.text(60, 650, "I confirm that").text(230, 650, "has paid.")
    page.text(80, 602, "Has a dog").text(220, 602, "Has a boat")
    page.text(60, 560, "Vegetarian: Yes").text(190, 560, "No")
    fields = [
        (340, 696, "Orre"), (110, 696, "Kestle"), (140, 646, "Tom"), (60, 600, False),
        (200, 600, True), (140, 556, True), (205, 556, False),
    ]  # fmt: skip
    assert read(page, fields=fields).text.split("\n\n") == [
        "From: Kestle To: Orre", "I confirm that Tom has paid.", "[ ] Has a dog [x] Has a boat",
        "Vegetarian: Yes [x] No [ ]",
    ]  # fmt: skip


def test_a_field_stands_behind_its_label() -> None:
    page = Page().lines(72, 600, ["Booking of the hall", "Rates are those of the year."])
    page.text(20, 504, "Boat:").text(72, 400, "Signed by the keeper")
    assert "Boat: Grey Heron\n" in read(page, annotation="Grey Heron").text


# The matrix of text that is turned by some degrees, and where a place of the upright page is then.
TURNED: dict[int, tuple[str, Callable[[float, float], tuple[float, float]]]] = {
    0: ("1 0 0 1", lambda x, y: (x, y)),
    90: ("0 1 -1 0", lambda x, y: (595 - y, x)),
    180: ("-1 0 0 -1", lambda x, y: (595 - x, 842 - y)),
    270: ("0 -1 1 0", lambda x, y: (y, 842 - x)),
}


def turned_page(turn: int, shown: int) -> Page:
    """A page with a heading, text, a table and a note, turned and shown turned."""
    matrix, place = TURNED[turn]
    page = Page(rotate=shown)
    page.text(*place(72, 560), "Of the harbour", 16, "bold", matrix)
    for number, line in enumerate(PROSE):
        page.text(*place(72, 530 - 12 * number), line, turn=matrix)
    for number, row in enumerate([["Pier", "Metres"], ["North", "120"], ["South", "85"]]):
        for column, text in enumerate(row):
            page.text(*place(72 + 110 * column, 400 - 14 * number), text, turn=matrix)
    return page


@pytest.mark.parametrize("shown", [0, 90, 180, 270])
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_turned_page_reads_as_if_it_were_upright(turn: int, shown: int) -> None:
    document = read(turned_page(turn, shown))
    assert document.title == "Of the harbour"
    assert [(block[0], block[3]) for block in shape(document)] == [
        ("heading", "Of the harbour"),
        ("paragraph", " ".join(PROSE)),
        ("header", "Pier | Metres"),
        ("row", "North | 120"),
        ("row", "South | 85"),
    ]


def test_a_running_header_of_a_page_whose_text_is_turned() -> None:
    pages = [turned_page(turn, 0).text(72, 825, "The Kestle Almanac") for turn in (0, 90, 90, 0)]
    assert read(*pages).text.count("Almanac") == 1


def test_turned_lines_beside_the_text_are_in_their_order() -> None:
    page = prose(Page(), 700)
    matrix, place = TURNED[270]
    for number, line in enumerate(
        ["Measured at noon", "by the harbour office", "in the May of 1871"]
    ):
        page.text(*place(300, 40 - 12 * number), line, turn=matrix)
    assert blocks(read(page))[-1].split() == (
        "Measured at noon by the harbour office in the May of 1871".split()
    )
