"""AsciiDoc: what is read of it, and what is left out."""

import pytest
from hypothesis import given

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.markup.asciidoc import load
from tests.unit.loaders.markup import blocks, links, read, seconds, soup, survives


def document(text: str) -> ParsedDocument:
    return read(load, text, "some-page.adoc")


def shown(text: str) -> list[tuple[str, str]]:
    return blocks(document(f"Intro.\n\n{text}"))[1:]


def texts(text: str) -> list[str]:
    return [part for _, part in shown(text)]


def test_the_header_is_title_and_metadata() -> None:
    page = document(
        "= The Ferries\nAnn Author <ann@x.org>\nv1.0, 2024-03-01\n:keywords: a, b\n:boat: Swan\n\n"
        "The {boat} sails.\n\n== North\n\na\n\n=== Deep\n\nb"
    )
    assert page.title == "The Ferries"
    assert page.metadata == {"author": "Ann Author", "date": "2024-03-01", "keywords": "a, b"}
    assert blocks(page)[:2] == [("paragraph", "The Swan sails."), ("heading", "North")]
    assert [block.level for block in page.blocks if block.kind == "heading"] == [2, 3]


def test_titles_of_two_lines() -> None:
    page = document("git-log(1)\n==========\n\nNAME\n----\ngit-log - Show\n\n----\ncode\n----\n")
    assert page.title == "git-log(1)"
    assert blocks(page) == [("heading", "NAME"), ("paragraph", "git-log - Show"), ("code", "code")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "*bold* _it_ `mono` #hl# **b**old __i__t a_b_c 2*3*4",
            "bold it mono hl bold it a_b_c 2*3*4",
        ),
        ("`*both*` [.role]#x# H~2~O x^2^", "both x H2O x2"),
        ("`+{lit}+` +++<u>+++ pass:[*a*] \\*esc*", "{lit} <u> *a* *esc*"),
        ("https://x.org[Site] https://y.org link:a.html[A^]", "Site https://y.org A"),
        ("<<own-part>> <<own-part,Part>> xref:other.adoc#x[Other]", "own part Part Other"),
        ("kbd:[Ctrl+C] btn:[OK] menu:File[Open > Recent]", "Ctrl+C OK File > Open > Recent"),
        (
            "linkgit:git-log[1] image:a.png[The tall old tower] icon:x[]",
            "git-log(1) The tall old tower",
        ),
        ("term((index)) (((a,b))) text footnote:[A *note*.]", "termindex text (A note.)"),
        ("{nbsp}{unknown} &#169; [[anchor]]end", "{unknown} © end"),
    ],
)
def test_markup_within_a_text(source: str, text: str) -> None:
    assert texts(source) == [text]


def test_links_are_names() -> None:
    page = document(
        "xref:guide/first-steps.adoc#part-one[A] link:x.html[B] <<own-part>> https://x[C]"
    )
    assert links(page) == ["first-steps", "part one", "x", "own part"]
    assert links(document("a\n\ninclude::parts/other.adoc[]")) == ["other"]


def test_items_are_blocks() -> None:
    assert shown("* one\nmore\n** two\n+\n----\ncode\n----\n+\ntied\n* three\n. num\n. "
    "num2\n\nend") == [
        ("item", "- one more"), ("item", "- two"), ("code", "code"), ("paragraph", "tied"),
        ("item", "- three"), ("item", "1. num"), ("item", "2. num2"), ("paragraph", "end"),
    ]  # fmt: skip


def test_terms_stand_with_their_texts() -> None:
    assert texts("one:: First.\ntwo::\n  Second\n  text.\n-a::\n--all::\n\tThird.\n+\nMore.") == [
        "one: First.", "two: Second text.", "-a, --all: Third.\nMore.",
    ]  # fmt: skip


def test_admonitions_quotes_and_comments() -> None:
    assert texts("NOTE: Body.\n\n[WARNING]\n====\nMind.\n\n* "
    "item\n====\n\n.Title\n****\nSide.\n****") == [
        "Note: Body.", "Warning: Mind.", "- item", "Title", "Side.",
    ]  # fmt: skip
    assert shown("____\nSaid.\n____\n\n[quote,Ann]\nAlso said.") == [
        ("quote", "Said."),
        ("quote", "Also said."),
    ]
    assert texts("// gone\n////\ngone\n////\nifdef::x[]\nkept\nendif::[]\n++++\n<b>\n++++") == [
        "kept"
    ]


def test_code_is_kept_as_it_stands() -> None:
    assert shown("[source,ruby]\n----\na *b*\n  {c}\n----\n\n....\nd\n....\n\n literal\n   e") == [
        ("code", "a *b*\n  {c}"), ("code", "d"), ("code", "literal\n  e"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "table",
    [
        '[cols="1,2",options="header"]\n|===\n|A |B\n|1 |2 `x`\n2+|over\n|===',
        "|===\n|A |B\n\n|1\n|2 `x`\n\n2+|over\n|===",
        '[%header,cols="2*"]\n|===\n|A\n|B\n|1\na|2 `x`\n|over\n|\n|===',
        "[%header]\n,===\nA,B\n1,2 `x`\nover,\n,===",
    ],
)
def test_tables_are_rows_under_their_headers(table: str) -> None:
    page = document(f"Intro.\n\n{table}\n\nend")
    assert blocks(page)[1:] == [
        ("header", "A | B"), ("row", "1 | 2 x"), ("row", "over |"), ("paragraph", "end"),
    ]  # fmt: skip
    assert [cell.header for cell in page.blocks[2].cells] == ["A", "B"]


def test_attributes_that_grow_are_cut() -> None:
    bomb = ":a0: xxxxxxxxxx\n" + "".join(f":a{n + 1}: {f'{{a{n}}}' * 10}\n" for n in range(30))
    assert len(document(f"= T\n{bomb}\n{{a30}}").text) <= 10_000


def test_a_page_without_text_is_refused() -> None:
    for empty in ("", "// comment", ":a: b", "include::x[]"):
        with pytest.raises(InputError, match="empty"):
            document(empty)


@given(
    soup(
        "= == * ** - . .. 1. a:: b;; + ---- .... ==== **** -- ____ |=== | 2+| //// // [a] "
        "[[a]] << >> "
        "{a} :a: b `a` _ * # link: x[ ] a: NOTE: include:: ifdef::a[] word ''' <1>"
    )
)
def test_any_text_is_read(text: str) -> None:
    survives(load, text, "a.adoc")


@pytest.mark.parametrize(
    "piece",
    ["`a", "*a ", "_a", "{a", "<<a", "link:a[", "a:::: b\n", ":::\n", "|a", "[a]\n", "==== "
    "\n", "* ",
     "\n+\n", "((a", "a^b", "((((", "+++", "a::\n"],
)  # fmt: skip
def test_reading_takes_linear_time(piece: str) -> None:
    assert seconds(load, piece * (20_000 // len(piece)), "a.adoc") < 20
