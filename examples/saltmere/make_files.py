"""Write the files of the example that are not text: a report as PDF and a survey as DOCX.

    python examples/saltmere/make_files.py

Both come out the same, byte for byte, wherever they are made.
"""

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

_FOLDER = Path(__file__).parent / "memory" / "board"
_WRITTEN = (2012, 2, 1, 0, 0, 0)

_REPORT_TITLE = "Saltmere Harbours Board: Annual Report 2011"
_REPORT = [
    """
    # Saltmere Harbours Board: Annual Report 2011

    ## From the chair

    It was a year of mud and patience. The Board met nine times, once by
    candle, and kept all eight harbours open on every day but four. Trade
    through Port Averin grew by a tenth, and nobody was hurt.

    Petra Lunt, chair
    """,
    """
    ## 1 Dredging

    The inner basin at Kestle had silted up to the second ladder. It was
    dredged between March and June by the barge Patient Ox. The dredging of
    Kestle harbour cost 86,400 pounds, a third of it paid by the herring
    fleet, and the spoil was spread on the football field at Low Tassen.

    ## 2 Lights and marks

    All lamps were changed to lamps that need no care for five years. The
    bell buoy off Skellin, adrift since Christmas, was found by two boys on
    Fenna, who were given a telescope and asked to return the buoy.
    """,
    """
    ## 3 Ferry quays

    The quay at Orrehaven was lengthened by twelve metres. The new ramp
    takes two cars abreast, which has taken eleven minutes from the crossing.

    ## 4 Accounts

    Dues brought in 412,000 pounds and the Board spent 398,500. What is left
    goes to the breakwater at Quillon, which was surveyed in the autumn.
    """,
]

_SURVEY_TITLE = "Survey of the Quillon Breakwater"
_SURVEY = """
# Survey of the Quillon Breakwater

Made for the Saltmere Harbours Board in October 2011 by the diver Edda Lund, at low water of four spring tides.

## What was found

Eleven concrete blocks of the seaward face are cracked through and must be replaced before the winter of 2013. The core is sound. Mussels hold the rest together better than the mortar does.

- Blocks 212 to 218 have moved by a hand's breadth.
- The iron ladder at the head has lost six rungs.
- Two conger eels live in the drain and should be left there.

## What it will cost

| Work | Weeks | Pounds |
| New blocks | 7 | 52,000 |
| Ladder | 1 | 1,900 |
| Mortar and pointing | 3 | 8,300 |
"""  # noqa: E501  # a paragraph is a line


def main() -> None:
    """Write both."""
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / "annual-report-2011.pdf").write_bytes(_pdf())
    _write_docx(_FOLDER / "quillon-breakwater-survey.docx")


def _pdf() -> bytes:
    """The report, one page after the other, with a running head and page numbers."""
    pages = [_page_content(page, number) for number, page in enumerate(_REPORT, start=1)]
    first = 5
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _font("Helvetica"),
        _font("Helvetica-Bold"),
    ]
    for number, content in enumerate(pages):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 420 595] /Contents "
            f"{first + 2 * number + 1} 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> "
            ">>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        ]
    objects.append(
        f"<< /Title ({_REPORT_TITLE}) /Author (Saltmere Harbours Board) "
        "/CreationDate (D:20120201000000Z) >>".encode()
    )
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (count, table, count, len(objects), len(data))
    )


def _font(name: str) -> bytes:
    return (
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
    )


def _page_content(page: str, number: int) -> bytes:
    shown = [_line(_REPORT_TITLE, 1, 8, 560)] if number > 1 else []
    height = 520
    for line in page.strip().splitlines():
        text = line.strip()
        level = len(text) - len(text.lstrip("#"))
        size = {0: 10, 1: 15, 2: 12}[level]
        if text:
            shown.append(_line(text.lstrip("# "), 2 if level else 1, size, height))
        height -= size + 4
    shown.append(_line(str(number), 1, 8, 30, left=206))
    return "\n".join(shown).encode("cp1252")


def _line(text: str, font: int, size: int, height: int, left: int = 40) -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F{font} {size} Tf {left} {height} Td ({escaped}) Tj ET"


def _write_docx(path: Path) -> None:
    """The survey with headings, a list and a table."""
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    types = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{types}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{types}.styles+xml"/>'
        f'<Override PartName="/word/numbering.xml" ContentType="{types}.numbering+xml"/>'
        '<Override PartName="/docProps/core.xml" '
        'ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" Target="word/document.xml"/>'
        f'<Relationship Id="r2" Type="{package}/relationships/metadata/core-properties" '
        'Target="docProps/core.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/styles" Target="styles.xml"/>'
        f'<Relationship Id="r2" Type="{office}/numbering" Target="numbering.xml"/></Relationships>',
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{package}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{_SURVEY_TITLE}</dc:title><dc:creator>Edda Lund</dc:creator>"
        "</cp:coreProperties>",
        "word/styles.xml": f'<w:styles xmlns:w="{main}">'
        + "".join(
            f'<w:style w:type="paragraph" w:styleId="Heading{level}">'
            f'<w:name w:val="heading {level}"/><w:pPr><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
            "</w:style>"
            for level in (1, 2)
        )
        + "</w:styles>",
        "word/numbering.xml": f'<w:numbering xmlns:w="{main}"><w:abstractNum w:abstractNumId="0">'
        '<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#8226;"/></w:lvl>'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>',
        "word/document.xml": f'<w:document xmlns:w="{main}"><w:body>{_body()}</w:body>'
        "</w:document>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.create_system = 3  # else the system that it is made on
            declared = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{content}'
            archive.writestr(entry, declared, zipfile.ZIP_STORED)


def _body() -> str:
    parts: list[str] = []
    rows: list[str] = []
    for line in [*_SURVEY.strip().splitlines(), ""]:
        if line.startswith("|"):
            cells = [_paragraph(cell.strip()) for cell in line.strip("|").split("|")]
            rows.append(f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>")
            continue
        if rows:
            parts.append(f"<w:tbl>{''.join(rows)}</w:tbl>")
            rows = []
        level = len(line) - len(line.lstrip("#"))
        if level:
            parts.append(_paragraph(line.lstrip("# "), f'<w:pStyle w:val="Heading{level}"/>'))
        elif line.startswith("- "):
            numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
            parts.append(_paragraph(line[2:], numbered))
        elif line:
            parts.append(_paragraph(line))
    return "".join(parts)


def _paragraph(text: str, properties: str = "") -> str:
    shown = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f"<w:p>{shown}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


if __name__ == "__main__":
    main()
