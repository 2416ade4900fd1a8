"""PDF files that the tests write, and what is read of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError, Problem
from memnet.loaders.document import Block
from memnet.loaders.formats import SourceFile
from memnet.loaders.pdf import load
from memnet.loaders.pdf.lines import clean
from tests.unit.loaders import parsed
from tests.unit.loaders.pdf_reading import PROSE, blocks, prose, read, shape, table
from tests.unit.loaders.pdf_writer import Page, write_pdf


def test_lines_become_paragraphs() -> None:
    below = 700 - 12 * len(PROSE)
    page = prose(prose(Page()), below - 10)
    assert blocks(read(page)) == [" ".join(PROSE)] * 2
    indented = prose(Page()).text(87, below, "Nobody has lived there since.")
    assert blocks(read(indented)) == [" ".join(PROSE), "Nobody has lived there since."]


@pytest.mark.parametrize(
    ("first", "second", "more", "word"),
    [
        ("a light-", "house stands", "The lighthouse", "lighthouse"),
        ("a light-", "house stands", "The light-house", "light-house"),
        ("the compi-", "lation of", "Nothing", "compilation"),
        ("the Anglo-", "Saxon of", "Nothing", "Anglo-Saxon"),
        # codes, paths, addresses
        ("the buoy qt-", "9c of", "Nothing", "qt-9c"),
        ("the buoy 7r-", "east of", "Nothing", "7r-east"),
        ("the buoy LP-", "east of", "Nothing", "LP-east"),
        ("the mail to mole-", "office@kestle.example of", "Nothing", "mole-office@kestle.example"),
        ("the mail to desk@low-", "tide.example of", "Nothing", "desk@low-tide.example"),
        ("the page kestle.example/low-", "tide of", "Nothing", "kestle.example/low-tide"),
        ("the page low-", "tide.example/now of", "Nothing", "low-tide.example/now"),
        ("the option --dry-", "run of", "The --dry-run", "--dry-run"),
        # compounds
        ("the out-of-", "date map of", "Nothing", "out-of-date"),
        ("the out-", "of-date map of", "Nothing", "out-of-date"),
        ("the self-", "taught pilot of", "Nothing", "self-taught"),
        ("the selfish-", "ness of", "Nothing", "selfishness"),
        ("the self-", "ish man of", "Nothing", "selfish"),
        ("the non-", "stop ferry of", "Nothing", "non-stop"),
        ("the non-", "sense of", "Nothing", "nonsense"),
        ("the thirty-", "four men of", "Nothing", "thirty-four"),
        ("the x-", "ray of", "Nothing", "x-ray"),
        ("the check-", "in of", "Nothing", "check-in"),
        ("the co-", "pilot of", "The other pilot and a third pilot", "co-pilot"),
        ("the re-", "paired boats of", "Nothing", "repaired"),
        ("the pre-", "and post-war maps of", "Nothing", "pre-"),
        # divided words
        ("the compi-", "lation12 of", "Nothing", "compilation12"),
        ("the compi-", "lation.2 The map", "Nothing", "compilation.2"),
        ("the har-", "bour/town map of", "Nothing", "harbour/town"),
        ("the ex-", "change of", "The change and the other change", "exchange"),
        ("the COMPI-", "LATION of", "Nothing", "COMPILATION"),
        ("the half-for-", "gotten mole of", "The forgotten pier", "half-forgotten"),
        ("the Hafen-", "meister of", "Nothing", "Hafenmeister"),
    ],
)
def test_hyphens_at_the_ends_of_lines(first: str, second: str, more: str, word: str) -> None:
    page = Page().lines(72, 700, [f"On the rock at the end of the mole {first}", f"{second} them."])
    page.text(72, 600, f"{more} was built in 1871.")
    assert word in read(page).text.split("\n\n", maxsplit=1)[0].split()


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["The tide table of the har-", "bour"], "The tide table of the harbour"),
        (["The tide gauge qt-", "9c"], "The tide gauge qt-9c"),
    ],
)
def test_hyphens_in_titles_and_cells(lines: list[str], text: str) -> None:
    page = prose(Page().lines(72, 760, lines, 18))
    page.lines(72, 500, lines).text(300, 500, "1871")
    page.text(72, 470, "The second").text(300, 470, "1872")
    document = read(page)
    assert document.title == text
    assert f"{text} | 1871" in blocks(document)


@pytest.mark.parametrize(
    "address",
    [
        ["Harbour Office", "Mole 3", "Kestle"],
        ["Harbour Office", "Pier of the Northern Mole 3", "Kestle", "Norland"],
    ],
)
def test_lines_that_end_early_keep_their_line_break(address: list[str]) -> None:
    page = prose(Page()).lines(72, 500, address)
    assert blocks(read(page))[1] == "\n".join(address)


def test_headings_by_the_outline() -> None:
    pages = [
        prose(Page().text(72, 740, "1. The town")),
        prose(Page().text(72, 740, "1.1 Its harbour"), 720),
    ]
    outline = [("The town", 0, 0), ("1.1  Its harbour", 1, 1), ("Not in the text", 0, 1)]
    found = shape(read(*pages, outline=outline))
    assert [block[:4] for block in found if block[0] == "heading"] == [
        ("heading", 1, "p. 1", "1. The town"),
        ("heading", 2, "p. 2", "1.1 Its harbour"),
    ]


def test_headings_by_their_fonts() -> None:
    page = Page().text(72, 780, "Kestle", 20, "bold").text(72, 740, "The harbour", 14, "bold")
    prose(page).text(72, 620, "The mole", 10, "bold")
    prose(page, 600).text(72, 500, "The market", 14, "bold")
    found = shape(read(prose(page, 480)))
    assert [(level, text) for kind, level, _, text in found if kind == "heading"] == [
        (1, "Kestle"), (2, "The harbour"), (3, "The mole"), (2, "The market"),
    ]  # fmt: skip


def test_a_bold_word_is_no_heading() -> None:
    page = prose(Page()).text(72, 600, "Note:", 10, "bold").text(110, 600, "closed on Mondays.")
    assert not blocks(read(page), "heading")


def test_list_items() -> None:
    item = ["\u2022 Boats go to Orre, as long as the weather and the tide", "  allow it."]
    page = prose(Page()).lines(84, 620, item)
    page.lines(100, 596, ["\u2013 in the morning", "\u2013 in the evening"])
    page.text(84, 572, "\u2022 Ferries go to the mainland.")
    page.lines(72, 548, ["1. Buy a ticket.", "2. Go on board."])
    found = shape(read(page))[1:]
    assert [(level, text) for kind, level, _, text in found if kind == "item"] == [
        (0, "- Boats go to Orre, as long as the weather and the tide allow it."),
        (1, "- in the morning"),
        (1, "- in the evening"),
        (0, "- Ferries go to the mainland."),
        (0, "1. Buy a ticket."),
        (0, "2. Go on board."),
    ]


def test_labelled_lines_of_a_form_stay_lines() -> None:
    form = ["Riding school of Osterhof", "Horse: Sultan, bay gelding", "Fee: 75 euros"]
    found = blocks(read(prose(Page().lines(72, 700, form), 600)), "paragraph")
    assert found == ["\n".join(form), " ".join(PROSE)]


def test_code_keeps_its_lines_and_indents() -> None:
    page = prose(Page())
    code = ["def tide(hour):", "    if hour > 12:", "        return 3", "", "    return  1"]
    for number, line in enumerate(code):
        text = line.lstrip()
        page.text(72 + 6 * (len(line) - len(text)), 600 - 12 * number, text, 10, "code")
    assert blocks(read(page), "code") == ["\n".join(code)]


def test_rows_of_a_table() -> None:
    rows = [
        ["Ship", "Built in", "Length"],
        ["Grey Heron", "1902", "31 m"],
        ["Petrel", "1911", "28 m"],
    ]
    document = read(prose(table(prose(Page()), 600, rows), 500))
    assert blocks(document, "header", "row") == [" | ".join(row) for row in rows]
    row = next(
        block for block in document.blocks if "Petrel" in document.text[block.start : block.end]
    )
    assert [(cell.header, document.text[cell.start : cell.end]) for cell in row.cells] == list(
        zip(rows[0], rows[2], strict=True)
    )


def test_a_header_above_numbers() -> None:
    rows = [["Town", "Guests", "Rooms"], ["Kestle", "2,104", "31"], ["Orre", "98", "5"]]
    page = table(Page(), 600, rows, head="body")
    assert blocks(read(page), "header") == ["Town | Guests | Rooms"]


def test_cells_of_several_lines() -> None:
    page = prose(Page())
    ships = {"Heron": "carries coal to the/islands", "Petrel": "carries mail and a few/guests"}
    for number, (name, text) in enumerate(ships.items()):
        y, lines = 600 - 30 * number, text.split("/")
        page.text(72, y, name).lines(180, y, lines).text(400, y, f"{number + 1} m")
    assert blocks(read(page), "row") == [
        "Heron | carries coal to the islands | 1 m",
        "Petrel | carries mail and a few guests | 2 m",
    ]


@pytest.mark.parametrize("longer", [0, 20])
def test_columns_of_text_are_no_table(longer: int) -> None:
    left = [f"left {number} of the first column" for number in range(12 + longer)]
    right = [f"right {number} of the other column" for number in range(12)]
    page = Page()
    for number, text in enumerate(left):
        page.text(72, 750 - 12 * number, text)
        if number < len(right):
            page.text(312, 750 - 12 * number, right[number])
    assert read(page).text.split() == " ".join(left + right).split()


def test_a_table_among_lines_of_the_whole_width_is_no_columns_of_text() -> None:
    page = Page()
    for number in range(12):
        page.text(72, 750 - 12 * number, f"the harbour rule of number {number}")
        page.text(312, 750 - 12 * number, f"is kept by the harbour watch {number}")
    for number in range(30):
        page.text(72, 590 - 12 * number, f"Line {number} " + "goes over the whole page " * 3)
    assert len(blocks(read(page), "row")) == 12


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("The Kestle Almanac", "The Kestle Almanac"),
        ("Microsoft Word - almanac.doc", "Tides of Kestle"),
        ("untitled", "Tides of Kestle"),
        ("harbour", "Tides of Kestle"),
        ("almanac.indd", "Tides of Kestle"),
        ("", "Tides of Kestle"),
        ("Wordsworth", "Wordsworth"),
    ],
)
def test_title(given: str, title: str) -> None:
    page = prose(Page().text(200, 780, "Tides of Kestle", 18))
    assert read(page, info={"Title": given}).title == title


def test_without_any_title_it_is_the_name_of_the_file() -> None:
    page = Page().text(72, 700, "42")
    assert read(page, name="a/annual-report_2024.pdf").title == "annual report 2024"


def test_metadata() -> None:
    info = {
        "Author": "Maud Orre",
        "Subject": "Tides",
        "Keywords": "sea, moon",
        "CreationDate": "D:20240301120000+01'00'",
    }
    document = read(prose(Page()), Page(), info=info)
    assert document.metadata == {
        "author": "Maud Orre",
        "subject": "Tides",
        "keywords": "sea, moon",
        "date": "2024-03-01",
        "pages": 2,
    }
    document = read(prose(Page()), info={"CreationDate": "D:20240231"})
    assert document.metadata == {"pages": 1}


_SECRET = "(" + 32 * "x" + ")"
_PASSWORD = (
    "/ID [(0123456789abcdef) (0123456789abcdef)]"
    f" /Encrypt << /Filter /Standard /V 1 /R 2 /O {_SECRET} /U {_SECRET} /P -4 >>"
)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty file"),
        (b"PK\x03\x04 a zip archive", "not a complete PDF"),
        (b"%PDF-1.7\n%nothing follows", "not a complete PDF"),
        (write_pdf([prose(Page())], trailer=_PASSWORD), "password"),
        (write_pdf([Page().image(), Page().image(), Page()]), "3 pages, 2 of them images"),
        (write_pdf([prose(Page())]), "more than 100 characters"),
    ],
)
def test_what_can_not_be_read_is_refused(without_ocr: None, data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as raised:
        list(load(SourceFile("harbour.pdf", data, max_characters=100)))
    assert "\n" not in str(raised.value)
    assert "harbour.pdf" not in str(raised.value)


def test_a_partly_scanned_file_is_read(without_ocr: None) -> None:
    data = write_pdf([Page().image(), prose(Page()), Page()])
    problem, *found = parsed.read("harbour.pdf", data)
    assert isinstance(problem, Problem)
    assert problem.what.startswith("1 page of 3 are images without text")
    assert "memnet-qa[ocr]" in problem.what
    assert [block.place for block in parsed.only(found).blocks] == ["p. 2"]


def test_an_outline_in_a_circle() -> None:
    outline = [("Town", 0, 0), ("Sea", 0, 0)]
    data = write_pdf([prose(Page().text(72, 740, "Town", 14))], outline=outline)
    circle = parsed.read("a.pdf", data.replace(b"/Next", b"/First 9 0 R /Next"))
    assert blocks(parsed.only(circle), "heading") == ["Town"]


def test_damaged_numbers_do_no_harm() -> None:
    page = prose(Page()).text(72, 600, "piled upon each other", turn="0 0 0 0")
    page.text(72, 580, "far away from all", 1e38).text(
        72, 560, "turned", turn="1e38 1e38 -1e38 1e38"
    )
    page.text(10**30, 540, "a code of lines", 10, "code").text(10**30, 520, "as far as can be")
    assert " ".join(PROSE) in blocks(read(page))


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("Poincar\u00b4e", "Poincar\u00e9"),
        ("Fran\u00b8cois", "Fran\u00e7ois"),
        ("V\u00b4\u0131t", "V\u00edt"),
        ("\u00a8Osterreich", "\u00d6sterreich"),
        ("it\u00b4s", "it\u00b4s"),
        ("/\u02dcuser", "/\u02dcuser"),
        ("modi\x1ced o\x1eer", "modified offier"),
        ("\uf0b7 a bullet", "\u2022 a bullet"),
        ("\x88 a bullet", "\u2022 a bullet"),
        ("e\ufb03cient \ufb01nd", "efficient find"),
        ("soft\u00adhyphen\ufffe", "softhyphen"),
        ("a\u00a0b\x00", "a b"),
        (
            "\u05e9\u05dc\u05d5\u05dd \u6771\u4eac \U0001f334",
            "\u05e9\u05dc\u05d5\u05dd \u6771\u4eac \U0001f334",
        ),
    ],
)
def test_characters(given: str, made: str) -> None:
    assert clean(given) == made


words = st.lists(st.text("abcdefghijklmnoprstu", min_size=2, max_size=9), min_size=1, max_size=120)


@given(st.lists(words, min_size=1, max_size=4), st.integers(min_value=30, max_value=80))
def test_no_word_is_lost_or_moved(texts: list[list[str]], width: int) -> None:
    pages = []
    # No line stands on two pages: it would be a running header.
    texts = [[f"{word}{'vwxy'[page]}" for word in found] for page, found in enumerate(texts)]
    for page_words in texts:
        lines, line = [], ""
        for word in page_words:
            if len(line) + len(word) > width:
                lines.append(line)
                line = ""
            line = f"{line} {word}".strip()
        pages.append(Page().lines(72, 760, [*lines, line]))
    document = read(*pages)
    assert document.text.split() == [word for page_words in texts for word in page_words]
    for number, page_words in enumerate(texts, 1):
        on_page = Counter(
            word for block in document.blocks if _covers(block, number)
            for word in document.text[block.start : block.end].split()
        )  # fmt: skip
        assert not Counter(page_words) - on_page


def _covers(block: Block, page: int) -> bool:
    numbers = [int(number) for number in block.place.split()[1].split("-")]
    return numbers[0] <= page <= numbers[-1]
