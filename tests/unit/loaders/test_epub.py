import zipfile
from io import BytesIO

import pytest

from memnet.errors import InputError, Problem
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.web import epub
from tests.unit.loaders.office import package
from tests.unit.loaders.parsed import only

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
METADATA = (
    "<dc:title>The Lake</dc:title><dc:creator>Ann Lee</dc:creator><dc:creator>Bo</dc:creator>"
    "<dc:language>en</dc:language><dc:subject>Water</dc:subject><dc:date>2024-03-01</dc:date>"
)
FONT = "http://www.idpf.org/2008/embedding"
CIPHER = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"


def encryption(algorithm: str, target: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData>'
        f'<EncryptionMethod Algorithm="{algorithm}"/><CipherData><CipherReference URI="{target}"/>'
        "</CipherData></EncryptedData></encryption>"
    )


def chapter(body: str) -> str:
    return (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
        f"<body>{body}</body></html>"
    )


def book(
    chapters: dict[str, str],
    *,
    nav: str = "",
    ncx: str = "",
    metadata: str = METADATA,
    spine: list[str] | None = None,
    extra: dict[str, str] | None = None,
    prolog: str = "",
) -> bytes:
    names = list(chapters)
    items = "".join(
        f'<item id="i{number}" href="{name.replace(" ", "%20")}"'
        ' media-type="application/xhtml+xml"/>'
        for number, name in enumerate(names)
    )
    order = "".join(f'<itemref idref="i{names.index(name)}"/>' for name in spine or names)
    files = {"META-INF/container.xml": CONTAINER}
    if nav:
        items += (
            '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        )
        order += '<itemref idref="nav"/>'
        files["OEBPS/nav.xhtml"] = chapter(f"<nav>{nav}</nav>")
    if ncx:
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        files["OEBPS/toc.ncx"] = f"<ncx><navMap>{ncx}</navMap></ncx>"
    files["OEBPS/book.opf"] = (
        f'{prolog}<package xmlns="http://www.idpf.org/2007/opf"'
        f' xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>{metadata}</metadata>'
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    files |= {f"OEBPS/{name}": text for name, text in chapters.items() if text}
    return package({"mimetype": "application/epub+zip", **files, **(extra or {})})


def load(data: bytes) -> tuple[ParsedDocument, list[Problem]]:
    items = list(epub.load(SourceFile("books/lake.epub", data)))
    problems = [item for item in items if isinstance(item, Problem)]
    return only([item for item in items if item not in problems]), problems


def test_chapters_in_reading_order() -> None:
    document, problems = load(
        book(
            {
                "b.xhtml": chapter("<h1>Two</h1><p>Later.</p>"),
                "text/a one.xhtml": chapter("<h1>One</h1><p>First.</p><ul><li>x</li></ul>"),
            },
            spine=["text/a one.xhtml", "b.xhtml"],
            nav='<ol><li><a href="b.xhtml">Not shown</a></li></ol>',
        )
    )
    assert not problems
    assert document.text == "One\n\nFirst.\n\n- x\n\nTwo\n\nLater."
    assert [block.opens for block in document.blocks] == [True, False, False, True, False]
    assert document.title == "The Lake"
    assert document.metadata == {
        "author": "Ann Lee, Bo",
        "language": "en",
        "date": "2024-03-01",
        "tags": ["Water"],
    }


def test_titles_of_the_contents_head_chapters_without() -> None:
    chapters = {
        "1.xhtml": chapter("<p>It rained.</p>"),
        "2.xhtml": chapter("<p class='t'>The  Flood</p><p>It rose.</p>"),
        "3.xhtml": chapter("<p>It went on.</p>"),
        "4.xhtml": chapter("<img src='x.png'/>"),
    }
    titles = {"1.xhtml": "Rain", "2.xhtml#top": "The Flood", "4.xhtml": "A picture"}
    nav = "".join(f'<li><a href="{link}">{title}</a></li>' for link, title in titles.items())
    ncx = "".join(
        f'<navPoint><navLabel><text>{title}</text></navLabel><content src="{link}"/></navPoint>'
        for link, title in titles.items()
    )
    for data in (book(chapters, nav=f"<ol>{nav}</ol>"), book(chapters, ncx=ncx)):
        document, _ = load(data)
        assert document.text == "Rain\n\nIt rained.\n\nThe Flood\n\nIt rose.\n\nIt went on."
        kinds = [block.kind for block in document.blocks]
        assert kinds == ["heading", "paragraph", "heading", "paragraph", "paragraph"]
        # The third page has no title: it goes on with the chapter before.
        assert [block.opens for block in document.blocks] == [True, False, True, False, False]


def test_notes_stay_and_page_numbers_go() -> None:
    page = (
        "<p>Text<span epub:type='pagebreak' id='p12'>12</span> goes on.</p>"
        "<aside epub:type='footnote'><p>A note.</p></aside>"
    )
    document, _ = load(book({"1.xhtml": chapter(page)}))
    assert document.text == "Text goes on.\n\nA note."


def test_missing_and_damaged_chapters_are_problems() -> None:
    data = book({"1.xhtml": "", "2.xhtml": chapter("<p>Here.</p>"), "3.xhtml": "x" * 5000})
    damaged = bytearray(data)
    at = data.index(b"OEBPS/3.xhtml") + len("OEBPS/3.xhtml")
    damaged[at : at + 8] = b"\xff" * 8
    document, problems = load(bytes(damaged))
    assert document.text == "Here."
    assert [problem.where for problem in problems] == [
        "books/lake.epub/OEBPS/1.xhtml",
        "books/lake.epub/OEBPS/3.xhtml",
    ]


def test_obfuscated_fonts_are_no_protection() -> None:
    for algorithm, part in ((FONT, "1.xhtml"), (CIPHER, "font.otf")):
        extra = {"META-INF/encryption.xml": encryption(algorithm, f"OEBPS/{part}")}
        document, _ = load(book({"1.xhtml": chapter("<p>Free.</p>")}, extra=extra))
        assert document.text == "Free."


PAGE = {"1.xhtml": chapter("<p>x</p>")}
LOCKED = encryption(CIPHER, "OEBPS/1.xhtml")
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "zip"),
        (b"<html>", "zip"),
        (book(PAGE)[:-40], "zip"),
        (book({"1.xhtml": chapter("<img src='a'/>")}), "no text"),
        (book({}), "no text"),
        (book(PAGE, extra={"META-INF/encryption.xml": LOCKED}), "encrypted by its seller"),
        (book(PAGE, prolog=BOMB), "declaration"),
        (book(PAGE, prolog=EXTERNAL), "declaration"),
        (book(PAGE, metadata="<open>"), "well-formed"),
        (package({"a.txt": "x"}), "opf"),
    ],
)
def test_what_can_not_be_read_is_named(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(data)


def test_package_document_is_found_without_a_container() -> None:
    source = zipfile.ZipFile(BytesIO(book({"1.xhtml": chapter("<p>Found.</p>")})))
    names = [name for name in source.namelist() if not name.startswith("META-INF")]
    document, _ = load(package({name: source.read(name).decode() for name in names}))
    assert document.text == "Found."


def test_entities_in_chapters_are_not_expanded() -> None:
    prolog = '<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    document, _ = load(book({"1.xhtml": f"{prolog}<html><body><p>x &a; y</p></body></html>"}))
    assert document.text.endswith("x &a; y")
