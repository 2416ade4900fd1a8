"""Spreadsheets: tables in sheets, headers, values and places."""

from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xlsxwriter import Workbook  # type: ignore[import-untyped]

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.tables import sheets
from memnet.loaders.tables.sheets import cell_text, column_name
from tests.unit.loaders.office import package, read, refused, relations, shown
from tests.unit.loaders.test_opendocument import SPACES, content

Grid = dict[str, Any]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def xlsx(*named: tuple[str, Grid], merged: tuple[str, ...] = ()) -> bytes:
    """A workbook of sheets, which are cells by place."""
    parts: dict[str, str] = {}
    listed = ""
    for number, (name, grid) in enumerate(named, start=1):
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        rows: dict[int, str] = {}
        for place, value in grid.items():
            row = int(place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
            if isinstance(value, str):
                cell = f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
            elif isinstance(value, bool):
                cell = f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
            elif isinstance(value, date):
                days = (value - date(1899, 12, 30)).days
                cell = f'<c r="{place}" s="1"><v>{days}</v></c>'
            else:
                cell = f'<c r="{place}"><v>{value!r}</v></c>'
            rows[row] = rows.get(row, "") + cell
        data = "".join(f'<row r="{row}">{cells}</row>' for row, cells in sorted(rows.items()))
        areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
        merges = f"<mergeCells>{areas}</mergeCells>" if areas else ""
        parts[f"xl/sheet{number}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData>{merges}</worksheet>'
        )
    kinds = [
        (f"r{number}", "worksheet", f"sheet{number}.xml") for number in range(1, len(named) + 1)
    ]
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    space = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
    return package(
        {
            "_rels/.rels": relations(("1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{office}"><sheets>{listed}'
            "</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(*kinds, ("s", "styles", "styles.xml")).replace(
                "<Relationships>", f"<Relationships {space}>"
            ),
            "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
            '<xf numFmtId="14"/></cellXfs></styleSheet>',
            **parts,
        }
    )  # fmt: skip


def grid(text: str, top: int = 1) -> Grid:
    """Cells of lines with bars between the values; numbers are numbers."""
    found: Grid = {}
    for row, line in enumerate(text.split("\n"), start=top):
        for column, value in enumerate(line.split("|")):
            if value.strip():
                try:
                    found[f"{column_name(column)}{row}"] = float(value)
                except ValueError:
                    found[f"{column_name(column)}{row}"] = value.strip()
    return found


def rows(cells: Grid, merged: tuple[str, ...] = ()) -> list[str]:
    return shown(read(sheets, xlsx(("S", cells), merged=merged)))[1:]


def test_rows_name_their_columns_and_places() -> None:
    cells = grid("Plan|Price|From\nBasic|4|x\nFamily|4.5|y") | {"C2": date(2024, 3, 1)}
    document = read(sheets, xlsx(("Q1 plans", cells), ("Empty", {}), ("More", {"B3": "Alone"})))
    assert shown(document) == [
        "heading1: Q1 plans",
        "row: Plan: Basic; Price: 4; From: 2024-03-01",
        "row: Plan: Family; Price: 4.5; From: y",
        "heading1: More",
        "paragraph: Alone",
    ]
    assert [(block.place, block.opens) for block in document.blocks] == [
        ("Q1 plans", True), ("Q1 plans!A2:C2", False), ("Q1 plans!A3:C3", False),
        ("More", True), ("More!B3", False),
    ]  # fmt: skip
    assert [
        (cell.header, document.text[cell.start : cell.end], cell.place)
        for cell in document.blocks[2].cells
    ] == [
        ("Plan", "Family", "Q1 plans!A3"),
        ("Price", "4.5", "Q1 plans!B3"),
        ("From", "y", "Q1 plans!C3"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Plan|Price\nBasic|4", ["row: Plan: Basic; Price: 4"]),
        ("Prices\n\nPlan|Price\nBasic|4", ["paragraph: Prices", "row: Plan: Basic; Price: 4"]),
        ("Prices\nPlan|Price\nBasic|4", ["paragraph: Prices", "row: Plan: Basic; Price: 4"]),
        (
            f"{'long ' * 20}|see 1\nPlan|Price|Space|From\nBasic|4|5|6",
            [f"paragraph: {'long ' * 20}see 1", "row: Plan: Basic; Price: 4; Space: 5; From: 6"],
        ),
        ("1|2\n3|4", ["row: 1 | 2", "row: 3 | 4"]),
        ("Name:|Ann\nPlace:|Kestle", ["row: Name: | Ann", "row: Place: | Kestle"]),
        (
            "Firm|Orre\nStaff|50\nSeat|Kestle\nFounded|1999",
            ["row: Firm | Orre", "row: Staff | 50", "row: Seat | Kestle", "row: Founded | 1999"],
        ),
        ("Land|2022|2023\nA|1|2", ["row: Land: A; 2022: 1; 2023: 2"]),
        ("Plan|Price\n\nX", ["row: Plan | Price", "paragraph: X"]),
        (
            "|2023||2024|\nPort|In|Out|In|Out\nKestle|1|2|3|4",
            ["row: Port: Kestle; 2023 In: 1; 2023 Out: 2; 2024 In: 3; 2024 Out: 4"],
        ),
        (
            "Kind|Share|Number\n|of all|of ships\nTug|0.5|7",
            ["row: Kind: Tug; Share of all: 0.5; Number of ships: 7"],
        ),
        ("a\nb\nc\nd", ["row: a", "row: b", "row: c", "row: d"]),
    ],
)
def test_headers_and_titles_are_found(text: str, found: list[str]) -> None:
    assert rows(grid(text)) == found


def test_tables_below_and_beside_each_other_are_their_own() -> None:
    below = "Plan|Price\nBasic|4\n\nPort|Tugs|Since\nKestle|2|1990\nOrre|3|1991"
    assert rows(grid(below)) == [
        "row: Plan: Basic; Price: 4",
        "row: Port: Kestle; Tugs: 2; Since: 1990", "row: Port: Orre; Tugs: 3; Since: 1991",
    ]  # fmt: skip
    beside = "Plan|Price||Port|Tugs\nBasic|4||Kestle|2\nTeam|9||Orre|3"
    assert rows(grid(beside)) == [
        "row: Plan: Basic; Price: 4", "row: Plan: Team; Price: 9",
        "row: Port: Kestle; Tugs: 2", "row: Port: Orre; Tugs: 3",
    ]  # fmt: skip
    spaced = "Plan|2023||2024\nBasic|4||5\nTeam|9||10"
    assert rows(grid(spaced))[0] == "row: Plan: Basic; 2023: 4; 2024: 5"


def test_a_table_goes_on_after_an_empty_row() -> None:
    assert rows(grid("Plan|Price\nBasic|4\n\nTeam|9\nMore|10")) == [
        "row: Plan: Basic; Price: 4", "row: Plan: Team; Price: 9", "row: Plan: More; Price: 10",
    ]  # fmt: skip


def test_merged_cells_stand_in_each_row() -> None:
    cells = grid("Port|Ship|Length\nKestle|Orre|20\n|Petrel|30")
    assert rows(cells, ("A2:A3",))[1] == "row: Port: Kestle; Ship: Petrel; Length: 30"


def test_cells_merged_across_stand_in_each_column_below_texts_of_their_own() -> None:
    cells = grid(
        "Tides\n|2031||2032|\nQuay|Low|High|Low|High\nNorth|1|2|3|4\nSouth|5|closed||8\n"
        "Islands\nEast|dredged|||9\nWest|10|||"
    )
    merged = ("A1:E1", "B2:C2", "D2:E2", "C5:D5", "A6:E6", "B7:D7")
    assert rows(cells, merged) == [
        "paragraph: Tides",
        "row: Quay: North; 2031 Low: 1; 2031 High: 2; 2032 Low: 3; 2032 High: 4",
        "row: Quay: South; 2031 Low: 5; 2031 High: closed; 2032 Low: closed; 2032 High: 8",
        "row: Quay: Islands",
        "row: Quay: East; 2031 Low: dredged; 2031 High: dredged; 2032 Low: dredged; 2032 High: 9",
        "row: Quay: West; 2031 Low: 10",
    ]


def test_a_block_of_merged_cells_stands_in_each_of_them() -> None:
    cells = grid("Guide|Mon|Tue|Wed\nIda|lake|hill|hut\nPer|ill||hut\nSten|||lake")
    assert rows(cells, ("B3:C4",)) == [
        "row: Guide: Ida; Mon: lake; Tue: hill; Wed: hut",
        "row: Guide: Per; Mon: ill; Tue: ill; Wed: hut",
        "row: Guide: Sten; Mon: ill; Tue: ill; Wed: lake",
    ]


def test_numbers_read_as_their_cells_show_them() -> None:
    file = BytesIO()
    with Workbook(file) as workbook:
        percent, money, weight, code, day = (
            workbook.add_format({"num_format": code})
            for code in (10, '"$"#,##0.00', '0 "kg"', "00000", "dd/mm/yyyy")
        )
        workbook.add_worksheet("Notes").write_row("B2", ["Kind", "Count"])
        workbook.get_worksheet_by_name("Notes").write_row("B3", ["Rods", 0.25], percent)
        sheet = workbook.add_worksheet("Loads")
        sheet.write_row("B3", ["Load", "Share", "Fee", "Weight", "Code", "Day", "Plain"])
        sheet.write("B4", "Slate")
        for column, (value, shown_as) in enumerate(
            [(0.0725, percent), (1980, money), (640, weight), (372, code), (46000, day)], 2
        ):
            sheet.write(3, column, value, shown_as)
        sheet.write("H4", 0.0725)
    assert shown(read(sheets, file.getvalue())) == [
        "heading1: Notes",
        "row: Kind: Rods; Count: 25.00%",
        "heading1: Loads",
        "row: Load: Slate; Share: 7.25%; Fee: $1,980.00; Weight: 640 kg; Code: 00372; "
        "Day: 2025-12-09; Plain: 0.0725",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"), (0.1 + 0.2, "0.3"), (-1.50, "-1.5"), (1e20, "1e+20"),
        (123456789012345.0, "123456789012345"),
        (True, "TRUE"), (" a ", "a"), (date(2024, 3, 1), "2024-03-01"),
        (datetime(2024, 3, 1), "2024-03-01"), (datetime(2024, 3, 1, 9, 5), "2024-03-01 09:05"),
        (time(9, 5, 7), "09:05:07"), (timedelta(hours=30, seconds=61), "30:01:01"), (7, "7"),
    ],
)  # fmt: skip
def test_values_read_as_in_the_program(value: Any, text: str) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (time(7, 5), "h:mm", "7:05"), (time(17, 5, 9), "hh:mm:ss;@", "17:05:09"),
        (timedelta(hours=49), "[h]:mm", "49:00"), (timedelta(seconds=247), "m:ss", "4:07"),
        (timedelta(hours=2), "[mm]:ss", "120:00"), (timedelta(seconds=-90), "h:mm:ss", "-0:01:30"),
        (time(7, 5), "h:mm AM/PM", "07:05"), (timedelta(hours=3), "0.0", "3:00:00"),
    ],
)  # fmt: skip
def test_times_read_as_their_format_shows_them(value: Any, code: str, text: str) -> None:
    assert cell_text(value, code) == text


@given(st.integers(0, 20_000))
def test_names_of_columns_count(column: int) -> None:
    number = 0
    for letter in column_name(column):
        number = number * 26 + ord(letter) - ord("A") + 1
    assert number == column + 1


def test_text_has_a_limit() -> None:
    cells = grid("Plan|Price\n" + "\n".join(f"Basic {n}|{n}" for n in range(100)))
    with pytest.raises(InputError, match=r"more than 500 characters .* split it"):
        list(sheets.load(SourceFile("a.xlsx", xlsx(("S", cells)), max_characters=500)))


def test_what_can_not_be_read_is_named() -> None:
    refused(sheets, b"text", "not a readable workbook")
    refused(sheets, xlsx(("S", {})), "no cells with text")
    refused(sheets, xlsx(("S", {"A1": "x"}))[:300], "not a complete zip package")
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    refused(sheets, ole + bytes(600), "not a readable workbook")
    refused(sheets, ole + "EncryptedPackage".encode("utf-16-le"), "protected with a password")


def ods(body: str, **parts: str) -> bytes:
    sheet = f'<table:table table:name="T">{body}</table:table>'
    whole = content(f"<office:spreadsheet>{sheet}</office:spreadsheet>")
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return package({"mimetype": kind, "content.xml": whole, **parts})


def test_a_comment_stands_with_the_names_of_its_row() -> None:
    file = BytesIO()
    with Workbook(file) as workbook:
        sheet = workbook.add_worksheet("Tools")
        for row, cells in enumerate((("No", "Tool", "Cost"), ("T1", "Saw", 5), ("T2", "Plane", 9))):
            sheet.write_row(row, 0, cells)
        sheet.write_comment("C1", "In euros")
        sheet.write_comment("B3", "Blade is blunt.\nDo not lend.")
        sheet.write_comment("C2", "A gift")
        sheet.write_comment("D9", "Nothing here")
    found = read(sheets, file.getvalue(), "tools.xlsx")
    assert found.text.split("\n\n")[-4:] == [
        "Cost: In euros", "T1, Saw, 5: A gift", "T2, Plane: Blade is blunt. Do not lend.",
        "Nothing here",
    ]  # fmt: skip
    assert found.blocks[-2].place == "Tools!B3"


def test_open_document_sheets() -> None:
    def cell(text: str, kind: str = "string", extra: str = "") -> str:
        value = f'office:value-type="{kind}" {extra}'
        return f"<table:table-cell {value}>\n<text:p>{text}</text:p>\n</table:table-cell>"

    def row(*cells: str, extra: str = "") -> str:
        return f"<table:table-row {extra}>{''.join(cells)}</table:table-row>"

    body = (
        row(cell("Plan"), cell("Share"), cell("From"))
        + row(
            cell("Basic", extra='table:number-rows-spanned="2"'),
            cell("25 %", "percentage", 'office:value="0.25"'),
            cell("1.3.24", "date", 'office:date-value="2024-03-01"'),
            '<table:table-cell table:number-columns-repeated="16000"/>',
        )
        + row("<table:covered-table-cell/>", cell("50", "float", 'office:value="50"'), cell("x"))
        + row("<table:table-cell/>", extra='table:number-rows-repeated="1000"')
        + row(cell("Twice", extra='table:number-columns-repeated="2"'))
        + row("<table:table-cell/>", extra='table:number-rows-repeated="1048000"')
    )
    document = read(sheets, ods(body))
    assert shown(document) == [
        "heading1: T",
        "row: Plan: Basic; Share: 25 %; From: 2024-03-01",
        "row: Share: 50; From: x",
        "row: Twice | Twice",
    ]
    assert [block.place for block in document.blocks[1:]] == ["T!A2:C2", "T!B3:C3", "T!A1004:B1004"]
    refused(sheets, ods(""), "no cells with text")
    text = package(
        {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content("")}
    )
    refused(sheets, text, "not a spreadsheet")
    locked = {"META-INF/manifest.xml": "<manifest:encryption-data/>"}
    refused(sheets, ods(body, **locked), "protected with a password")
    flat = (
        f"<office:document {SPACES}><office:body><office:spreadsheet><table:table table:name='T'>"
    )
    flat += f"{body}</table:table></office:spreadsheet></office:body></office:document>"
    assert read(sheets, flat.encode()).text == document.text
    author = "<meta:initial-creator>Ann</meta:initial-creator>"
    meta = f'<d {SPACES}><m:meta xmlns:m="office"><dc:title>Plans</dc:title>{author}</m:meta></d>'
    named = read(sheets, ods(body, **{"meta.xml": meta}))
    assert (named.title, named.metadata) == ("Plans", {"author": "Ann"})


@given(st.binary(max_size=200), st.integers(0, 2500))
def test_damage_is_refused_or_read(noise: bytes, at: int) -> None:
    whole = xlsx(("S", grid("Plan|Price\nBasic|4")))
    try:
        items = list(sheets.load(SourceFile("a", whole[:at] + noise + whole[at:])))
    except InputError:
        return
    assert any(isinstance(found, ParsedDocument) for found in items)
