"""Facts of tables: subjects, relations, spans, and what makes none."""

import re

import pytest

from memnet.errors import Problem
from memnet.ingest.formats import ParsedFacts, table_facts
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.tables import delimited

PLANS = b"Plan,Price (USD),Space\nBasic,4,100 GB\nFamily,9,4 TB\n"


def table(data: bytes) -> ParsedDocument:
    (document,) = delimited.load(SourceFile("plans.csv", data))
    assert isinstance(document, ParsedDocument)
    return document


def facts(document: ParsedDocument, key: str | None = None) -> list[tuple[str, str, str]]:
    (found,) = table_facts(document, key, 1000)
    assert isinstance(found, ParsedFacts)
    assert found.name == document.name
    for placed in found.facts:
        assert placed.text == document.text[placed.start : placed.end]
        for part in (placed.fact.subject, placed.fact.object):
            assert part in placed.text
    return [(p.fact.subject, p.fact.relation, p.fact.object) for p in found.facts]


def test_the_first_column_is_the_subject() -> None:
    assert facts(table(PLANS)) == [
        ("Basic", "Price (USD)", "4"),
        ("Basic", "Space", "100 GB"),
        ("Family", "Price (USD)", "9"),
        ("Family", "Space", "4 TB"),
    ]


@pytest.mark.parametrize("key", ["Space", "  space"])
def test_a_key_names_the_column_of_subjects(key: str) -> None:
    assert facts(table(PLANS), key)[:2] == [
        ("100 GB", "Plan", "Basic"),
        ("100 GB", "Price (USD)", "4"),
    ]


def test_rows_without_a_subject_and_empty_cells_make_no_facts() -> None:
    document = table(b"Plan,Price,Space\nBasic,4,\n,9,4 TB\nTeam,,1 TB\nPro,20,2 TB\n")
    assert facts(document) == [
        ("Basic", "Price", "4"),
        ("Team", "Space", "1 TB"),
        ("Pro", "Price", "20"),
        ("Pro", "Space", "2 TB"),
    ]


def test_tables_in_a_document_have_subjects_of_their_own() -> None:
    builder = DocumentBuilder()
    builder.add_row([("", "", ""), ("", "2023", ""), ("", "2024", "")], header=True)
    builder.add_row([("", "Sales", ""), ("2023", "4", ""), ("2024", "5", "")])
    builder.add("paragraph", "Between them.")
    builder.add_row([("City", "Kestle", ""), ("Port", "yes", "")], labelled=True)
    builder.add_row([("Tug", "Orre", ""), ("Length", "20 m", "")], labelled=True)
    assert facts(builder.build("report.docx", "Report")) == [
        ("Sales", "2023", "4"),
        ("Sales", "2024", "5"),
        ("Kestle", "Port", "yes"),
        ("Orre", "Length", "20 m"),
    ]


def problem(document: ParsedDocument, key: str | None = None, limit: int = 1000) -> str:
    (found,) = table_facts(document, key, limit)
    assert isinstance(found, Problem)
    assert found.where == document.name
    return found.what


def test_an_unknown_column_is_named_with_those_there_are() -> None:
    assert problem(table(PLANS), "Cost") == (
        "has no column 'Cost', expected one of 'Plan', 'Price (USD)', 'Space'"
    )


def test_what_has_no_headers_makes_no_facts() -> None:
    assert "no table whose first row names" in problem(table(b"1,2\n3,4\n"))
    text = DocumentBuilder()
    text.add("paragraph", "Text.")
    assert "no table whose first row names" in problem(text.build("a", "a"))


def test_long_cells_make_no_facts() -> None:
    document = table(b"Plan,Price,Space\nBasic,4,lots of space\nFamily,9,4 TB\n")
    found = list(table_facts(document, None, 6))
    assert [str(item) for item in found if isinstance(item, Problem)] == [
        "plans.csv: has 1 table cell of more than 6 characters, which make no facts; shorten them"
    ]
    (kept,) = [item for item in found if isinstance(item, ParsedFacts)]
    assert len(kept.facts) == 3
    assert re.match("has 4 table cells", problem(document, None, 0))


def test_rows_of_two_tables_that_touch_have_subjects_of_their_own() -> None:
    builder = DocumentBuilder()
    builder.add_row([("City", "Kestle", ""), ("Port", "yes", "")], labelled=True)
    builder.add_row([("Tug", "Orre", ""), ("Length", "20 m", "")], labelled=True)
    assert facts(builder.build("a", "a")) == [("Kestle", "Port", "yes"), ("Orre", "Length", "20 m")]
