"""A writer of small PDF files: text at places, in the fonts that every reader has."""

from collections.abc import Sequence
from dataclasses import dataclass, field

FONTS = {"body": "Helvetica", "bold": "Helvetica-Bold", "code": "Courier"}


@dataclass
class Page:
    """A page of 595 by 842 points, shown turned clockwise by some degrees."""

    content: list[str] = field(default_factory=list)
    rotate: int = 0

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 10,
        font: str = "body",
        turn: str = "1 0 0 1",
    ) -> "Page":
        """Write a text that begins at a place."""
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        self.content.append(f"BT /{font} {size} Tf {turn} {x} {y} Tm ({escaped}) Tj ET")
        return self

    def lines(
        self, x: float, y: float, lines: Sequence[str], size: float = 10, font: str = "body"
    ) -> "Page":
        """Write lines under each other, 1.2 em apart."""
        for number, line in enumerate(lines):
            self.text(x, y - 1.2 * size * number, line, size, font)
        return self

    def image(self) -> "Page":
        """Fill the page with an image of one dot."""
        self.content.append("q 595 0 0 842 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q")
        return self


def write_pdf(
    pages: Sequence[Page],
    *,
    info: dict[str, str] | None = None,
    outline: Sequence[tuple[str, int, int]] = (),
    labels: str = "",
    trailer: str = "",
    annotation: str = "",
    fields: Sequence[tuple[float, float, str | bool]] = (),
) -> bytes:
    """A PDF file.

    Args:
        pages: at least one.
        info: entries of its information dictionary.
        outline: title, level from 0, and index of the page of each entry.
        labels: its /PageLabels.
        trailer: more entries of the trailer.
        annotation: a filled field of a form on the first page: its text.
        fields: of a form on the first page, by their lower left corners: text, or whether ticked.
    """
    objects: list[str] = []

    def add(body: str) -> int:
        objects.append(body)
        return len(objects)

    add("")  # the catalog
    add("")  # the tree of pages
    font = "<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /BaseFont"
    fonts = " ".join(f"/{name} {add(f'{font} /{base} >>')} 0 R" for name, base in FONTS.items())
    field_id = 0
    more: list[int] = []
    for number, (x, y, value) in enumerate(fields):
        drawn = add(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream"
        )
        own = f"/FT /Tx /V ({value}) /AP << /N {drawn} 0 R >>"
        if isinstance(value, bool):
            own = f"/FT /Btn /AS {'/Yes' if value else '/Off'} /AP << /N << /Yes {drawn} 0 R"
            own += f" /Off {drawn} 0 R >> >>"
        box = f"[{x} {y} {x + (12 if isinstance(value, bool) else 80)} {y + 14}]"
        more.append(
            add(f"<< /Type /Annot /Subtype /Widget /T (f{number}) /F 4 /Rect {box} {own} >>")
        )
    if annotation:
        stream = f"BT /body 10 Tf 2 4 Td ({annotation}) Tj ET"
        appearance = add(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 200 14] /Resources << /Font << {fonts} >>"
            f" >> /Length {len(stream)} >>\nstream\n{stream}\nendstream"
        )
        field_id = add(
            "<< /Type /Annot /Subtype /Widget /FT /Tx /T (field) /F 4 /Rect [72 500 272 514]"
            f" /V ({annotation}) /AP << /N {appearance} 0 R >> >>"
        )
    kids = []
    for number, page in enumerate(pages):
        stream = "\n".join(page.content)
        length = len(stream.encode("cp1252"))
        content = add(f"<< /Length {length} >>\nstream\n{stream}\nendstream")
        own_fields = [one for one in (field_id, *more) if one and not number]
        annotations = (
            f"/Annots [{' '.join(f'{one} 0 R' for one in own_fields)}]" if own_fields else ""
        )
        kids.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate {page.rotate}"
                f" /Contents {content} 0 R"
                f" /Resources << /Font << {fonts} >> >> {annotations} >>"
            )
        )
    catalog = "/Type /Catalog /Pages 2 0 R"
    if field_id or more:
        listed = " ".join(f"{one} 0 R" for one in (field_id, *more) if one)
        catalog += f" /AcroForm << /Fields [{listed}] >>"
    if labels:
        catalog += f" /PageLabels {labels}"
    if outline:
        catalog += f" /Outlines {_add_outline(objects, outline, kids)} 0 R"
    objects[0] = f"<< {catalog} >>"
    objects[1] = (
        f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>"
    )
    entries = " ".join(f"/{key} ({value})" for key, value in (info or {}).items())
    return _file(objects, f"/Root 1 0 R /Info {add(f'<< {entries} >>')} 0 R {trailer}")


def _add_outline(
    objects: list[str], outline: Sequence[tuple[str, int, int]], kids: Sequence[int]
) -> int:
    root = len(objects) + 1
    ids = range(root + 1, root + 1 + len(outline))
    above = [root]  # of each level the last entry so far, below the root
    children: dict[int, list[int]] = {own: [] for own in (root, *ids)}
    parents: list[int] = []
    for own, (_, level, _) in zip(ids, outline, strict=True):
        parents.append(above[level])
        children[above[level]].append(own)
        above[level + 1 :] = [own]

    def ends(parent: int) -> str:
        found = children[parent]
        return f"/First {found[0]} 0 R /Last {found[-1]} 0 R" if found else ""

    objects.append(f"<< /Type /Outlines {ends(root)} >>")
    for own, parent, (title, _, page) in zip(ids, parents, outline, strict=True):
        links = f"/Parent {parent} 0 R /Dest [{kids[page]} 0 R /Fit]"
        for following in [one for one in children[parent] if one > own][:1]:
            links += f" /Next {following} 0 R"
        objects.append(f"<< /Title ({title}) {links} {ends(own)} >>")
    return root


def _file(objects: Sequence[str], trailer: str) -> bytes:
    data = b"%PDF-1.7\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    data += (
        f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return data
