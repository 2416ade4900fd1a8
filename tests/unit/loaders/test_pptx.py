"""Presentations: slides in order, with titles, lists, tables and notes."""

import pytest

from memnet.errors import Problem
from memnet.loaders.formats import SourceFile
from memnet.loaders.office import pptx
from tests.unit.loaders.office import SPACES, package, read, refused, relations, shown


def deck(*slides: str, core: str = "", **parts: str) -> bytes:
    """Slides whose files are numbered against their order."""
    count = len(slides)
    files = [f"slides/slide{count - number}.xml" for number in range(count)]
    ids = "".join(f'<p:sldId r:id="r{number}"/>' for number in range(count))
    listed = f"<p:presentation {SPACES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    content = {
        f"ppt/{file}": f"<p:sld {SPACES}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>"
        for file, slide in zip(files, slides, strict=True)
    }
    return package(
        {
            "_rels/.rels": relations(
                ("1", "officeDocument", "ppt/presentation.xml"),
                ("2", "core-properties", "core.xml"),
            ),
            "core.xml": f"<c {SPACES}><dc:title>{core}</dc:title></c>",
            "ppt/presentation.xml": listed,
            "ppt/_rels/presentation.xml.rels": relations(
                *((f"r{number}", "slide", file) for number, file in enumerate(files))
            ),
            **content,
            **parts,
        }
    )


def shape(*paragraphs: str, kind: str | None = None, top: int | None = None) -> str:
    """A text box, or a placeholder of a kind ("" for one without a type)."""
    placeholder = "" if kind is None else f'<p:ph type="{kind}"/>' if kind else '<p:ph idx="1"/>'
    place = "" if top is None else f'<p:spPr><a:xfrm><a:off x="0" y="{top}"/></a:xfrm></p:spPr>'
    body = "".join(text if text.startswith("<") else p(text) for text in paragraphs)
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>{place}"
        f"<p:txBody>{body}</p:txBody></p:sp>"
    )


def p(text: str, properties: str = "", level: int = 0) -> str:
    return f'<a:p><a:pPr lvl="{level}">{properties}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'


def test_slides_stand_in_the_order_they_are_shown() -> None:
    document = read(
        pptx,
        deck(
            shape("Welcome", kind="ctrTitle") + shape("of Kestle", kind="subTitle"),
            shape("One", p("Under one", level=1), kind="") + shape("Ports", kind="title"),
        ),
    )
    assert shown(document) == [
        "heading2: Welcome", "paragraph: of Kestle",
        "heading2: Ports", "item: - One", "item1: - Under one",
    ]  # fmt: skip
    assert [(block.place, block.opens) for block in document.blocks] == [
        ("slide 1", True), ("slide 1", False),
        ("slide 2", True), ("slide 2", False), ("slide 2", False),
    ]  # fmt: skip
    assert document.title == "Welcome"


def test_lists_are_numbered_per_level() -> None:
    number = '<a:buAutoNum type="{}" startAt="3"/>'
    body = shape(
        p("a", number.format("arabicPeriod")),
        p("b", number.format("alphaLcParenR"), 1),
        p("c", number.format("romanUcParenBoth"), 1),
        p("d", number.format("arabicPeriod")),
        p("e", number.format("alphaUcPlain"), 1),
        p("f"),
        p("g", number.format("arabicPeriod")),
        p("h", '<a:buChar char="x"/>'),
        "• typed",
    )
    assert shown(read(pptx, deck(body))) == [
        "item: 3. a", "item1: c) b", "item1: (IV) c", "item: 4. d", "item1: C e",
        "paragraph: f", "item: 3. g", "item: - h", "item: - typed",
    ]  # fmt: skip


def test_what_stands_on_each_slide_is_left_out() -> None:
    number = '<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>'
    body = shape("Today", kind="dt") + shape("Foot", kind="ftr") + shape("1", kind="sldNum")
    document = read(pptx, deck(body + shape("Body", kind="body") + shape(number)))
    assert shown(document) == ["item: - Body"]


def test_the_topmost_text_is_the_title_of_a_slide_without_one() -> None:
    body = shape("Body text", top=3_000_000) + shape("Ports", "of call", top=300_000)
    assert shown(read(pptx, deck(body))) == ["heading2: Ports of call", "paragraph: Body text"]
    low = shape("Body text", top=3_000_000) + shape("Low", top=2_000_000)
    assert shown(read(pptx, deck(low))) == ["paragraph: Body text", "paragraph: Low"]
    long = shape("word " * 30, top=0)
    assert shown(read(pptx, deck(long)))[0].startswith("paragraph: word")


def test_tables_groups_links_and_diagrams() -> None:
    def tc(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{p(text)}</a:txBody></a:tc>"

    table = (
        '<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="1"/>'
        f"<a:tr>{tc('Port')}{tc('Tugs')}</a:tr><a:tr>{tc('Kestle')}{tc('4')}</a:tr>"
        f"<a:tr>{tc('', 'vMerge=' + chr(34) + '1' + chr(34))}{tc('5')}</a:tr>"
        "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    linked = (
        '<a:p><a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>plan</a:t></a:r>'
        "<a:br/><a:r><a:t>more</a:t></a:r></a:p>"
    )
    diagram = (
        '<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="d"/></a:graphicData>'
        "</a:graphic></p:graphicFrame>"
    )
    points = "".join(f"<dgm:pt><dgm:t>{p(text)}</dgm:t></dgm:pt>" for text in ("Plan", "Do"))
    document = read(
        pptx,
        deck(
            f"<p:grpSp><p:grpSp>{shape(linked)}</p:grpSp></p:grpSp>{table}{diagram}",
            **{
                "ppt/slides/_rels/slide1.xml.rels": relations(
                    ("l", "hyperlink", "the%20plan.pptx"), ("d", "diagramData", "d.xml")
                ),
                "ppt/slides/d.xml": f"<dgm:dataModel {SPACES}>{points}</dgm:dataModel>",
            },
        ),
    )
    assert shown(document) == [
        "paragraph: plan\nmore",
        "header: Port | Tugs", "row: Kestle | 4", "row: Kestle | 5",
        "paragraph: Plan", "paragraph: Do",
    ]  # fmt: skip
    assert document.blocks[0].links == ("the plan",)
    assert [cell.header for cell in document.blocks[2].cells] == ["Port", "Tugs"]


def test_notes_and_sections() -> None:
    notes = f"<p:notes {SPACES}><p:cSld><p:spTree>{shape('7', kind='sldNum')}"
    notes += f"{shape('Say it.', 'Slowly.', kind='body')}</p:spTree></p:cSld></p:notes>"
    document = read(
        pptx,
        deck(
            shape("Part", kind="title"),
            **{
                "ppt/slides/_rels/slide1.xml.rels": relations(
                    ("n", "notesSlide", "../notes.xml"), ("l", "slideLayout", "../layout.xml")
                ),
                "ppt/notes.xml": notes,
                "ppt/layout.xml": f'<p:sldLayout {SPACES} type="secHead"/>',
            },
        ),
    )
    assert shown(document) == ["heading1: Part", "paragraph: Notes: Say it.\nSlowly."]


@pytest.mark.parametrize(
    ("first", "core", "title"),
    [
        (shape("Shown", kind="title"), "Given", "Shown"),
        (shape("Text", kind="body"), "Given", "Given"),
        (shape("Text", kind="body"), "PowerPoint Presentation", "my file"),
    ],
)
def test_titles(first: str, core: str, title: str) -> None:
    assert read(pptx, deck(first, core=core), "my-file.pptx").title == title


def test_what_can_not_be_read_is_named() -> None:
    refused(pptx, deck(), "holds no text")
    refused(pptx, deck("<broken"), "has no slide that can be read")
    items = list(pptx.load(SourceFile("a.pptx", deck(shape("Text"), "<broken"))))
    assert [str(item)[:18] for item in items if isinstance(item, Problem)] == ["a.pptx, slide 2: h"]
    document = read(pptx, deck("<broken", shape("Text")))
    assert [block.place for block in document.blocks] == ["slide 2"]
