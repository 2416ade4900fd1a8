from itertools import pairwise
from typing import Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.ingest.formats import parse_document
from memnet.ingest.windows import Window, document_windows
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument
from memnet.text.citations import place_of
from memnet.text.english import sentences
from memnet.types import Document

_TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from(" .!?\n\tabAB\"'"), st.characters(codec="utf-8")),
    max_size=400,
)

_BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["heading", "paragraph", "item", "header", "row", "code", "quote"]),
        st.text(alphabet="abc .\n:", min_size=1, max_size=80).filter(str.strip),
        st.integers(1, 3),
        st.booleans(),
    ),
    max_size=15,
)


def windows(text: str, max_characters: int) -> list[tuple[int, int]]:
    """Spans of the windows of a plain text."""
    if not text.strip():
        return []
    document = parse_document(Document(id="a", text=text))
    return [(one.start, one.end) for one in document_windows(document, max_characters)]


def cut(document: ParsedDocument, longest: int, shortest: int = 0) -> list[tuple[str, Window]]:
    return [
        (document.text[one.start : one.end], one)
        for one in document_windows(document, longest, shortest)
    ]


def built(*parts: tuple[BlockKind | Literal["subheading"], str] | str) -> ParsedDocument:
    """A document of blocks, and of pages that begin where their places stand."""
    builder = DocumentBuilder()
    for part in parts:
        if isinstance(part, str):
            builder.open(part)
        else:
            level = ("heading", "subheading").index(part[0]) + 1 if "heading" in part[0] else 0
            builder.add("heading" if level else cast(BlockKind, part[0]), part[1], level=level)
    return builder.build("a", "Guide")


def test_sentences_have_exact_spans() -> None:
    text = "  Dr. Orre sailed. He came back!\n\nÉl nació 東京。 End"
    parts = [text[start:end] for start, end in sentences(text)]
    assert parts[:2] == ["Dr. Orre sailed.", "He came back!"]
    assert parts[-1] == "End"


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("One is here. Two is here. Three is here.", 27,
         ["One is here. Two is here.", "Three is here."]),
        ("word " * 9, 24, ["word word word word word", "word word word word"]),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
    ],
)  # fmt: skip
def test_windows_end_with_sentences_words_or_anywhere(
    text: str, longest: int, expected: list[str]
) -> None:
    assert [text[a:b] for a, b in windows(text, longest)] == expected


def test_sentences_of_a_long_text_have_exact_spans() -> None:
    lines = [f"Line {number} tells of the Orre Light." for number in range(2_000)]
    text = "\n\n".join(lines)
    assert [text[start:end] for start, end in sentences(text)] == lines
    text = " ".join(lines)
    assert [text[start:end] for start, end in sentences(text)] == lines


@given(_TEXTS, st.integers(1, 60))
def test_windows_keep_every_word_in_order(text: str, longest: int) -> None:
    spans = windows(text, longest)
    assert all(0 < end - start <= longest for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    kept = "".join(text[a:b] for a, b in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize("space", [chr(code) for code in range(0x3001) if chr(code).isspace()])
def test_any_white_space_may_stand_between_sentences(space: str) -> None:
    # The segmenter takes what is beside an initial's period to be a byte wide.
    text = f"Seen by A{space}.{space}B. Orre was lit.{space}{space}It rained."
    spans = sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert text[spans[-1][0] :] == "It rained."


def test_a_list_stays_with_its_introduction() -> None:
    document = built(
        ("paragraph", "Words that fill the first window nearly to its end."),
        ("paragraph", "Pack these:"),
        ("item", "- a lamp"),
        ("item", "- a rope"),
    )
    texts = [text for text, _ in cut(document, 60)]
    assert texts == [
        "Words that fill the first window nearly to its end.",
        "Pack these:\n\n- a lamp\n- a rope",
    ]


def test_later_parts_of_a_long_list_know_its_introduction() -> None:
    items: list[tuple[BlockKind, str]] = [("item", f"- thing number {n}") for n in range(9)]
    first, *later = cut(built(("paragraph", "It is so. Pack these:"), *items), 60)
    assert first[0].startswith("It is so. Pack these:\n\n- thing number 0")
    assert first[1].context == ""
    assert len(later) > 2
    assert {window.context for _, window in later} == {"Pack these:"}


def test_later_rows_of_a_table_know_its_header() -> None:
    builder = DocumentBuilder()
    builder.add_row([("", "Plan", ""), ("", "Price", "")], header=True)
    for number in range(9):
        builder.add_row([("Plan", f"Number {number}", ""), ("Price", f"${number}", "")])
    builder.add("paragraph", "After it.")
    parts = cut(builder.build("a", "Plans"), 50)
    assert parts[0][0].startswith("Plan | Price\nNumber 0 | $0")
    assert {window.context for _, window in parts[1:-1]} == {"Plan | Price"}
    assert parts[-1][0].endswith("After it.")


def test_rows_with_places_of_their_own_are_windows_of_their_own() -> None:
    builder = DocumentBuilder()
    for number in (2, 3):
        builder.add_row(
            [("Size", f"{number} TB", f"Sheet1!A{number}"), ("Price", "$1", f"Sheet1!B{number}")],
            labelled=True,
            place=f"Sheet1!A{number}:B{number}",
        )
    (first, window), (second, _) = cut(builder.build("a", "Plans"), 500)
    assert (first, second) == ("Size: 2 TB; Price: $1", "Size: 3 TB; Price: $1")
    assert place_of(window.places, 0, len(first)) == "Sheet1!A2:B2"
    assert place_of(window.places, first.index("$"), len(first)) == "Sheet1!B2"


def test_a_row_that_is_cut_keeps_its_name_and_its_places() -> None:
    builder = DocumentBuilder()
    said = "It was lifted in spring. " * 8
    cells = [("Boat", "Ulva", "S!A2"), ("Notes", said, "S!B2"), ("Mooring", "K7", "S!C2")]
    cells += [(f"Week {n}", f"{n} cm", f"S!{n}2") for n in range(10)]
    builder.add_row(cells, labelled=True, place="S!A2:N2")
    document = builder.build("a", "Boats")
    parts = cut(document, 120)
    assert len(parts) > 3
    assert parts[0][0].startswith("Boat: Ulva; Notes: It was lifted in spring.")
    assert {window.context for _, window in parts[1:]} == {"Boat: Ulva"}
    for text, window in parts:
        offsets = [offset for offset, _ in window.places]
        assert offsets[0] == 0
        assert offsets == sorted(set(offsets))
        assert offsets[-1] < len(text)
    [(text, window)] = [part for part in parts if "Mooring: K7" in part[0]]
    start = text.index("K7")
    assert place_of(window.places, start, start + 2) == "S!C2"
    assert {text.partition(":")[0].strip("; ") for text, _ in parts[4:]} <= {
        f"Week {n}" for n in range(10)
    } | {"Mooring", "It was lifted in spring."}


def test_code_stays_with_the_paragraph_before_it() -> None:
    document = built(
        ("paragraph", "A paragraph that is long enough to fill most of it."),
        ("paragraph", "Run this"),
        ("code", "make test"),
    )
    assert [text for text, _ in cut(document, 60)][-1] == "Run this\n\nmake test"


def test_long_code_is_cut_at_the_ends_of_lines() -> None:
    lines = [f"call({number})  # once. Then again" for number in range(20)]
    parts = cut(built(("code", "\n".join(lines))), 100)
    assert [line for text, _ in parts for line in text.split("\n")] == lines


def test_windows_do_not_reach_across_headings_and_pages() -> None:
    document = built(
        "p. 1", ("heading", "Keys"), ("paragraph", "Ctrl."), ("subheading", "More"),
        ("paragraph", "Alt."), "p. 2", ("paragraph", "Shift."), ("heading", "Mice"),
        ("paragraph", "Left."),
    )  # fmt: skip
    parts = cut(document, 500)
    assert [(text, one.headings, one.places) for text, one in parts] == [
        ("Ctrl.", ("Keys",), ((0, "p. 1"),)),
        ("Alt.", ("Keys", "More"), ((0, "p. 1"),)),
        ("Shift.", ("Keys", "More"), ((0, "p. 2"),)),
        ("Left.", ("Mice",), ((0, "p. 2"),)),
    ]


@pytest.mark.parametrize("numbered", [False, True])
def test_contents_are_a_window_of_their_own(numbered: bool) -> None:
    names = ["Hiring a boat", "Opening hours", "The key", "Lost things"]
    entries = [
        f"{n}. {name} ..... {n + 2}" if numbered else name for n, name in enumerate(names, 1)
    ]
    document = built(
        ("heading", "Contents"),
        *(("item", one) for one in entries),
        *(
            part
            for name in names
            for part in (("heading", name), ("paragraph", f"{name} is said here."))
        ),
    )
    found = [text for text, _ in cut(document, 1000, 500)]
    assert found[0].splitlines() == entries
    assert len(found) == 2
    assert all(f"{name} is said here." in found[1] for name in names)


def test_a_list_that_only_names_some_headings_is_joined() -> None:
    document = built(
        ("heading", "Bring"),
        *(("item", one) for one in ("Boots", "A rope", "The key", "Soap", "Tea", "A lamp")),
        ("heading", "Boots"), ("paragraph", "They are dried below."),
        ("heading", "The key"), ("paragraph", "It hangs above."),
    )  # fmt: skip
    assert len(cut(document, 1000, 500)) == 1


def test_a_heading_with_nothing_below_it_is_kept() -> None:
    document = built(("heading", "Is it free? Yes."), ("heading", "Who made it? Ann."))
    assert [text for text, _ in cut(document, 500)] == ["Is it free? Yes.", "Who made it? Ann."]


def test_the_place_of_what_has_none_is_its_title_and_headings() -> None:
    parts = cut(built(("paragraph", "Top."), ("heading", "Keys"), ("paragraph", "Ctrl.")), 500)
    assert [one.places for _, one in parts] == [((0, "Guide"),), ((0, "Guide > Keys"),)]


@pytest.mark.parametrize(
    ("first", "last", "joined"),
    [
        ("p. 8", "p. 9", "pp. 8-9"),
        ("pp. 8-9", "p. 10", "pp. 8-10"),
        ("Plans!A2", "Plans!D2", "Plans!A2:D2"),
        ("Plans!A2:D2", "Plans!A3:D3", "Plans!A2:D3"),
        ("line 3", "line 9", "line 3"),
        ("2024-03-01 Ann", "2024-03-02 Bo", "2024-03-01 Ann to 2024-03-02 Bo"),
    ],
)
def test_places_of_a_span_are_joined(first: str, last: str, joined: str) -> None:
    places = [(0, first), (10, last)]
    assert place_of(places, 0, 20) == joined
    assert place_of(places, 0, 10) == first
    assert place_of(places, 10, 20) == last
    assert place_of([], 0, 20) is None


@given(_BLOCKS, st.integers(5, 120), st.integers(0, 120))
def test_windows_hold_every_block_but_headings_once(
    blocks: list[tuple[BlockKind, str, int, bool]], longest: int, shortest: int
) -> None:
    builder = DocumentBuilder()
    for kind, text, level, opens in blocks:
        if opens:
            builder.open()
        builder.add(kind, text, level=level)
    document = builder.build("a", "")
    spans = [(one.start, one.end) for one in document_windows(document, longest, shortest)]
    assert all(0 < end - start <= longest for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {at for start, end in spans for at in range(start, end)}
    for block in document.blocks:
        inside = {at for at in range(block.start, block.end) if not document.text[at].isspace()}
        assert inside <= covered or block.kind == "heading"
        touching = [span for span in spans if span[0] < block.end and span[1] > block.start]
        if block.opens:
            assert all(start >= block.start for start, _ in touching)
        if block.kind != "heading" and block.end - block.start <= longest:
            assert len(touching) == 1


def test_a_section_that_goes_on_does_not_take_its_heading_along() -> None:
    document = built(
        "p. 1", ("heading", "Keys"), ("subheading", "Left"), ("paragraph", "Ctrl."), "p. 2",
        ("paragraph", "Shift."), ("subheading", "Right"), ("paragraph", "Alt."),
    )  # fmt: skip
    parts = cut(document, 500, 200)
    assert [(text, one.places, one.headings) for text, one in parts] == [
        ("Ctrl.", ((0, "p. 1"),), ("Keys", "Left")),
        ("Shift.\n\nRight\n\nAlt.", ((0, "p. 2"),), ("Keys",)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Das Fest ist am 14. September im Hof.|Wir essen im 2. Stock.|Das 3. Lied war schön.",
        "Die Kurse kosten 80 Euro zzgl. Material.|Anmeldung bei Ida bzw. Bo, d. h. im Büro.",
        "The mill acc. to Bo is on the S.E. Lane.|The Mk. IV press weighs approx. 3 t.",
        "The keys are in room 14.|May I have them?|I am 4.|Mix the sand in a vol.",
    ],
)
def test_a_full_stop_within_a_sentence_does_not_end_it(text: str) -> None:
    parts = text.split("|")
    joined = " ".join(parts)
    assert [joined[start:end] for start, end in sentences(joined)] == parts
