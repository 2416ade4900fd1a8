"""Word documents: what a reader sees of them becomes blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import Problem
from memnet.loaders import package as zip_package
from memnet.loaders.formats import SourceFile
from memnet.loaders.office import docx
from memnet.loaders.office.numbering import written
from tests.unit.loaders.office import (
    SPACES,
    edited,
    package,
    read,
    refused,
    relations,
    shown,
    survives_damage,
)

STYLES = f"""<w:styles {SPACES}>
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Eigene"><w:name w:val="Mine"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Gliederung"><w:name w:val="x"/>
  <w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Zitat"><w:name w:val="Quote"/></w:style>
<w:style w:styleId="Quelltext"><w:name w:val="Source Code"/></w:style>
<w:style w:styleId="V1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Kreis"><w:name w:val="loop"/><w:basedOn w:val="Kreis"/></w:style>
<w:style w:styleId="Liste"><w:name w:val="List Bullet"/>
  <w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:type="table" w:styleId="Raster"><w:name w:val="Grid"/>
  <w:tblStylePr w:type="firstRow"/></w:style>
</w:styles>"""
NUMBERING = f"""<w:numbering {SPACES}>
<w:abstractNum w:abstractNumId="0">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
 <w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>
 <w:lvl w:ilvl="2"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="(%3)"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1">
 <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/>
 <w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
</w:numbering>"""


def word(body: str, **parts: str) -> bytes:
    named = {name.replace("_", "/", 1) + ".xml": text for name, text in parts.items()}
    return package(
        {
            "_rels/.rels": relations(
                ("1", "officeDocument", "word/document.xml"),
                ("2", "core-properties", "docProps/core.xml"),
            ),
            "word/document.xml": f"<w:document {SPACES}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(
                ("s", "styles", "styles.xml"),
                ("n", "numbering", "numbering.xml"),
                ("f", "footnotes", "footnotes.xml"),
                ("c", "comments", "comments.xml"),
                ("h", "header", "header1.xml"),
                ("t", "footer", "footer1.xml"),
                ("web", "hyperlink", "https://example.org/page.html"),
                ("file", "hyperlink", "../Other%20plans.docx"),
                ("chart", "chart", "charts/chart1.xml"),
            ),
            "word/styles.xml": STYLES,
            "word/numbering.xml": NUMBERING,
            **named,
        }
    )


def p(text: str, style: str = "", extra: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{extra}</w:pPr>{r(text)}</w:p>"


def r(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def item(text: str, number: int, level: int = 0) -> str:
    return p(text, "", f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def tc(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def tr(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def blocks(body: str, **parts: str) -> list[str]:
    return shown(read(docx, word(body, **parts)))


def test_headings_are_found_by_style_in_any_language() -> None:
    body = (
        p("One", "berschrift1") + p("Two", "Eigene") + p("Three", "Gliederung") + p("Text")
        + p("Four", "", '<w:outlineLvl w:val="1"/>') + p("Not one", "", '<w:outlineLvl w:val="9"/>')
        + p("Loop", "Kreis") + p("Unknown", "heading 2")
    )  # fmt: skip
    assert blocks(body) == [
        "heading1: One", "heading1: Two", "heading3: Three", "paragraph: Text",
        "heading2: Four", "paragraph: Not one", "paragraph: Loop", "heading2: Unknown",
    ]  # fmt: skip


def test_lists_are_numbered_as_word_does() -> None:
    body = (
        item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1, 2) + item("e", 1)
        + item("f", 1, 1) + p("Between") + item("g", 1) + item("h", 3) + item("i", 3)
        + item("j", 2) + p("k", "Liste")
        + p("l", "Liste", '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + p("• typed") + p("-5 degrees")
    )  # fmt: skip
    assert blocks(body) == [
        "item: 1. a", "item1: 1.a) b", "item1: 1.b) c", "item2: (I) d", "item: 2. e",
        "item1: 2.a) f", "paragraph: Between", "item: 3. g", "item: 5. h", "item: 6. i",
        "item: - j", "item: - k", "paragraph: l", "item: - typed", "paragraph: -5 degrees",
    ]  # fmt: skip


def test_changes_fields_and_hidden_text_read_as_on_the_page() -> None:
    field = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    body = (
        f"<w:p>{r('Kept ')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:ins>{r('and new ')}</w:ins><w:moveFrom>{r('moved')}</w:moveFrom>"
        f"{r('hidden', '<w:vanish/>')}{r('end')}</w:p>"
        f"<w:p>{r('Page ')}{field.format('begin')}<w:r><w:instrText>PAGE</w:instrText></w:r>"
        f"{r('never shown')}{field.format('separate')}{r('7')}{field.format('end')}"
        f"{r(' of 9')}</w:p>"
        f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{r('Joined ')}</w:p>"
        f"<w:p>{r('paragraph')}</w:p>"
        "<w:p><w:r><w:t>Tab</w:t><w:tab/><w:t>one</w:t><w:br/><w:t>a</w:t><w:noBreakHyphen/>"
        '<w:t>b</w:t><w:softHyphen/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r></w:p>'
    )
    assert blocks(body) == [
        "paragraph: Kept and new end",
        "paragraph: Page 7 of 9",
        "paragraph: Joined paragraph",
        "paragraph: Tab one\na-b✓",
    ]


def test_controls_boxes_and_alternatives_are_read_once() -> None:
    box = f"<w:txbxContent>{p('In a box')}</w:txbxContent>"
    body = (
        f"<w:p><w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing>"
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        f"</mc:AlternateContent></w:r>{r('Around')}</w:p>"
        f"<w:sdt><w:sdtContent>{p('Filled in')}</w:sdtContent></w:sdt>"
        "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr>"
        f"<w:sdtContent>{p('Click here')}</w:sdtContent></w:sdt>"
        '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
        f"</w:sdtPr><w:sdtContent>{p('Contents')}</w:sdtContent></w:sdt>"
        + p("Intro 3", "V1")
        + "<w:p><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    )
    assert blocks(body) == [
        "paragraph: Around", "paragraph: In a box", "paragraph: Filled in", "paragraph: a/b",
    ]  # fmt: skip


def test_notes_follow_their_paragraph_once() -> None:
    mark = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    notes = (
        f'<w:footnotes {SPACES}><w:footnote w:id="0">{p("line")}</w:footnote>'
        f'<w:footnote w:id="2"><w:p>{r("The note.")}{mark}</w:p></w:footnote></w:footnotes>'
    )
    body = f"<w:p>{r('A claim')}{mark}{r('.')}</w:p><w:p>{r('Again')}{mark}</w:p>"
    assert blocks(body, word_footnotes=notes) == [
        "paragraph: A claim.", "paragraph: The note.", "paragraph: Again",
    ]  # fmt: skip


def test_links_to_files_are_names() -> None:
    body = (
        f'<w:p><w:hyperlink r:id="web">{r("the web")}</w:hyperlink></w:p>'
        f'<w:p><w:hyperlink r:id="file">{r("plans")}</w:hyperlink></w:p>'
        f'<w:p><w:hyperlink w:anchor="x">{r("above")}</w:hyperlink></w:p>'
    )
    document = read(docx, word(body))
    assert [block.links for block in document.blocks] == [(), ("Other plans",), ()]


def test_tables_name_the_columns_of_their_cells() -> None:
    body = (
        "<w:tbl>"
        + tr(tc(p("Plan")), tc(p("Price"), '<w:gridSpan w:val="2"/>'), properties="<w:tblHeader/>")
        + tr(tc(p("")), tc(p("2023")), tc(p("2024")), properties="<w:tblHeader/>")
        + tr(tc(p("Basic"), '<w:vMerge w:val="restart"/>'), tc(p("$3")), tc(p("$4") + p("net")))
        + tr(tc(p("")  , "<w:vMerge/>"), tc(p("3 €")), tc(p("4 €")))
        + tr(tc(p("Old")), tc(p("1")), tc(p("2")), properties="<w:del/>")
        + "</w:tbl>"
    )  # fmt: skip
    document = read(docx, word(body))
    assert shown(document) == [
        "header: Plan | Price 2023 | Price 2024",
        "row: Basic | $3 | $4 net", "row: Basic | 3 € | 4 €",
    ]  # fmt: skip
    assert [
        (cell.header, document.text[cell.start : cell.end]) for cell in document.blocks[1].cells
    ] == [("Plan", "Basic"), ("Price 2023", "$3"), ("Price 2024", "$4 net")]


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([["Plan", "Space", "Price"], ["Basic", "4 TB", "$4"]], ["header", "row"]),
        ([["Year", "Sales"], ["north", "5"], ["south", "7"]], ["header", "row", "row"]),
        ([["Name", "Ann"], ["City", "Kestle"]], ["row", "row"]),
        ([["1", "2", "3"], ["4", "5", "6"]], ["row", "row"]),
        ([["Prices"], ["A paragraph."]], ["paragraph", "paragraph"]),
        ([["Prices", ""], ["Plan", "Price"], ["Basic", "4"]], ["paragraph", "header", "row"]),
    ],
)
def test_headers_are_guessed_by_what_stands_below(rows: list[list[str]], kinds: list[str]) -> None:
    body = "".join(tr(*(tc(p(text)) for text in row)) for row in rows)
    document = read(docx, word(f"<w:tbl>{body}</w:tbl>"))
    assert [block.kind for block in document.blocks] == kinds


def test_bold_and_styles_of_tables_mark_headers() -> None:
    bold = f"<w:p>{r('Name', '<w:b/>')}</w:p>"
    marked = f"<w:tbl>{tr(tc(bold), tc(bold))}{tr(tc(p('City')), tc(p('Kestle')))}</w:tbl>"
    look = '<w:tblPr><w:tblStyle w:val="Raster"/><w:tblLook w:val="0020"/></w:tblPr>'
    styled = f"<w:tbl>{look}{tr(tc(p('a')), tc(p('b')))}{tr(tc(p('c')), tc(p('d')))}</w:tbl>"
    kinds = [block.split(":")[0] for block in blocks(marked + p("Text") + styled)]
    assert kinds == ["header", "row", "paragraph", "header", "row"]


def test_tables_within_cells_follow_the_text_around_them() -> None:
    inner = f"<w:tbl>{tr(tc(p('a')), tc(p('b')))}</w:tbl>"
    assert blocks(f"<w:tbl>{tr(tc(p('Left', 'berschrift1') + inner), tc(p('Right')))}</w:tbl>") == [
        "heading1: Left", "row: a | b", "paragraph: Right",
    ]  # fmt: skip


def test_quotes_and_code_keep_their_kind() -> None:
    body = p("Said", "Zitat") + p("def f():", "Quelltext") + p("    pass", "Quelltext") + p("Text")
    assert blocks(body) == ["quote: Said", "code: def f():\n    pass", "paragraph: Text"]


CORE = f"""<c {SPACES}><dc:title>{{}}</dc:title><dc:creator> Ann
Lee </dc:creator><created>2024-03-01T10:00:00Z</created><keywords>tax, law; tax</keywords></c>"""


@pytest.mark.parametrize(
    ("body", "given", "title"),
    [
        (p("Shown", "Titel"), "Given", "Shown"),
        (p("Heading", "berschrift1"), "Given", "Given"),
        (p("Heading", "berschrift1"), "", "Heading"),
        (p("Heading", "berschrift1"), "Microsoft Word - a.doc", "Heading"),
        (p("Text") + p("Heading", "berschrift1"), "Word Document", "my file"),
    ],
)
def test_title_and_metadata(body: str, given: str, title: str) -> None:
    document = read(docx, word(body, docProps_core=CORE.format(given)))
    assert document.title == title
    assert document.metadata == {
        "author": "Ann Lee",
        "created": "2024-03-01T10:00:00Z",
        "keywords": ["tax", "law"],
    }


def test_values_of_charts_stand_with_their_categories() -> None:
    def points(*values: str) -> str:
        cached = "".join(
            f'<c:pt idx="{number}"><c:v>{value}</c:v></c:pt>' for number, value in enumerate(values)
        )
        return f"<c:strRef><c:strCache>{cached}</c:strCache></c:strRef>"

    chart = (
        f"<c:chartSpace {SPACES}><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title>"
        f"<c:ser><c:tx>{points('North')}</c:tx><c:cat>{points('Kestle', 'Orre')}</c:cat>"
        f"<c:val>{points('1820', '940')}</c:val></c:ser>"
        f"<c:ser><c:tx>{points('South')}</c:tx><c:val>{points('7')}</c:val></c:ser>"
        "</c:chartSpace>"
    )
    body = '<w:p><w:r><w:drawing><c:chart r:id="chart"/></w:drawing></w:r></w:p>'
    assert blocks(body, **{"word_charts/chart1": chart}) == [
        "paragraph: Sales", "header: | North | South", "row: Kestle | 1820 | 7",
        "row: Orre | 940 |",
    ]  # fmt: skip


def test_strict_documents_are_read() -> None:
    common = "http://schemas.openxmlformats.org/wordprocessingml/2006/"
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/"
    data = edited(word(p("Heading", "berschrift1")), lambda text: text.replace(common, strict))
    assert shown(read(docx, data)) == ["heading1: Heading"]


def test_what_can_not_be_read_is_named() -> None:
    refused(docx, b"text", "not a complete zip package")
    refused(docx, package({"a.txt": "text"}), "without a document")
    refused(docx, word(""), "holds no text")
    refused(docx, word("<broken"), "not well-formed")
    refused(docx, word("<w:tbl>" * 300 + "</w:tbl>" * 300), "nested more than")
    other = {
        "_rels/.rels": relations(("1", "officeDocument", "p.xml")),
        "p.xml": f"<p:presentation {SPACES}/>",
    }
    refused(docx, package(other), "holds a 'presentation'; expected a Word document")
    items = list(docx.load(SourceFile("a.docx", word("<w:altChunk/>" + p("Text")))))
    assert [str(found) for found in items if isinstance(found, Problem)] == [
        "a.docx: holds another file as a part, which is not read"
    ]
    # Damaged styles cost only the styles.
    assert blocks(p("Text", "berschrift1"), word_styles="<broken") == ["paragraph: Text"]


def test_deep_nesting_is_read_without_recursion_errors() -> None:
    body = p("Deep")
    for _ in range(30):
        body = f"<w:tbl>{tr(tc(body))}</w:tbl>"
    assert blocks(body) == ["paragraph: Deep"]


@pytest.mark.parametrize(
    ("count", "kind", "number"),
    [
        (4, "lowerRoman", "iv"), (1994, "romanUcPeriod", "MCMXCIV"), (5000, "I", "5000"),
        (26, "a", "z"), (28, "alphaUcParenR", "BB"), (7, "decimal", "7"), (7, "decimalZero", "07"),
        (0, "lowerLetter", "0"), (7, "bullet", ""),
    ],
)  # fmt: skip
def test_numbers(count: int, kind: str, number: str) -> None:
    assert written(count, kind) == number


@given(st.integers(), st.sampled_from(["i", "A"]))
def test_numbers_of_any_size_are_short(count: int, kind: str) -> None:
    assert 0 < len(written(count, kind)) <= max(30, len(str(count)))


def test_struck_text_is_left_out_and_comments_headers_and_footers_are_read() -> None:
    comment = f'<w:comment w:id="5" w:author="Ann">{p("Is it?")}</w:comment>'
    comments = f"<w:comments {SPACES}>{comment}</w:comments>"
    off = '<w:strike w:val="0"/>'
    body = (
        f"<w:p>{r('It costs ')}{r('four', '<w:strike/>')}{r('five', off)}"
        '<w:r><w:commentReference w:id="5"/></w:r></w:p>' + p("End")
    )
    header = f"<w:hdr {SPACES}>{p('Contract 7', 'berschrift1')}{p('Page 1')}{p('Page 1')}</w:hdr>"
    footer = f"<w:ftr {SPACES}>{p('VAT 889')}{p('3')}</w:ftr>"
    parts = {"word_comments": comments, "word_header1": header, "word_footer1": footer}
    document = read(docx, word(body, **parts))
    assert shown(document) == [
        "paragraph: Contract 7", "paragraph: Page 1", "paragraph: It costs five",
        "paragraph: Comment (Ann): Is it?", "paragraph: End", "paragraph: VAT 889",
    ]  # fmt: skip
    assert document.title == "my file"


def test_a_bomb_and_a_missing_relation_are_no_danger(monkeypatch: pytest.MonkeyPatch) -> None:
    assert blocks(f'<w:p><w:hyperlink r:id="none">{r("kept")}</w:hyperlink></w:p>') == [
        "paragraph: kept"
    ]
    monkeypatch.setattr(zip_package, "MAX_PACKAGE", 1000)
    refused(docx, word(p("x" * 2000)), "unpacks to")


@given(st.binary(max_size=300), st.integers(0, 3000))
def test_damage_is_refused_or_read(noise: bytes, at: int) -> None:
    whole = word(p("Heading", "berschrift1") + p("Text"))
    data = whole[:at] + noise + whole[at + len(noise) :]
    survives_damage(docx, data)
