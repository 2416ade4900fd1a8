"""OpenDocument texts and presentations, as packages and flat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.loaders.office import opendocument
from tests.unit.loaders.office import package, read, refused, shown, survives_damage

SPACES = (
    'xmlns:office="urn:o" xmlns:text="urn:t" xmlns:style="urn:s" xmlns:table="urn:tb" '
    'xmlns:draw="urn:d" xmlns:presentation="urn:p" xmlns:xlink="urn:x" xmlns:dc="urn:dc" '
    'xmlns:meta="urn:m" xmlns:manifest="urn:mf"'
)
STYLES = """
<text:outline-style style:name="Outline">
 <text:outline-level-style text:level="1" style:num-format="1"/>
 <text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>
</text:outline-style>
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Quotations"/>
<style:style style:name="P2" style:family="paragraph" style:parent-style-name="P2"/>
<text:list-style style:name="L1">
 <text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
 <text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>
</text:list-style>
<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>
<text:list-style style:name="L3">
 <text:list-level-style-number text:level="1" style:num-format="I" style:num-list-format="%1%)"/>
</text:list-style>"""
META = """<office:meta><dc:title>Given</dc:title><meta:initial-creator>Ann</meta:initial-creator>
<dc:creator>Bob</dc:creator><meta:keyword>tax, law</meta:keyword><dc:date>2024-03-01</dc:date>
</office:meta>"""


def content(body: str) -> str:
    return (
        f"<office:document-content {SPACES}><office:automatic-styles>{STYLES}"
        f"</office:automatic-styles><office:body>{body}</office:body></office:document-content>"
    )


def odt(body: str, **parts: str) -> bytes:
    return package({"content.xml": content(f"<office:text>{body}</office:text>"), **parts})


def blocks(body: str) -> list[str]:
    return shown(read(opendocument, odt(body)))


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def h(text: str, level: int) -> str:
    return f'<text:h text:outline-level="{level}">{text}</text:h>'


def test_paragraphs_read_as_on_the_page() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:table-of-content><text:index-body><text:p>One 1</text:p></text:index-body>"
        "</text:table-of-content>"
        + p('a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d\n e')
        + p('See <text:a xlink:href="../Other%20plan.odt">the <text:span>plan</text:span>'
            "</text:a>!")
        + p("Said", "P1") + p("x = 1", "Preformatted_20_Text") + p("  y", "Preformatted_20_Text")
        + p("Loop", "P2") + p("- typed")
        + p("Text<text:note><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>Noted.</text:p></text:note-body></text:note> goes on"
            "<draw:frame><draw:text-box><text:p>Boxed</text:p></draw:text-box></draw:frame>"
            "<office:annotation><text:p>comment</text:p></office:annotation>.")
        + '<text:section text:display="none"><text:p>hidden</text:p></text:section>'
        + "<text:section><text:p>In a section</text:p></text:section>"
    )  # fmt: skip
    document = read(opendocument, odt(body))
    assert shown(document) == [
        "paragraph: a b c\nd e", "paragraph: See the plan!", "quote: Said", "code: x = 1\n  y",
        "paragraph: Loop", "item: - typed", "paragraph: Text goes on.", "paragraph: Noted.",
        "paragraph: Boxed", "paragraph: In a section",
    ]  # fmt: skip
    assert document.blocks[1].links == ("Other plan",)


def test_headings_are_numbered_as_the_outline_says() -> None:
    body = h("One", 1) + h("Two", 1) + h("Under two", 2) + h("Third level", 3)
    assert blocks(body) == [
        "heading1: 1 One", "heading1: 2 Two", "heading2: 2.1 Under two", "heading3: Third level",
    ]  # fmt: skip


def test_lists_count_together_and_go_on_where_they_say_so() -> None:
    def items(*contents: str) -> str:
        return "".join(f"<text:list-item>{inner}</text:list-item>" for inner in contents)

    nested = f"<text:list>{items(p('b'), p('c'))}</text:list>"
    body = (
        f'<text:list text:style-name="L1">{items(p("a") + p("more") + nested + p("after"), p("d"))}'
        '<text:list-header><text:p>No number</text:p></text:list-header></text:list>'
        f'<text:list text:style-name="L1" text:continue-numbering="true">{items(p("e"))}'
        "</text:list>"
        f'<text:list text:style-name="L1">{items(p("f"))}</text:list>'
        f'<text:list text:style-name="L2">{items(p("g"))}</text:list>'
        f'<text:list text:style-name="L3">{items(p("h"), p("i"))}</text:list>'
        '<text:list text:style-name="L1"><text:list-item text:start-value="7"><text:p>j</text:p>'
        "</text:list-item></text:list>"
    )  # fmt: skip
    assert blocks(body) == [
        "item: 1. a\nmore", "item1: a) b", "item1: b) c", "item: 1. after", "item: 2. d",
        "paragraph: No number", "item: 3. e", "item: 1. f", "item: - g", "item: I) h",
        "item: II) i", "item: 7. j",
    ]  # fmt: skip


def test_tables_name_the_columns_of_their_cells() -> None:
    def cell(text: str, extra: str = "") -> str:
        return f"<table:table-cell {extra}>{p(text)}</table:table-cell>"

    covered = "<table:covered-table-cell/>"
    down = 'table:number-rows-spanned="2"'

    def row(*cells: str, extra: str = "") -> str:
        return f"<table:table-row {extra}>{''.join(cells)}</table:table-row>"

    head = row(cell("Plan"), cell("Price"), cell("Space"))
    rows = (
        f"<table:table-header-rows>{head}</table:table-header-rows>"
        + row(cell("Basic", down), cell("$4"), cell("1 TB"))
        + row(covered, cell("$5"), cell("2 TB"))
        + row("<table:table-cell/>", extra='table:number-rows-repeated="1048570"')
    )
    document = read(opendocument, odt(f"<table:table>{rows}</table:table>"))
    assert shown(document) == [
        "header: Plan | Price | Space", "row: Basic | $4 | 1 TB", "row: Basic | $5 | 2 TB",
    ]  # fmt: skip
    assert [cell.header for cell in document.blocks[2].cells] == ["Plan", "Price", "Space"]


def test_metadata_and_titles() -> None:
    meta = f"<office:document-meta {SPACES}>{META}</office:document-meta>"
    document = read(opendocument, odt(p("Shown", "Title"), **{"meta.xml": meta}))
    assert document.title == "Shown"
    given = {"author": "Ann", "keywords": ["tax", "law"], "modified": "2024-03-01"}
    assert document.metadata == given
    assert read(opendocument, odt(p("Text"), **{"meta.xml": meta})).title == "Given"
    assert read(opendocument, odt(h("Opening", 3) + p("Text"))).title == "Opening"
    assert read(opendocument, odt(p("Text")), "my_file.odt").title == "my file"


def test_flat_documents_are_read() -> None:
    flat = f"<office:document {SPACES}>{META}<office:body><office:text>{p('Text')}"
    document = read(opendocument, f"{flat}</office:text></office:body></office:document>".encode())
    assert (document.title, document.text) == ("Given", "Text")


def test_slides_with_notes() -> None:
    def frame(kind: str, inner: str, extra: str = "") -> str:
        return (
            f'<draw:frame presentation:class="{kind}" {extra}><draw:text-box>{inner}'
            "</draw:text-box></draw:frame>"
        )

    listed = f"<text:list><text:list-item>{p('One')}</text:list-item></text:list>"
    empty = 'presentation:placeholder="true"'
    page = (
        frame("outline", listed) + frame("title", p("Ports")) + frame("footer", p("foot"))
        + frame("subtitle", listed) + frame("outline", p("Click to add"), empty)
        + f"<presentation:notes>{frame('notes', p('Say it.'))}</presentation:notes>"
    )  # fmt: skip
    second = f"<draw:custom-shape>{p('Shape')}</draw:custom-shape>"
    slides = f"<draw:page>{page}</draw:page><draw:page>{second}</draw:page>"
    data = package({"content.xml": content(f"<office:presentation>{slides}</office:presentation>")})
    document = read(opendocument, data)
    assert document.title == "Ports"
    lines = zip(document.blocks, shown(document), strict=True)
    assert [f"{block.place}: {line}" for block, line in lines] == [
        "slide 1: heading2: Ports", "slide 1: item: - One", "slide 1: paragraph: One",
        "slide 1: paragraph: Notes: Say it.", "slide 2: paragraph: Shape",
    ]  # fmt: skip


def test_what_can_not_be_read_is_named() -> None:
    refused(opendocument, b"text", "not a complete zip package")
    refused(opendocument, package({"a": ""}), "without a content.xml")
    refused(opendocument, odt(""), "holds no text")
    sheet = package({"content.xml": content("<office:spreadsheet/>")})
    refused(opendocument, sheet, "holds spreadsheet; expected an OpenDocument text")
    manifest = (
        f'<manifest:manifest {SPACES}><manifest:file-entry manifest:full-path="content.xml">'
        "<manifest:encryption-data/></manifest:file-entry></manifest:manifest>"
    )
    locked = odt(p("x"), **{"META-INF/manifest.xml": manifest})
    refused(opendocument, locked, "protected with a password")


@pytest.mark.parametrize("part", ["meta.xml", "styles.xml", "META-INF/manifest.xml"])
def test_damage_beside_the_text_costs_nothing_of_it(part: str) -> None:
    assert read(opendocument, odt(p("Text"), **{part: "<broken"})).text == "Text"


@given(st.binary(max_size=200), st.integers(0, 1500))
def test_damage_is_refused_or_read(noise: bytes, at: int) -> None:
    whole = odt(h("Heading", 1) + p("Text"))
    survives_damage(opendocument, whole[:at] + noise + whole[at:])
