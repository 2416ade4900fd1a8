"""Zip packages of XML parts: what is read, and what is refused."""

import pytest

from memnet.errors import InputError
from memnet.loaders import package
from memnet.loaders.package import Package, parse_xml, resolve
from tests.unit.loaders.office import package as packed


def test_parts_are_read_by_name_in_any_case() -> None:
    opened = Package(packed({"word\\Document.xml": "<a/>", "/b": "2"}))
    assert opened.read("word/document.XML") == b"<a/>"
    assert opened.read("b") == b"2"
    assert opened.read("c") is None
    assert opened.xml("c") is None
    assert list(opened) == ["word/Document.xml", "b"]
    assert "B" in opened


@pytest.mark.parametrize("length", [0, 3, 40, 90])
def test_a_truncated_package_is_refused(length: int) -> None:
    whole = packed({"a": "<a/>" * 30})
    with pytest.raises(InputError, match="not a complete zip package"):
        Package(whole[:length])


def test_a_part_that_is_damaged_or_encrypted_is_refused() -> None:
    damaged = bytearray(packed({"a": "".join(map(chr, range(256)))}))
    damaged[60] ^= 0xFF
    with pytest.raises(InputError, match="'a' that can't be unpacked"):
        Package(bytes(damaged)).read("a")
    encrypted = bytearray(packed({"a": "text"}))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="password"):
        Package(bytes(encrypted)).read("a")


@pytest.mark.parametrize(
    ("limit", "most", "left"), [("MAX_PART", 1000, 1000), ("MAX_PACKAGE", 1500, 500)]
)
def test_a_bomb_is_unpacked_to_the_limits_only(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, left: int
) -> None:
    monkeypatch.setattr(package, limit, most)
    opened = Package(packed({"a": " " * 1000, "b": " " * 1001}))
    assert opened.read("a") == b" " * 1000
    with pytest.raises(InputError, match=f"more than {left:,} bytes"):
        opened.read("b")


LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]><a>&c;</a>'
DEFAULTS = '<!DOCTYPE a [<!ATTLIST b c CDATA "ha">]><a><b/><b/></a>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("text", [LAUGHS, DEFAULTS, f"<!-- {' ' * 9000} -->{LAUGHS}"])
def test_declarations_are_refused(text: str, encoding: str) -> None:
    with pytest.raises(InputError, match="'p' with a document type declaration"):
        parse_xml(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding), "p")


def test_a_document_type_by_name_is_taken() -> None:
    root = parse_xml(b'<!DOCTYPE a PUBLIC "-//X//" "http://x.example/a.dtd"><a>text</a>', "p")
    assert root.text == "text"


@pytest.mark.parametrize(
    "data", [b"", b"<a>", b"text", b"<a>\x00</a>", b'<?xml version="1.0" encoding="x-no"?><a/>']
)
def test_what_is_no_xml_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="not well-formed"):
        parse_xml(data, "p")


def test_depth_has_a_limit() -> None:
    deep = package.MAX_DEPTH
    assert parse_xml(b"<a>" * deep + b"</a>" * deep, "p").tag == "a"
    with pytest.raises(InputError, match="nested more than 200 deep"):
        parse_xml(b"<a>" * 100_000 + b"</a>" * 100_000, "p")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("EncryptedPackage", "protected with a password"),
        ("WordDocument", "Word 97-2003"),
        ("PowerPoint Document", "PowerPoint 97-2003"),
        ("Workbook", "rename it to .xls"),
        ("Other", "OLE2 file"),
    ],
)
def test_files_of_the_nineties_are_named(stream: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Package(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + stream.encode("utf-16-le"))


@pytest.mark.parametrize(
    ("part", "target", "found"),
    [
        ("word/document.xml", "media/a.png", "word/media/a.png"),
        ("ppt/slides/slide1.xml", "../notes/n%201.xml", "ppt/notes/n 1.xml"),
        ("ppt/slides/slide1.xml", "/ppt/a.xml#b", "ppt/a.xml"),
        ("a.xml", "../../../etc/passwd", "../../../etc/passwd"),
    ],
)
def test_references_between_parts(part: str, target: str, found: str) -> None:
    assert resolve(part, target) == found
