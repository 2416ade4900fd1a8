import re
from html.parser import HTMLParser
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.web import html
from tests.unit.loaders import parsed
from tests.unit.loaders.parsed import kinds, only


def read(markup: str | bytes, name: str = "page.html") -> ParsedDocument:
    return only(parsed.read(name, markup))


def added(markup: str, *, whole: bool = True) -> ParsedDocument:
    builder = DocumentBuilder()
    html.add(builder, markup, whole=whole)
    return builder.build("name", "title")


def blocks(markup: str, *, whole: bool = True) -> list[tuple[str, int, str]]:
    document = added(markup, whole=whole)
    levels = [block.level for block in document.blocks]
    return [(kind, at, shown) for at, (kind, shown) in zip(levels, kinds(document), strict=True)]


def text(markup: str, *, whole: bool = False) -> str:
    return added(markup, whole=whole).text


LONG = "The quick brown fox jumps over the lazy dog while the others look on from the hill. " * 3


def page(content: str, around: str = "") -> str:
    return f"<html><head><title>T</title></head><body>{around}{content}<p>{LONG}</p></body></html>"


# Blocks


def test_headings_paragraphs_and_lists() -> None:
    assert blocks(
        "<h1>A <em>b</em>\n c</h1><p>One<br>two<br><br>three</p>"
        "<ul><li>x<ul><li>y</ul><li><p>z<p>more</ul><ol start=3><li>c<li value=7>g<li>h</ol>"
    ) == [
        ("heading", 1, "A b c"),
        ("paragraph", 0, "One\ntwo"),
        ("paragraph", 0, "three"),
        ("item", 0, "- x"),
        ("item", 1, "- y"),
        ("item", 0, "- z"),
        ("item", 0, "more"),
        ("item", 0, "3. c"),
        ("item", 0, "7. g"),
        ("item", 0, "8. h"),
    ]


def test_terms_stand_with_their_definitions() -> None:
    assert blocks(
        "<dl><dt>A<dt>B<dd>both<dd>again<dt>Why?<dd>So.<dt>alone</dl>"
        "<dl><dt>code<dd><pre>x</pre></dl>"
    ) == [
        ("item", 0, "A, B: both"),
        ("item", 0, "again"),
        ("item", 0, "Why? So."),
        ("item", 0, "alone"),
        ("item", 0, "code"),
        ("code", 0, "x"),
    ]


def test_code_is_verbatim() -> None:
    markup = "<pre><span class=k>def</span> f():\n    return <b>1</b><br>  # &lt;end&gt;\n</pre>"
    assert blocks(markup) == [("code", 0, "def f():\n    return 1\n  # <end>")]


@pytest.mark.parametrize("tag", ["s", "strike", "del"])
def test_struck_text_is_left_out(tag: str) -> None:
    markup = f"<p>It costs <{tag}>four <b>old</b></{tag}> <ins>five</ins> crowns.</p>"
    assert (
        text(f"{markup}<{tag}><p>Gone.</p></{tag}><p>End.</p>") == "It costs five crowns.\n\nEnd."
    )


def test_line_numbers_are_no_code() -> None:
    table = (
        "<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre></td>"
        "<td class=code><pre>a\nb</pre></td></tr></table>"
    )
    assert blocks(page(table), whole=False)[0] == ("code", 0, "a\nb")


def test_quotes_captions_and_details() -> None:
    assert blocks(
        "<blockquote><p>To be<p>or not</blockquote><figure><img src=x alt='a b c d'>"
        "<figcaption>A b c d</figcaption></figure><details><summary>More</summary>inside</details>"
    ) == [
        ("quote", 0, "To be"),
        ("quote", 0, "or not"),
        ("paragraph", 0, "A b c d"),
        ("paragraph", 0, "More"),
        ("paragraph", 0, "inside"),
    ]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("10<sup>6</sup> m<sup>-2</sup>", "10^6 m^-2"),
        ("H<sub>2</sub>O, 1<sup>st</sup>", "H2O, 1st"),
        ("word<sup><a href=#n>2</a></sup>", "word[2]"),
        ("soft&shy;hyphen zero&#8203;width<wbr>break", "softhyphen zerowidthbreak"),
        ("a&nbsp;b &amp; &lt;c&gt;", "a b & <c>"),
        ("<q>said</q>", "“said”"),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字", "漢字"),
        ("<img alt='The tower as seen from the river'>", "The tower as seen from the river"),
        ("x <img alt=icon.png> <img alt='next page'> y", "x y"),
        ("<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "(a)/(b)"),
        (
            '<math alttext="{\\displaystyle x^{2}+\\alpha}"><mi>x</mi><mn>2</mn></math>',
            "x^{2}+\\alpha",
        ),
        (
            "<span class=katex><span class=katex-mathml><math><semantics><mrow><mi>E</mi></mrow>"
            "<annotation encoding='application/x-tex'>\\vec E</annotation></semantics></math>"
            "</span><span class=katex-html aria-hidden=true>E</span></span>",
            "\\vec E",
        ),
    ],
)
def test_lines(markup: str, expected: str) -> None:
    assert text(f"<p>{markup}</p>", whole=True) == expected


def test_descriptions_are_not_repeated() -> None:
    image = "<img alt='The same old picture'>"
    assert blocks(image * 2) == [("paragraph", 0, "The same old picture")]
    numbered = f"<p>{image}</p><p>Figure 3.1. The same old picture</p>"
    assert blocks(numbered) == [("paragraph", 0, "Figure 3.1. The same old picture")]


# Tables


def test_spanning_cells_stand_where_they_belong() -> None:
    document = added(
        "<table><caption>Plans</caption><thead><tr><th rowspan=2>Plan<th colspan=2>Price"
        "<tr><th>Month<th>Year</thead><tr><td rowspan=2>Pro<td>$4<td>$40<tr><td>€3<td>€30</table>"
    )
    assert document.text.splitlines() == [
        "Plans",
        "",
        "Plan | Price Month | Price Year",
        "Pro | $4 | $40",
        "Pro | €3 | €30",
    ]
    assert [found.kind for found in document.blocks] == ["paragraph", "header", "row", "row"]
    last = document.blocks[-1].cells
    assert [(cell.header, document.text[cell.start : cell.end]) for cell in last] == [
        ("Plan", "Pro"),
        ("Price Month", "€3"),
        ("Price Year", "€30"),
    ]


@pytest.mark.parametrize("tag", ["th", "td"])
def test_empty_cells_keep_their_place(tag: str) -> None:
    names = "".join(f"<{tag}>{name}</{tag}>" for name in ("", "Low", "High", "Mean"))
    markup = (
        f"<table><tr>{names}</tr><tr><td>Quay<td><td>4<td></tr>"
        "<tr><td>Dock<td colspan=2>closed<td>6</tr><tr><td colspan=4>Inland</tr>"
        "<tr><td>Lock<td>7<td>8</tr></table>"
    )
    assert [line for _, _, line in blocks(markup, whole=False)] == [
        "| Low | High | Mean", "Quay |  | 4 |", "Dock | closed | closed | 6", "Inland",
        "Lock | 7 | 8 |",
    ]  # fmt: skip


def test_headers_beside_values() -> None:
    document = added("<table><tr><th>Born:<td>1815<tr><th>Died<td>1852</table>")
    assert document.text == "Born: 1815\nDied: 1852"
    assert document.blocks[0].cells[0].header == "Born"


def test_bold_first_row_is_the_header() -> None:
    found = blocks("<table><tr><td><b>A</b><td><b>B</b><tr><td>1<td>2</table>")
    assert found == [("header", 0, "A | B"), ("row", 0, "1 | 2")]


def test_a_second_row_of_headers_stands_below_groups() -> None:
    upper, lower = "<th>Ward<th>Day<th><th>Night<th>", "<td><td>Beds<td>Cots<td>Beds<td>Cots"
    data = "<tr><td>East<td>1<td>2<td>3<td>4<tr><td>West<td>5<td>6<td>7<td>8"
    found = text(f"<table><tr>{upper}<tr>{lower}{data}</table>")
    assert found.startswith("Ward | Day Beds | Day Cots | Night Beds | Night Cots\nEast | 1 |")


def test_layouts_are_no_tables() -> None:
    layout = "<table><tr><td><h2>Left</h2><p>a</p></td><td><p>b</p></td></tr></table>"
    assert blocks(layout) == [("heading", 2, "Left"), ("paragraph", 0, "a"), ("paragraph", 0, "b")]
    presented = "<table role=presentation><tr><td><p>a<td><p>b<tr><td><p>c<td><p>d</table>"
    assert {kind for kind, _, _ in blocks(presented)} == {"paragraph"}
    signature = "<table><tr><td>int main<td>(<td>int argc<td>)</table>"
    assert blocks(signature) == [("paragraph", 0, "int main ( int argc )")]


def test_spans_do_not_multiply_text() -> None:
    cell = f"<td rowspan=65534 colspan=1000>{'x' * 150}</td>"
    markup = f"<table><tr>{cell * 5}{'<tr><td>y' * 5000}</table>"
    assert len(text(markup, whole=True)) < 4 * len(markup)


# The main content


@pytest.mark.parametrize(
    "around",
    [
        "<nav><a href=a>Noise</a></nav>",
        "<div role=navigation><ul><li><a href=a>Noise</a></ul></div>",
        "<footer><p>Noise of a company in a town</p></footer>",
        "<header><img><a href=/>Noise</a></header>",
        "<aside><p>Noise that nobody asked for</p></aside>",
        "<div class=breadcrumbs><a href=a>Noise</a> &gt; here</div>",
        "<div id=sidebar><h3>Menu</h3><a href=a>Noise</a> <a href=b>More</a></div>",
        "<p><a rel=prev href=a>Noise</a> | <a rel=next href=b>Other</a></p>",
        "<p><a href=#a>Noise</a> <a href=#b>two words</a> <a href=#c>three</a></p>",
        "<div class='theme-cookie-consent'>Noise and cookies</div>",
        "<div style='display: none'>Noise</div><p hidden>Noise</p>",
        "<script>Noise()</script><style>Noise{}</style><noscript>Noise</noscript>",
        "<form><input value=Noise><button>Noise</button><select><option>Noise</select></form>",
        "<a class=headerlink href=#x>¶</a><template>Noise</template><!-- Noise -->",
        "<p class=copyright>Noise 2024</p>",
        "<div>Generated by <a href=x>Noise</a></div>",
    ],
)
def test_what_is_no_content(around: str) -> None:
    # Above and below a page that says nothing of its parts, and one that does.
    for found in (
        text(page("<h2>Name</h2>", around)),
        text(page(f"<h2>Name</h2><p>{LONG}</p>{around}")),
    ):
        assert "Noise" not in found
        assert "Name" in found
        assert "lazy dog" in found


def test_main_part() -> None:
    aside = f"<div><p>Outside {LONG[:80]}</p></div>"
    markup = page(f"{aside}<main><h1>T</h1><p>{LONG * 2}</p><p>Inside</p></main>").replace(
        f"<p>{LONG}</p>", ""
    )
    assert "Outside" not in text(markup)
    assert "Inside" in text(markup)
    # One that holds little is not where the text stands.
    assert "Outside" in text(page(f"<main>Inside</main><div><p>Outside {LONG * 2}</p></div>"))


def test_parts_of_the_text_stay() -> None:
    content = (
        "<article><header><h1>Title</h1><p>By Ann</p></header>"
        "<div class='admonition note'><p>Mind the gap.</p></div>"
        "<section id=navigation><h2>Navigation</h2><p>Go left, then <a href=x>right</a>.</p>"
        "</section><aside class=footnotes><p>A footnote.</p></aside>"
        f"<blockquote>Said.<footer>Someone</footer></blockquote><p>{LONG}</p></article>"
    )
    found = text(page(content))
    for kept in ("Title", "By Ann", "Mind the gap.", "Go left", "A footnote.", "Someone"):
        assert kept in found


@pytest.mark.parametrize("data", [bytes(300), bytes(range(256)) * 20])
def test_a_binary_file_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="binary"):
        list(html.load(SourceFile("a.html", data)))


def test_a_stray_control_character_costs_no_page() -> None:
    assert "lazy" in only(list(html.load(SourceFile("a.html", f"<p>\0{LONG}".encode())))).text


def test_hidden_body_is_shown() -> None:
    assert "lazy dog" in text(f"<body style='visibility:hidden'><p>{LONG}</p>")


def test_an_index_gives_its_links() -> None:
    links = "".join(f"<li><a href=p{n}.html>Page {n}</a>" for n in range(30))
    found = text(f"<html><body><h1>All</h1><nav><ul>{links}</ul></nav></body></html>")
    assert "- Page 7\n- Page 8" in found


def test_marks_of_the_site_are_gone() -> None:
    found = blocks(
        page(
            "<h2>Name<a href=#name>#</a> <a href=/edit>Edit this page</a></h2>"
            "<p>f() <a href=src.html>[source]</a></p>"
        ),
        whole=False,
    )
    assert found[:2] == [("heading", 2, "Name"), ("paragraph", 0, "f()")]


# Title, metadata, links


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>Page - Site</title>", "<h1>Page</h1>", "Page"),
        ("<title>Page &mdash; Site documentation</title>", "", "Page"),
        ("<title>git-add(1) - adds</title>", "", "git-add(1) - adds"),
        ("<title>Module Data.Map</title>", "<h1>Documentation</h1>", "Module Data.Map"),
        ("", "<h1>Only <i>this</i></h1>", "Only this"),
        ("<title>T</title>", "<h1>First part of T</h1><h1>Second</h1>", "T"),
        ("", "", "my page"),
    ],
)
def test_title(head: str, body: str, title: str) -> None:
    markup = f"<html><head>{head}</head><body>{body}<p>{LONG}</p></body></html>"
    assert read(markup, "docs/my_page.html").title == title


def test_heading_outside_of_the_main_part() -> None:
    markup = (
        "<title>Apples - Fruit</title><header><h1>Fruit</h1><nav>x</nav></header>"
        f"<div><h1>Apples</h1></div><main><h2>Kinds</h2><p>{LONG}</p></main>"
    )
    assert blocks(markup, whole=False)[:2] == [("heading", 1, "Apples"), ("heading", 2, "Kinds")]


def test_title_by_its_class() -> None:
    markup = (
        "<title>Lib: a.c File Reference</title><div class=header><div class=title>a.c File"
        f" Reference</div></div><h2>Functions</h2><p>{LONG}</p>"
    )
    assert blocks(markup, whole=False)[0] == ("heading", 1, "a.c File Reference")


def test_metadata() -> None:
    document = read(
        "<html lang=en><head><title>T</title><meta name=Author content=Ann>"
        "<meta property='article:published_time' content=2024-03-01>"
        "<meta name=keywords content='a, b,,a'><meta name=description content='What it is'>"
        '<script type="application/ld+json">{"author": {"name": "Bob"}, "x": [1]}</script>'
        f"</head><body><p>{LONG}</p></body></html>"
    )
    assert document.metadata == {
        "language": "en",
        "author": "Ann",
        "date": "2024-03-01",
        "tags": ["a", "b"],
        "description": "What it is",
    }


@pytest.mark.parametrize("data", ["[" * 100_000, '{"author":', '{"author": [[]]}', "[1]", "null"])
def test_broken_linked_data(data: str) -> None:
    markup = f'<script type="application/ld+json">{data}</script><p>{LONG}</p>'
    assert read(markup).metadata == {}


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("../setup/hot_keys.html#save-as", ("hot_keys", "save as")),
        ("hotkeys/", ("hotkeys",)),
        ("hotkeys/index.html", ("hotkeys",)),
        ("K%C3%BCche.html", ("Küche",)),
        ("#part", ("part",)),
        ("https://example.org/a.html", ()),
        ("//example.org/a.html", ()),
        ("mailto:a@b", ()),
        ("javascript:void(0)", ()),
        ("http://[broken", ()),
        ("", ()),
    ],
)
def test_links(target: str, names: tuple[str, ...]) -> None:
    assert added(f'<p>See <a href="{target}">this</a> now.').blocks[0].links == names


# Encodings and syntax


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("<p>naïve</p>".encode(), "naïve"),
        ("\ufeff<p>naïve</p>".encode(), "naïve"),
        ("\ufeff<p>naïve</p>".encode("utf-16-le"), "naïve"),
        ("<p>naïve</p>".encode("utf-16-be"), "naïve"),
        ("<p>naïve – “x”</p>".encode("cp1252"), "naïve – “x”"),
        ("<meta charset=iso-8859-1><p>“x” é</p>".encode("cp1252"), "“x” é"),
        ("<meta charset='windows-1251'><p>Привет</p>".encode("cp1251"), "Привет"),
        (
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'><p>日本語"
            "</p>".encode("cp932"),
            "日本語",
        ),
        ("<?xml version='1.0' encoding='koi8-r'?><p>Привет</p>".encode("koi8-r"), "Привет"),
        ("<meta charset=iso-8859-1><p>naïve</p>".encode(), "naïve"),
        (b"<meta charset=unicode_escape><p>\\u0041</p>", "\\u0041"),
        ("<meta charset=no-such><p>ï</p>".encode("cp1252"), "ï"),
        ("<p>ééééééééééééé ".encode() + b"\xff</p>", "ééééééééééééé \ufffd"),
    ],
)
def test_encodings(data: bytes, expected: str) -> None:
    assert read(data).text == expected


def test_xhtml() -> None:
    markup = (
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/>"
        "<script src='a.js'/></head><body><p>one<a id='x'/></p><div/><p>two<br/>three</p>"
        "<pre><![CDATA[a < b]]></pre></body></html>"
    )
    assert text(markup, whole=True) == "one\n\ntwo\nthree\n\na < b"


@pytest.mark.parametrize(
    "data", [b"", b"<html></html>", b"<script>x</script>", b"<frameset><frame></frameset>"]
)
def test_pages_without_text_are_named(data: bytes) -> None:
    with pytest.raises(InputError, match="no text"):
        read(data)


@given(st.text(alphabet="<>/=\"' !-[]&;#abdhilprtux1\n\0\ud800é", max_size=200))
def test_any_markup_is_read(markup: str) -> None:
    parsed.check(added(markup, whole=False), "name")


class Words(HTMLParser):
    """Words by the parser of the standard library."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found += re.findall(r"w\d+", data)


TREES = st.recursive(
    st.integers(0, 999).map("w{} ".format),
    lambda inner: st.tuples(
        st.sampled_from("p div b ul li h2 h3 table tr td span section blockquote pre dl".split()),
        st.lists(inner, max_size=4),
    ).map(lambda part: f"<{part[0]}>{''.join(part[1])}</{part[0]}>"),
    max_leaves=25,
)


@given(TREES)
def test_all_words_are_kept_in_order(markup: str) -> None:
    reference = Words()
    reference.feed(markup)
    found = re.findall(r"w\d+", text(markup, whole=True))
    if "<table" in markup or "<tr" in markup or "<td" in markup:
        # Browsers move text out of tables.
        assert sorted(found) == sorted(reference.found)
    else:
        assert found == reference.found


@pytest.mark.parametrize(
    "markup",
    [
        "<span>x" * 30_000,
        "<ul><li>x" * 3_000,
        "<table><tr><td>x" * 3_000,
        "<blockquote>x" * 3_000,
        "<?xml <![CDATA[" * 50_000,
        "<?xml " + "<a " * 100_000,
        "x" + " " * 500_000 + "x",
        "<br> " * 30_000 + "x",
        "<dl>" + "<dt>a" * 10_000,
        f"<div class='{'a-' * 3000}'>x" * 30,
        "x<math>" + "<msup><mi>" * 5_000,
    ],
)
def test_time_is_in_proportion_to_size(markup: str) -> None:
    start = process_time()
    added(markup, whole=False)
    assert process_time() - start < 20


def test_check_boxes_of_items_say_whether_they_are_done() -> None:
    markup = (
        '<ul><li><input type="checkbox" checked disabled> Wax the skis</li>'
        '<li><input type="checkbox">Buy straps</li>'
        '<li><label><input type="Checkbox" checked="checked"/>Book the hut</label></li>'
        '<li><input type="text" value="new">Add one</li></ul>'
        '<p><input type="checkbox" checked> Remember me</p>'
    )
    assert text(markup, whole=True) == (
        "- [x] Wax the skis\n- [ ] Buy straps\n- [x] Book the hut\n- Add one\n\nRemember me"
    )
