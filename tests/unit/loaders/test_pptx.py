"""Presentations: slides in order, with titles, lists, tables, charts and notes."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Emu

from memnet.errors import Problem
from memnet.loaders import package as zip_package
from memnet.loaders.formats import SourceFile
from memnet.loaders.office import pptx
from tests.unit.loaders.office import SPACES, edited, read, refused, shown

TITLE_SLIDE, BULLETS, SECTION, TITLE_ONLY, BLANK = 0, 1, 2, 5, 6


def deck(*slides: tuple[int, Callable[[Any], None]], title: str = "") -> bytes:
    """Slides of a layout each, filled by functions."""
    presentation = Presentation()
    presentation.core_properties.title = title
    for layout, fill in slides:
        fill(presentation.slides.add_slide(presentation.slide_layouts[layout]))
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def texts(*lines: str) -> Callable[[Any], None]:
    """Fills the placeholders of a slide in order; levels are given by leading tabs."""

    def fill(slide: Any) -> None:
        for holder, given in zip(slide.placeholders, lines, strict=False):
            holder.text = given.replace("\t", "")
            split = given.split("\n")
            for paragraph, line in zip(holder.text_frame.paragraphs, split, strict=True):
                paragraph.level = line.count("\t")

    return fill


def box(slide: Any, text: str, top: int = 3_000_000) -> Any:
    found = slide.shapes.add_textbox(Emu(0), Emu(top), Emu(900_000), Emu(900_000))
    found.text_frame.text = text
    return found


def test_slides_stand_in_the_order_they_are_shown() -> None:
    first = TITLE_SLIDE, texts("Welcome", "of Kestle")
    document = read(pptx, deck(first, (BULLETS, texts("Ports", "One\n\tUnder"))))
    assert shown(document) == [
        "heading1: Welcome", "paragraph: of Kestle",
        "heading2: Ports", "item: - One", "item1: - Under",
    ]  # fmt: skip
    assert [block.place for block in document.blocks] == ["slide 1"] * 2 + ["slide 2"] * 3
    assert [block.opens for block in document.blocks] == [True, False, True, False, False]
    assert document.title == "Welcome"


def test_lists_are_numbered_per_level() -> None:
    kinds = [
        ("a", 0, 'buAutoNum type="arabicPeriod" startAt="3"'),
        ("b", 1, 'buAutoNum type="alphaLcParenR" startAt="3"'),
        ("c", 1, 'buAutoNum type="romanUcParenBoth"'),
        ("d", 0, 'buAutoNum type="arabicPeriod" startAt="3"'),
        ("e", 0, "buNone"),
        ("f", 0, 'buAutoNum type="arabicPlain"'),
        ("g", 0, 'buChar char="x"'),
        ("• typed", 0, "buNone"),
    ]
    data = deck((BLANK, lambda slide: box(slide, "\n".join(text for text, *_ in kinds)) and None))

    def number(xml: str) -> str:
        for text, level, mark in kinds:
            written = text.encode().decode("latin-1")
            xml = xml.replace(
                f"<a:p><a:r><a:t>{written}<",
                f'<a:p><a:pPr lvl="{level}"><a:{mark}/></a:pPr><a:r><a:t>{written}<',
            )
        return xml

    assert shown(read(pptx, edited(data, number, "ppt/slides/slide1.xml"))) == [
        "item: 3. a", "item1: c) b", "item1: (IV) c", "item: 4. d", "paragraph: e", "item: 1 f",
        "item: - g", "item: - typed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("boxes", "lines"),
    [
        (
            {"Ports of call": 300_000, "Body": 3_000_000},
            ["heading2: Ports of call", "paragraph: Body"],
        ),
        ({"Low": 2_000_000, "Body": 3_000_000}, ["paragraph: Low", "paragraph: Body"]),
        ({"word " * 30: 0}, ["paragraph: " + ("word " * 30).strip()]),
    ],
)
def test_the_topmost_text_is_the_title_of_a_slide_without_one(
    boxes: dict[str, int], lines: list[str]
) -> None:
    def fill(slide: Any) -> None:
        for text, top in boxes.items():
            box(slide, text, top)

    assert shown(read(pptx, deck((BLANK, fill)))) == lines


def test_tables_charts_groups_links_and_notes() -> None:
    def fill(slide: Any) -> None:
        slide.shapes.title.text = "Part"
        group = slide.shapes.add_group_shape().shapes.add_group_shape()
        run = box(group, "").text_frame.paragraphs[0].add_run()
        run.text, run.hyperlink.address = "plan", "the%20plan.pptx"
        sizes = (Emu(0), Emu(0), Emu(900_000), Emu(900_000))
        table = slide.shapes.add_table(3, 2, *sizes).table
        for row, cells in enumerate([("Port", "Tugs"), ("Kestle", "4"), ("", "5")]):
            for column, text in enumerate(cells):
                table.cell(row, column).text = text
        table.cell(1, 0).merge(table.cell(2, 0))
        data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
        data.categories = ["Kestle", "Orre"]
        data.add_series("Passengers", (1820, 940))
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *sizes, data)
        slide.notes_slide.notes_text_frame.text = "Say it.\nSlowly."

    document = read(pptx, deck((TITLE_ONLY, fill)))
    assert shown(document) == [
        "heading2: Part", "paragraph: plan",
        "header: Port | Tugs", "row: Kestle | 4", "row: Kestle | 5",
        "header: | Passengers", "row: Kestle | 1820", "row: Orre | 940",
        "paragraph: Notes: Say it.\nSlowly.",
    ]  # fmt: skip
    assert document.blocks[1].links == ("the plan",)
    assert [cell.header for cell in document.blocks[4].cells] == ["Port", "Tugs"]


@pytest.mark.parametrize(
    ("layout", "text", "given", "title"),
    [
        (TITLE_ONLY, "Shown", "Given", "Shown"),
        (BLANK, "Text", "Given", "Given"),
        (BLANK, "Text", "PowerPoint Presentation", "my file"),
    ],
)
def test_titles(layout: int, text: str, given: str, title: str) -> None:
    fill = texts(text) if layout == TITLE_ONLY else lambda slide: box(slide, text) and None
    assert read(pptx, deck((layout, fill), title=given), "my-file.pptx").title == title


def test_what_can_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(pptx, b"text", "not a complete zip package")
    refused(pptx, deck(), "holds no text")
    whole = deck((TITLE_ONLY, texts("One")), (TITLE_ONLY, texts("Two")))
    refused(pptx, whole[:-50], "not a complete zip package")
    other = edited(whole, lambda _: f"<w:document {SPACES}/>", "ppt/presentation.xml")
    refused(pptx, other, "holds a 'document'; expected a PowerPoint presentation")
    broken = edited(whole, lambda _: "<broken", "ppt/slides/slide2.xml")
    items = list(pptx.load(SourceFile("a.pptx", broken)))
    assert [item.where for item in items if isinstance(item, Problem)] == ["a.pptx, slide 2"]
    monkeypatch.setattr(zip_package, "MAX_PACKAGE", 1000)
    refused(pptx, whole, "of more than")
