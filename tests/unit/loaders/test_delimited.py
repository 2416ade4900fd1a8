"""Tables in text: delimiters, quotes, encodings, headers, and damage."""

import csv
import io
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.ingest.selection import FACT_TABLE, ReadOptions, choose_format
from memnet.loaders.formats import SourceFile
from memnet.loaders.tables import delimited
from memnet.loaders.tables.delimited import find_delimiter
from tests.unit.loaders.office import read, refused, shown


def rows(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    return [line.removeprefix("row: ") for line in shown(read(delimited, data))]


PLANS = ["Plan: Basic; Price: 4", "Plan: Family, large; Price: 9"]


@pytest.mark.parametrize(
    "data",
    [
        b'Plan,Price\nBasic,4\n"Family, large",9\n',
        b'Plan;Price\r\nBasic;4\r\nFamily, large;9\r\n',
        b"Plan\tPrice\nBasic\t4\nFamily, large\t9",
        b"Plan|Price\nBasic|4\nFamily, large|9",
        b"sep=;\r\nPlan;Price\nBasic;4\nFamily, large;9\n",
        b'\xef\xbb\xbfPlan, Price\n\nBasic, 4\n,,\n"Family, large", 9\n',
        "Plan;Price\nBasic;4\nFamily, large;9".encode("utf-16"),
    ],
)  # fmt: skip
def test_delimiters_quotes_and_encodings(data: bytes) -> None:
    assert rows(data) == PLANS


def test_places_are_the_lines_of_the_file() -> None:
    document = read(delimited, b'Name,Text\nA,"two\nlines"\n\nB,one\n', "my-notes.csv")
    assert [block.place for block in document.blocks] == ["line 2", "line 5"]
    assert document.title == "my notes"
    assert shown(document)[0] == "row: Name: A; Text: two lines"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,2,3\n4,5,6\n", ["1 | 2 | 3", "4 | 5 | 6"]),
        ("a,b,c\n1,x\n2,y,z,w\n", ["a: 1; b: x", "a: 2; b: y; c: z; w"]),
        ("name,size\nGröße,5\n", ["name: Größe; size: 5"]),
        ('size,in\nx,"5\n' + "y,6\n" * 60, ['size: x; in: "5'] + ["size: y; in: 6"] * 60),
        ("a;b\n1,5;2\n2,5;3\n", ["a: 1,5; b: 2", "a: 2,5; b: 3"]),
        (",2021,2022\nDell,3,4\n", ["Dell; 2021: 3; 2022: 4"]),
        (
            ",Ann,Bo\nMon,late,off\nTue,off,late\n",
            ["Mon; Ann: late; Bo: off", "Tue; Ann: off; Bo: late"],
        ),
        (
            ",Rent,Rent,Wage,Wage\nPort,2021,2022,2021,2022\nDell,1,2,3,4\n",
            ["Port: Dell; Rent 2021: 1; Rent 2022: 2; Wage 2021: 3; Wage 2022: 4"],
        ),
        ("1850,1,1850\n1851,2,7\n", ["1850 | 1 | 1850", "1851 | 2 | 7"]),
    ],
)  # fmt: skip
def test_headers_ragged_rows_and_lost_quotes(text: str, found: list[str]) -> None:
    assert rows(text) == found


def test_western_encodings_are_read() -> None:
    assert rows("Straße;Größe\nAm Markt;5\n".encode("cp1252")) == ["Straße: Am Markt; Größe: 5"]


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("Kestle\tharbour of\tOrre\nPetrel\tbuilt by\tAnn\n", False),
        ("Plan\tPrice\nBasic\t4\n", True),
        ("a\tb\tc\td\n1\t2\t3\t4\n", True),
        ("a\tb\tc\td\nx\ty\tz\nx\ty\tz\nx\ty\tz\n", False),
        ("Kestle | harbour of | Orre\n", False),
        ("Tree\tAge\tStands in\nYew\t800\tyard\nElm\t45\tlane\n", True),
        ("Child\tHouse\tAnimal\nRuta\tHill\totter\nEmin\tMill\theron\n", True),
        ("Boat\tRig\tLength\nTern\tketch\t9\nSkua\tketch\t11\n", True),
        ("Orre\tmade of\toak\nOrre\tbuilt by\tAnn\nPetrel\tlies in\tEly\n", False),
        ("Ann\tborn in\t1901\nBo\tborn in\t1920\nCy\tborn in\t1931\n", False),
        ("", False),
    ],
)
def test_tables_of_data_are_told_from_those_of_facts(text: str, table: bool) -> None:
    chosen = choose_format(Path("a.tsv"), ReadOptions(), text.encode())
    assert (chosen is not FACT_TABLE) == table
    said = choose_format(Path("a.tsv"), ReadOptions(facts=True), text.encode())
    assert (said is not FACT_TABLE) == (table and text.split("\n")[0].count("\t") != 2)


def test_what_can_not_be_read_is_named() -> None:
    refused(delimited, b"", "holds no values")
    refused(delimited, b"\n,,\n", "holds no values")
    refused(delimited, b"," * 20_000 + b"x", "more than 16,384 values in line 1")
    refused(delimited, b"a,b\n" + b"x" * 200_000 + b",1\n", "more than 131,072 characters")
    refused(delimited, b"\x89PNG\r\n\x1a\n\x00", "is binary")
    with pytest.raises(InputError, match="more than 100 characters"):
        list(delimited.load(SourceFile("a", b"a,b\n" + b"1,2\n" * 100, max_characters=100)))


@pytest.mark.parametrize(
    "data",
    [b'"' * 400_000, b'",' * 100_000, b'a,b\n"x,' + b"y\n" * 50_000, b'a,b\n5",6\n' * 20_000],
)
def test_hostile_quotes_cost_linear_time(data: bytes) -> None:
    start = time.process_time()
    with suppress(InputError):
        list(delimited.load(SourceFile("a.csv", data)))
    assert time.process_time() - start < 20


VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8)


@given(
    st.lists(st.lists(VALUES, min_size=2, max_size=4), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
)
def test_each_value_is_in_the_text(table: list[list[str]], delimiter: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(table)
    text = file.getvalue()
    if find_delimiter(text) != delimiter or not any(
        value.strip() for row in table for value in row
    ):
        return
    document = read(delimited, text.encode())
    lines = {int(block.place.removeprefix("line ")) for block in document.blocks}
    left_out = 0
    for line, row in enumerate(table, start=1):
        values = [" ".join(value.split()) for value in row]
        if line in lines:
            assert all(value in " ".join(document.text.split()) for value in values)
        else:
            left_out += any(values)
    assert left_out <= 2  # the rows of headers, which are written where there is a value


def test_a_row_that_ends_before_the_second_of_two_tables_does_no_harm() -> None:
    text = "a,b,,c,d\nx\n1,2,,3,4\n5,6,,7,8\n"
    document = read(delimited, text.encode())
    assert all(word in document.text for word in ("c", "x", "8"))
