"""XML files: documents of known vocabularies, texts of others, and records."""

import pytest

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from tests.unit.loaders.parsed import kinds, only, read

_TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><titleStmt>
<title>Harbour Letters</title></titleStmt></teiHeader><text><body><div><head>First letter</head>
<p>The <hi>Petrel</hi> came in &amp; left.</p>
<list><item>two ropes</item><item>a lamp</item></list></div></body></text></TEI>"""
_RECORDS = """<?xml version="1.0" encoding="iso-8859-1"?><catalog>
<plant id="P1"><commonName>Bl\xfcte</commonName><price>2.44</price></plant>
<plant id="P2"><commonName>Moss</commonName><price>9.37</price><grows-in>May</grows-in></plant>
</catalog>""".encode("latin-1")


def _read(data: bytes) -> ParsedDocument:
    return only(read("stock.xml", data))


def test_text_keeps_its_headings_paragraphs_and_lists() -> None:
    document = _read(_TEI.encode())
    assert document.title == "Harbour Letters"
    assert kinds(document) == [
        ("heading", "Harbour Letters"),
        ("heading", "First letter"),
        ("paragraph", "The Petrel came in & left."),
        ("item", "- two ropes"),
        ("item", "- a lamp"),
    ]


def test_records_are_a_table_with_names_as_headers() -> None:
    document = _read(_RECORDS)
    rows = [one for one in document.blocks if one.kind == "row"]
    cells = [
        {cell.header: document.text[cell.start : cell.end] for cell in row.cells} for row in rows
    ]
    assert cells[0]["Common name"] == "Blüte"
    assert cells[1] == {"Id": "P2", "Common name": "Moss", "Price": "9.37", "Grows in": "May"}


def test_long_values_of_records_are_paragraphs() -> None:
    long = "The bridge is closed. " * 9
    items = "".join(f"<item><title>{name}</title><text>{long}</text></item>" for name in "AB")
    document = _read(f"<rss><channel><title>News</title>{items}</channel></rss>".encode())
    kind = [kind for kind, _ in kinds(document)]
    assert kind == ["heading", "heading", "paragraph", "heading", "paragraph"]
    assert "Text: The bridge" in document.text


def test_markup_in_values_stays_text() -> None:
    document = _read(b"<a><b x='1'><c>&lt;script&gt;</c></b><b x='2'><c>d</c></b></a>")
    assert "<script>" in document.text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"<a><b></a>", "not well-formed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type declaration"),
        (b"<a>" * 5000 + b"</a>" * 5000, "nested more than"),
        (b"<a><b/></a>", "holds no text"),
    ],
)
def test_what_is_no_document_is_named(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        _read(data)
