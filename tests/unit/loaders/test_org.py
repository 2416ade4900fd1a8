"""Org files: what is read of them, and what is left out."""

import pytest
from hypothesis import given

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.markup.org import load
from tests.unit.loaders.markup import blocks, links, read, seconds, soup, survives


def document(text: str) -> ParsedDocument:
    return read(load, text, "some-notes.org")


def shown(text: str) -> list[tuple[str, str]]:
    return blocks(document(f"Intro.\n\n{text}"))[1:]


def texts(text: str) -> list[str]:
    return [part for _, part in shown(text)]


def test_keywords_and_properties_are_metadata() -> None:
    notes = document(
        ':PROPERTIES:\n:ID: a-b\n:ROAM_ALIASES: "Big Boat" boat\n:AREA: north\n:END:\n'
        "#+title: Ferries\n"
        "#+filetags: :x:y:\n#+author: Ann\n\n* TODO [#A] First *part* :work:\n"
        "SCHEDULED: <2024-03-01 Fri>\n:LOGBOOK:\n- gone\n:END:\ntext"
    )
    assert (notes.title, notes.names) == ("Ferries", ("a-b", "Big Boat", "boat"))
    assert notes.metadata == {"area": "north", "author": "Ann", "tags": ["x", "y", "work"]}
    assert blocks(notes) == [
        ("heading", "TODO First part"), ("paragraph", "SCHEDULED: <2024-03-01 "
        "Fri>"), ("paragraph", "text"),
    ]  # fmt: skip


def test_a_heading_that_stands_alone_at_the_top_is_the_title() -> None:
    assert document("* Ferries\n** North\na").title == "Ferries"
    two = document("* North\na\n* South\nb")
    assert (two.title, blocks(two)[0]) == ("some notes", ("heading", "North"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("*bold* /it *x*/ _u_ +s+ =a *b*= ~c~ a/b/c 2*3*4", "bold it x u s a *b* c a/b/c 2*3*4"),
        ("[[https://x.org][Site]] [[file:a-b.org]] [[*Own part]]", "Site a-b Own part"),
        ("[[id:abc][Node]] [[file:a.png]] <<target>>end", "Node end"),
        ("note[fn:1] in[fn:: here *now*] line \\alpha", "note in (here *now*) line \\alpha"),
        ("{{{kbd(C-c C-c)}}} @@html:<b>@@x", "C-c C-c x"),
        ("one\\\\\ntwo\nthree", "one\ntwo three"),
    ],
)
def test_markup_within_a_text(source: str, text: str) -> None:
    assert texts(source) == [text]


def test_links_are_names() -> None:
    notes = document(
        "[[file:sub/plan.org::*Two words][a]] [[id:x-1][b]] [[#own-part][c]] [[https://x][d]]"
    )
    assert links(notes) == ["plan", "Two words", "x-1", "own part"]


def test_items_are_blocks() -> None:
    assert shown("- one\n  more\n  + two\n    #+begin_src sh\n      ls\n    #+end_src\n- [ ] "
    "open\n- term :: text\n"
                 "1. num\n2) num2\n\nend") == [
        ("item", "- one more"), ("item", "- two"), ("code", "ls"), ("item", "- [ ] open"),
        ("item", "- term: text"), ("item", "1. num"), ("item", "2) num2"), ("paragraph", "end"),
    ]  # fmt: skip


def test_blocks() -> None:
    assert shown("#+begin_quote\nSaid.\n\n- it\n#+end_quote\n#+begin_note\nBody.\n#+end_note") == [
        ("quote", "Said."), ("item", "- it"), ("paragraph", "Note: Body."),
    ]  # fmt: skip
    assert shown("#+BEGIN_EXAMPLE\n,* a\n  b\n#+END_EXAMPLE\n: c\n:   d") == [
        ("code", "* a\n  b"), ("code", "c\n  d"),
    ]  # fmt: skip
    assert texts("#+begin_export html\n<b>\n#+end_export\n# gone\n-----\n#+begin_src\nno end") == [
        "no end"
    ]


def test_tables_are_rows_under_their_headers() -> None:
    notes = document(
        "Intro.\n\n| <l> | |\n| A | B |\n|---+---|\n| 1 | =x= |\n|---+---|\n#+TBLFM: $1\nend"
    )
    assert blocks(notes)[1:] == [("header", "A | B"), ("row", "1 | x"), ("paragraph", "end")]
    assert [cell.header for cell in notes.blocks[2].cells] == ["A", "B"]
    assert shown("| 1 | 2 |\n| 3 | 4 |") == [("row", "1 | 2"), ("row", "3 | 4")]


def test_a_file_without_text_is_refused() -> None:
    for empty in ("", "# comment", "#+filetags: :a:", "-----"):
        with pytest.raises(InputError, match="empty"):
            document(empty)


@given(
    soup(
        "* ** - + 1. | |-+-| : :a: :END: :PROPERTIES: #+a: #+begin_src #+end_src #+begin_quote "
        "#+end_quote [[a][b]] [[ ]] *a* /b/ =c= ~ [fn:1] {{{a(b)}}} word :: [ ] # \\\\"
    )
)
def test_any_text_is_read(text: str) -> None:
    survives(load, text, "a.org")


@pytest.mark.parametrize(
    "piece",
    ["[[a][", "*a ", "/a", "=a ", ":a:\n", "#+begin_quote\n", "#+begin_src\n", "|a", "- ", "{{{a(",
     "[fn:", "<<<a", "* a\n", "@@a:", "- a\n"],
)  # fmt: skip
def test_reading_takes_linear_time(piece: str) -> None:
    assert seconds(load, piece * (20_000 // len(piece)), "a.org") < 20
