"""Markdown: what is read of it, and what is left out."""

import re
from collections import Counter
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memnet.errors import InputError, Problem
from memnet.loaders.document import ParsedDocument
from tests.unit.loaders.parsed import kinds, links, only, read, seconds, soup, survives


def document(text: str | bytes, name: str = "some-note.md") -> ParsedDocument:
    return only(read(name, text))


def shown(text: str, name: str = "some-note.md") -> list[tuple[str, str]]:
    return kinds(document(text, name))


def test_the_heading_that_opens_a_text_is_its_title() -> None:
    assert document("# *Ferries* of Saltmere\n\ntext").title == "Ferries of Saltmere"
    assert shown("# Ferries\n\ntext") == [("paragraph", "text")]
    assert document("text\n\n## Part").title == "some note"
    assert document("Badges\n\n# Ferries\n\n## Part").title == "Ferries"
    sections = document("## Morning\n\na\n\n## Evening\n\nb")
    assert sections.title == "some note"
    assert kinds(sections)[0] == ("heading", "Morning")


def test_a_title_of_the_front_matter_leaves_another_heading_in_the_text() -> None:
    other = document("---\ntitle: Ferries\n---\n# Boats\n\ntext")
    assert (other.title, kinds(other)[0]) == ("Ferries", ("heading", "Boats"))
    assert shown("---\ntitle: Ferries\n---\n# ferries\n\ntext") == [("paragraph", "text")]


def test_headings_in_quotes_and_lists_and_long_ones_are_text() -> None:
    assert shown("a\n\n> # Head") == [("paragraph", "a"), ("quote", "Head")]
    assert shown("a\n\n- # Head") == [("paragraph", "a"), ("item", "- Head")]
    long = "word " * 300
    assert shown(f"a\n\n# {long}")[1] == ("paragraph", long.strip())
    assert shown("a\n\nSet\nup\n---\n")[1] == ("heading", "Set up")


def test_front_matter_is_metadata_and_names() -> None:
    note = document(
        "---\ntags: [one, '#two']\naliases:\n  - First Ferry\n  - Boat\ndate: 2024-03-01\n"
        "draft: false\nsize: 1.5\nempty:\nnested: {a: 1}\nslug: /a/ferry-page\n---\n\ntext #three\n"
    )
    assert note.metadata == {
        "tags": ["one", "two", "three"],
        "date": "2024-03-01",
        "draft": False,
        "size": 1.5,
        "slug": "/a/ferry-page",
    }
    assert note.names == ("First Ferry", "Boat", "ferry-page")
    assert note.text == "text #three"


def test_front_matter_in_toml() -> None:
    page = document('+++\ntitle = "Ferries"\ndate = 2024-03-01\ntags = ["a"]\n+++\ntext')
    assert (page.title, page.metadata) == ("Ferries", {"date": "2024-03-01", "tags": ["a"]})


@pytest.mark.parametrize(
    ("content", "metadata"),
    [
        ("key: &a [x]\nother: *a", {"key": "&a [x]", "other": "*a"}),
        ("topic: Ferries: a list\ntags: [a]", {"topic": "Ferries: a list", "tags": ["a"]}),
        ("date: 2024-13-45\nsound: 1", {"date": "2024-13-45", "sound": 1}),
        ("deep: " + "[" * 40 + "]" * 40 + "\nsound: 1", {"deep": "[" * 40 + "]" * 40, "sound": 1}),
    ],
)
def test_front_matter_that_is_wrong_is_a_problem_and_what_is_sound_in_it_is_kept(
    content: str, metadata: dict[str, object]
) -> None:
    note, problem = read("a.md", f"---\n{content}\n---\ntext")
    assert isinstance(note, ParsedDocument)
    assert isinstance(problem, Problem)
    assert {**note.metadata} == metadata
    assert "front matter" in str(problem)
    assert note.text == "text"


def test_lines_that_are_no_front_matter_are_text() -> None:
    assert "just text" in document("---\n\njust text\n\n---\n\nmore").text
    assert "more" in document("---\nno end: here\n\nmore").text


def test_wiki_links_are_text_and_names() -> None:
    note = document("See [[Sync setup|setup]], [[Notes/Plan#Two words]], [[#Own head]], [[A\\|b]].")
    assert note.text == "See setup, Plan > Two words, Own head, b."
    assert links(note) == ["Sync setup", "Plan", "Two words", "Own head", "A"]


def test_embeds_are_no_text() -> None:
    note = document(
        "Before ![[ferry.png#icon|100]] ![[Plan#Part]] after ![[x.svg]]. ![a](b.png)\n\n![[Other]]"
    )
    assert note.text == "Before after."
    assert links(note) == ["Plan", "Part", "Other"]


def test_links_are_their_text_and_the_names_of_their_targets() -> None:
    note = document(
        "[one](../guide/set-up%20it.md#first-steps) [two](https://x.org/page) [three](#top) "
        "[four](sub/index.md) <https://y.org> [five][ref]\n\n[ref]: other.html"
    )
    assert note.text == "one two three four https://y.org five"
    assert links(note) == ["set-up it", "first steps", "top", "sub", "other"]


def test_marks_of_notes_are_gone_but_not_in_code() -> None:
    note = document(
        "A ==marked== word %%hidden%% and `==kept== %%too%% [[Link]]`, a==b and c==d. ^block-1\n\n"
        "%%\nhidden\n\nas well\n%%\n\nend\n\n^block-2"
    )
    assert note.text == ("A marked word and ==kept== %%too%% [[Link]], a==b and c==d.\n\nend")


def test_lines_of_a_form_stay_lines_and_those_of_prose_are_joined() -> None:
    form = "**Tare:** 2 t\nAxles: 3\nLent to: Bo"
    assert document(form).text == "Tare: 2 t\nAxles: 3\nLent to: Bo"
    assert document("We met Bo\nNote: he is ill\nand stays.").text == (
        "We met Bo Note: he is ill and stays."
    )


def test_tags_are_metadata() -> None:
    note = document("#one and (#two/three) but #fff #a1b2c3 #12 a#no `#code`\n\n## #head\n\n#ünï")
    assert note.metadata == {"tags": ["one", "two/three", "ünï"]}


def test_formulas_keep_what_looks_like_markup() -> None:
    assert document("Let $a_1*b*c_2$ be $5 and $6.").text == "Let $a_1*b*c_2$ be $5 and $6."
    assert document("$$\nx\\\\y_1*2*\n$$").text == "$$\nx\\\\y_1*2*\n$$"


@pytest.mark.parametrize(
    "text",
    [
        "> [!warning]- Mind *it*\n> Body\n> - one",
        '!!! warning "Mind *it*"\n    Body\n\n    - one\n',
        '???+ warning "Mind *it*"\n\n    Body\n    - one\n',
        ":::warning Mind *it*\nBody\n\n- one\n:::",
        ":::warning[Mind *it*]\nBody\n\n- one\n\n:::",
        "::: warning Mind *it*\nBody\n\n- one\n\n:::",
        "/// warning | Mind *it*\nBody\n\n- one\n///",
        "```{warning} Mind *it*\n:class: dropdown\nBody\n- one\n```",
    ],
)
def test_admonitions_are_their_title_and_their_blocks(text: str) -> None:
    assert shown(f"a\n\n{text}\n\nend") == [
        ("paragraph", "a"),
        ("paragraph", "Mind it"),
        ("paragraph", "Body"),
        ("item", "- one"),
        ("paragraph", "end"),
    ]


@pytest.mark.parametrize(
    "text",
    ["> [!note]\n> Body", "!!! note\n    Body", ":::note\nBody\n:::", "```{note}\nBody\n```"],
)
def test_an_admonition_without_a_title_begins_with_its_kind(text: str) -> None:
    assert shown(f"a\n\n{text}") == [("paragraph", "a"), ("paragraph", "Note: Body")]


def test_tabs_are_titles_and_text() -> None:
    text = '=== "Linux"\n\n    Use apt.\n\n=== "macOS"\n\n    Use brew.\n'
    assert [part for _, part in shown(text)] == ["Linux", "Use apt.", "macOS", "Use brew."]


def test_items_are_blocks_with_their_paragraphs() -> None:
    note = document(
        "1. one\n\n   more\n2. two\n   - deep\n   - deeper\n     > said\n\n     ```sh\n     "
        "ls\n     ```\n"
        "     after\n5. three"
    )
    assert note.text == (
        "1. one\nmore\n2. two\n  - deep\n  - deeper\n  said\n\nls\n\n  after\n3. three"
    )
    assert [(block.kind, block.level) for block in note.blocks] == [
        ("item", 0), ("item", 0), ("item", 1), ("item", 1), ("item", 1), ("code", 0), ("item", 1),
        ("item", 0),
    ]  # fmt: skip
    assert shown("7) a\n8) b") == [("item", "7) a"), ("item", "8) b")]
    assert shown("- [ ] open\n- [x] done") == [("item", "- [ ] open"), ("item", "- [x] done")]


def test_tables_are_rows_under_their_headers() -> None:
    note = document(
        "| Plan | Price |\n|:--|--:|\n| [4 TB](big.md) | `a\\|b` |\n| | **$5**<br>a year |\n\nend"
    )
    assert kinds(note) == [
        ("header", "Plan | Price"),
        ("row", "4 TB | a|b"),
        ("row", "| $5 a year"),
        ("paragraph", "end"),
    ]
    cells = [(cell.header, note.text[cell.start : cell.end]) for cell in note.blocks[1].cells]
    assert cells == [("Plan", "4 TB"), ("Price", "a|b")]
    assert note.blocks[1].links == ("big",)


def test_code_is_kept_as_it_stands() -> None:
    code = "  if a:\n\n      b = [[c]]  # **d**"
    assert shown(f"```python title=x\n{code}\n```") == [("code", code)]
    assert shown("a\n\n~~~\n{{#include x}}\n~~~")[1] == ("code", "{{#include x}}")
    assert shown("a\n\n    x\n      y")[1] == ("code", "x\n  y")


def test_footnotes_follow_what_refers_to_them() -> None:
    note = document(
        "One[^a] and [^x-z].\n\n- item[^b]\n\nLast.\n\n[^a]: First *note*\n    goes on.\n\n    "
        "Twice.\n"
        "[^b]: Second.\n[^c]: Unused."
    )
    assert [text for _, text in kinds(note)] == [
        "One and [^x-z].", "First note goes on.", "Twice.", "- item", "Second.", "Last.", "Unused.",
    ]  # fmt: skip


def test_definitions_stand_with_their_terms() -> None:
    text = "Vault\n:   A folder\n    of notes.\n\n    More.\n\nend"
    assert [part for _, part in shown(text)] == ["Vault: A folder of notes.", "More.", "end"]


def test_html_is_its_text() -> None:
    text = (
        "<details><summary>More</summary>\n<p>Some <b>bold</b> &amp; <a "
        "href='x/ferry-page.md'>a</a></p>\n"
        "<ul><li>one<li>two</ul><ol><li>first</li></ol>\n<script>bad()</script><!-- gone "
        "-->\n</details>\n\n"
        "<table><tr><th>A</th><th>B</th></tr><tr><td></td><td>2</td></tr></table>\n\n"
        "Press <kbd>Ctrl</kbd>+<kbd>P</kbd><br>now <!-- gone --> <img src=a.png alt='The tall "
        "old tower'>"
        " `ssh` <name>\n\n<pre>\n a &lt; b\n</pre>"
    )
    note = document(text)
    assert kinds(note) == [
        ("paragraph", "More"),
        ("paragraph", "Some bold & a"),
        ("item", "- one"),
        ("item", "- two"),
        ("item", "1. first"),
        ("header", "A | B"),
        ("row", "| 2"),
        ("paragraph", "Press Ctrl+P\nnow The tall old tower ssh <name>"),
        ("code", " a < b"),
    ]
    assert links(note) == ["ferry-page"]
    assert document("<h1 align=center>Ferry</h1>\n\ntext").title == "Ferry"


def test_components_of_mdx_are_no_text() -> None:
    text = (
        "import Tabs from '@theme/Tabs';\n\nexport const x = {\n\n  a: 1,\n};\n\n# Ferries\n\n"
        "<Tabs values={[{a: 'b > c'}]}\n  other>\n  Some *text* <Icon name={<b/>} /> "
        "here.\n</Tabs>\n\n"
        "{/* gone */}"
    )
    page = document(text, "page.mdx")
    assert (page.title, page.text) == ("Ferries", "Some text here.")
    page = document(
        '<Steps npm="npm run it" class="a b" />\n<Card title="Boats" href="/a/boat-page">', "a.mdx"
    )
    assert [text for _, text in kinds(page)] == ["npm run it", "Boats"]
    assert links(page) == ["boat-page"]
    assert document("import A from 'b';\n\ntext\n\n<Card>\n**in**\n</Card>").text == "text\n\nin"


def test_attributes_and_templates_are_no_text() -> None:
    text = (
        "a\n\n## Head { #id .class }\n\n"
        ":material-check:{ .lg } b [c](d){target=_blank} {% x %}{{< y >}}"
    )
    assert [part for _, part in shown(text)] == ["a", "Head", "b c"]


def test_descriptions_of_images_are_kept_if_they_say_something() -> None:
    text = (
        "![Map of the harbour](map.png) ![logo](l.svg) "
        "![Build of main passes](https://x/badge.svg) a"
    )
    assert document(text).text == "Map of the harbour a"


def test_a_text_that_is_all_markup_is_refused_and_a_lone_title_is_kept() -> None:
    for empty in ("", " \n\n", "---\ntags: [a]\n---\n", "![[x.png]]", "<!-- a -->", "---"):
        with pytest.raises(InputError, match="empty"):
            document(empty)
    assert shown("# Only a title") == [("heading", "Only a title")]


def test_other_encodings_and_line_ends() -> None:
    assert document("# Müller\r\n\r\na\r\nb".encode("utf-16")).title == "Müller"
    assert document(b"\xef\xbb\xbf---\r\ntitle: X\r\n---\r\ntext").title == "X"
    assert document("ünd ßo mehr é ".encode() + b"\xff.").text == "ünd ßo mehr é \ufffd."


def test_what_is_nested_too_deeply_stays_text() -> None:
    assert document("> " * 300 + "deep").text.endswith("deep")
    lists = "\n".join("  " * depth + f"- word{depth}" for depth in range(40))
    text = document(lists).text
    assert all(f"word{depth}" in text for depth in range(40))


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


_inline = st.sampled_from(
    ["word", "*em* a", "**st** b", "`co de`", "[li](x.md)", "e&amp;f", "x  \ny", "\\*z"]
)
_line = st.lists(_inline, min_size=1, max_size=4).map(" ".join)
_block = st.one_of(
    _line,
    _line.map(lambda text: "## " + text.replace("\n", " ")),
    _line.map(lambda text: "> " + text.replace("\n", "\n> ")),
    st.lists(_line, min_size=1, max_size=3).map(
        lambda lines: "\n".join(f"- {one}" for one in lines)
    ),
    st.lists(_line, min_size=1, max_size=3).map(
        lambda lines: "\n".join(f"- {one}\n\n  - sub" for one in lines)
    ),
    st.just("```\ncode  here\n```"),
    st.just("| a | b |\n|---|---|\n| c | d *e* |"),
)


def test_struck_text_is_left_out() -> None:
    text = "Bring ~~two~~ three ropes, <s>red</s> <ins>blue</ins> ones.\n\nLeft <s>open.\n\nEnd."
    assert shown(
        f"{text}\n\n<div>\n<p><strike>no</strike> yes <s>open</p>\n<p>Last.</p></div>"
    ) == [
        ("paragraph", "Bring three ropes, blue ones."),
        ("paragraph", "Left"),
        ("paragraph", "End."),
        ("paragraph", "yes"),
        ("paragraph", "Last."),
    ]


@given(st.lists(_block, min_size=1, max_size=6))
def test_all_words_of_the_rendered_page_are_read(parts: list[str]) -> None:
    text = "intro\n\n" + "\n\n".join(parts)
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rendered = re.sub(r"<[^>]+>", " " if "<br" in html else "", html.replace("</", " </"))
    assert _words(document(text).text) == _words(unescape(rendered))


@given(
    soup(
        "[ ] [[ ]] ( ) * ** _ ` ``` ~~~ > - 1. # | |-| ! ![ == %% $ ^a [^1] [^1]: : :: ::: !!! === "
        '"x" { } {{ <a </a> <table> <td> <li> <!-- --> <pre> & &amp; \\ --- +++ word a: > [!note]'
    )
)
def test_any_text_is_read(text: str) -> None:
    survives("a.md", text)
    survives("a.mdx", text)


@pytest.mark.parametrize(
    "piece",
    ["[", "![", "*", "|", "> ", "- ", "<a ", "<a \"'", "`a", "$a", "{/*", "%%\n", "[^a ", "==a",
     "<td>", "<!--\n", "!!! a\n", ":::a\n", "a\n: b\n", "> [!a]\n", "&", "[a](", "[[a|", ":a: "],
)  # fmt: skip
def test_reading_takes_linear_time(piece: str) -> None:
    assert seconds("a.md", piece * (20_000 // len(piece))) < 20
