"""Seeded hostile files: real ones that are changed, and those that are made to break a parser."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

from benchmarks.hostile_inputs import changed_bytes

_TOKENS = (
    b"<a " * 20_000, b"<div>" * 50_000, b"</p>" * 20_000, b"<table><tr><td>" * 5_000, b"<" * 50_000,
    b"[" * 50_000, b"{\"a\":" * 20_000, b"(" * 50_000, b"<<" * 20_000, b"> " * 20_000,
    b"* " * 30_000, b"&amp;" * 20_000, b"&#x10FFFF;" * 5_000, b"\\" * 50_000, b"|" * 50_000,
    b"`" * 50_000, b"_" * 50_000, b"\n" * 50_000, b"\n\n- " * 20_000, b" " * 100_000,
    b"\t" * 50_000, b"\xe2\x80\xae" * 1_000, b"\0" * 1_000, b"\xff" * 1_000, b"9" * 10_000,
    b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" * 2_000, b"=?utf-8?b?" * 10_000,
    b"<!DOCTYPE a [<!ENTITY b '" + b"c" * 10_000 + b"'>]>", b"<?xml " * 10_000, b"<!--" * 20_000,
    b"1 0 obj<</Kids[1 0 R]/Type/Pages/Count 99999999>>endobj ", b"stream\nendstream " * 5_000,
    b"From a@b.c Fri Mar  1 14:05:00 2024\n" * 10_000, b"00:00:01,000 --> 00:00:02,000\n" * 5_000,
    b"../" * 1_000, b"http://" + b"a" * 50_000, b"|---" * 20_000, b"=" * 50_000 + b"\n",
)  # fmt: skip
"""Marks that formats are made of, in such numbers that quadratic time shows."""
_MOST_EDITS = 4


def hostile_file(random: Random, samples: Sequence[bytes]) -> bytes:
    """A sample with some of its bytes, or of those of a part of its package, changed."""
    data = random.choice(samples)
    if data.startswith(b"PK\3\4") and random.random() < 0.7:
        return _changed_package(random, data, samples)
    return _changed(random, data, samples)


def _changed(random: Random, data: bytes, samples: Sequence[bytes]) -> bytes:
    for _ in range(random.randint(1, _MOST_EDITS)):
        at, end = sorted(random.randint(0, len(data)) for _ in range(2))
        kind = random.randrange(10)
        if kind <= 2:
            data = changed_bytes(random, data)
        elif kind == 3:
            data = data[:end]
        elif kind == 4:
            data = data[:at] + data[min(end, at + random.randint(1, 500)) :]
        elif kind == 5:
            other = random.choice(samples)
            data = data[:at] + other[random.randint(0, len(other)) :]
        elif kind == 6:
            data = data[:at] + data[at : at + 300] * random.randint(2, 300) + data[at:]
        elif kind == 7:
            data = data[:at] + random.choice(_TOKENS) + data[at:]
        elif kind == 8:  # a number becomes another
            digits = [place for place in range(at, min(end, at + 2_000)) if data[place] in _DIGITS]
            if digits:
                place = random.choice(digits)
                number = random.choice(
                    (b"-1", b"0", b"65535", b"99999999", b"4294967296", b"9" * 30)
                )
                data = data[:place] + number + data[place + 1 :]
        else:
            data = data[:at] + data[end:] + data[at:end]
    return data


_DIGITS = frozenset(b"0123456789")


def _changed_package(random: Random, data: bytes, samples: Sequence[bytes]) -> bytes:
    """A zip file packed anew with a changed, lost, doubled or swapped part."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = [(info.filename, package.read(info)) for info in package.infolist()]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError):
        return _changed(random, data, samples)
    contents = [content for _, content in parts if content] or [b""]
    for _ in range(random.randint(1, 2)):
        at = random.randrange(len(parts))
        name, content = parts[at]
        kind = random.randrange(10)
        if kind == 0:
            parts.pop(at)
            if not parts:
                break
        elif kind == 1:
            parts.append((name, random.choice(contents)))
        elif kind == 2:
            parts[at] = (name, random.choice(contents))
        elif kind == 3:
            parts[at] = (f"../{name}" if random.random() < 0.5 else name[::-1], content)
        else:
            parts[at] = (name, _changed(random, content, contents))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts:
            package.writestr(zipfile.ZipInfo(name.replace("\0", "") or "x"), content)
    packed = stream.getvalue()
    return changed_bytes(random, packed) if random.random() < 0.2 else packed


def _package(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return stream.getvalue()


_TYPES = b'<?xml version="1.0"?><Types xmlns="x"/>'
_W = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "ha">'
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]><w:document %s><w:body><w:p><w:r><w:t>&a9;</w:t></w:r></w:p></w:body></w:document>" % _W
)
_QUADRATIC = (
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "%s">]><w:document %s><w:body><w:p><w:r>'
    b"<w:t>%s</w:t></w:r></w:p></w:body></w:document>" % (b"a" * 50_000, _W, b"&a;" * 50_000)
)


def _docx(document: bytes) -> bytes:
    start = (
        b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        b'relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocumen'
        b't/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    return _package(
        {"[Content_Types].xml": _TYPES, "_rels/.rels": start, "word/document.xml": document}
    )


def _nested(tag: bytes, times: int) -> bytes:
    opened, closed = b"<w:%s>" % tag * times, b"</w:%s>" % tag * times
    return b"<w:document %s><w:body>%s%s</w:body></w:document>" % (_W, opened, closed)


def _zip_bomb(levels: int, megabytes: int) -> bytes:
    data = _package({f"{n}.txt": b"a" * (megabytes << 20) for n in range(10)})
    for _ in range(levels):
        data = _package({f"{n}.zip": data for n in range(10)})
    return data


def _mail_parts(depth: int) -> bytes:
    heads = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(depth)
    )
    return b"From: a@b.c\nSubject: x\nMIME-Version: 1.0\n" + heads + b"\nText\n"


def _pages(kids: bytes) -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R/Outlines 3 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Count 9999999/Kids[" + kids + b"]>>endobj\n"
        b"3 0 obj<</First 4 0 R/Last 4 0 R>>endobj\n"
        b"4 0 obj<</Title(x)/Next 4 0 R/First 3 0 R>>endobj\n"
        b"trailer<</Root 1 0 R>>\n"
    )


BOMBS: dict[str, Callable[[], bytes]] = {
    "links.html": lambda: b"<html><body>" + b"<a <a" * 12_000,
    "nested.html": lambda: b"<html><body>" + b"<div>" * 200_000,
    "formatted.html": lambda: b"<html><body>" + b"<b><i><p>" * 100_000,
    "cells.html": lambda: b"<html><table>" + b"<tr><td colspan=1000 rowspan=65534>x" * 3_000,
    "lists.html": lambda: b"<html><body>" + b"<ul><li>x" * 100_000,
    "laughs.docx": lambda: _docx(_LAUGHS),
    "quadratic.docx": lambda: _docx(_QUADRATIC),
    "nested.docx": lambda: _docx(_nested(b"tbl", 300_000)),
    "runs.docx": lambda: _docx(_nested(b"r", 300_000)),
    "large.docx": lambda: _docx(b"<w:document %s><w:body>%s" % (_W, b" " * (300 << 20))),
    "laughs.epub": lambda: _package(
        {"mimetype": b"application/epub+zip", "META-INF/container.xml": _LAUGHS}
    ),
    "laughs.xlsx": lambda: _package(
        {"[Content_Types].xml": _TYPES, "xl/workbook.xml": _LAUGHS, "xl/sharedStrings.xml": _LAUGHS}
    ),
    "wide.xlsx": lambda: _package(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": b'<Relationships><Relationship Id="a" Type="http://schemas.openxmlformats'
            b'.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>'
            b"</Relationships>",
            "xl/_rels/workbook.xml.rels": b'<Relationships><Relationship Id="r" Type="http://schemas'
            b'.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/'
            b'sheet1.xml"/></Relationships>',
            "xl/workbook.xml": b'<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocume'
            b'nt/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r"/></sheets>'
            b"</workbook>",
            "xl/worksheets/sheet1.xml": b'<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c>'
            b'</row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>',
        }
    ),
    "flat.zip": lambda: _zip_bomb(0, 200),
    "nested.zip": lambda: _zip_bomb(3, 20),
    "many.zip": lambda: _package({f"{n}.txt": b"" for n in range(120_000)}),
    "zeros.gz": lambda: gzip.compress(b"\0" * (600 << 20)),
    "zeros.tgz": lambda: gzip.compress(b"\0" * 512 + b"a" * (1 << 29)),
    "cycle.pdf": lambda: _pages(b"2 0 R"),
    "kids.pdf": lambda: _pages(b"5 0 R " * 300_000),
    "deep.pdf": lambda: _pages(b"[" * 500_000),
    "deep.json": lambda: b"[" * 5_000_000,
    "objects.json": lambda: b'{"a":' * 1_000_000,
    "deep.ipynb": lambda: b'{"cells": ' + b"[" * 1_000_000,
    "cells.ipynb": lambda: json.dumps(
        {"cells": [{"cell_type": "markdown", "source": ["[" * 20_000]}] * 50, "nbformat": 4}
    ).encode(),
    "brackets.md": lambda: b"[" * 100_000,
    "stars.md": lambda: b"*a _b " * 50_000,
    "quotes.md": lambda: b">" * 50_000 + b"a",
    "pipes.md": lambda: b"|a" * 30_000 + b"\n" + b"|-" * 30_000 + b"\n" + b"|\n" * 3_000,
    "lists.md": lambda: b"".join(b" " * (2 * n) + b"- a\n" for n in range(2_000)),
    "ticks.md": lambda: b"".join(b"`" * n + b" a " for n in range(1, 600)),
    "comments.md": lambda: b"<!-- " * 50_000 + b"%% " * 50_000,
    "parts.eml": lambda: _mail_parts(5_000),
    "headers.eml": lambda: b"From: a@b.c\n" + b"X-A: b\n" * 300_000 + b"\nText",
    "words.eml": lambda: b"Subject: " + b"=?utf-8?q?a?= " * 50_000 + b"\nFrom: a@b.c\n\nText",
    "addresses.eml": lambda: b"To: " + b"(" * 50_000 + b"\nFrom: a@b.c\n\nText",
    "lines.mbox": lambda: b"From a@b.c Fri Mar  1 14:05:00 2024\nA: b\n\n" + b"From \n" * 300_000,
    "times.srt": lambda: b"1\n00:00:01,000 --> 00:00:02,000\n" * 50_000,
    "marks.rst": lambda: b"`" * 50_000 + b"\n" + b"|a" * 50_000 + b"\n" + b"*a" * 50_000,
    "grid.rst": lambda: b"+-" * 20_000 + b"+\n" + b"| " * 20_000 + b"|\n",
    "deep.py": lambda: b"(" * 100_000,
    "unary.py": lambda: b"x = " + b"-" * 200_000 + b"1",
    "line.js": lambda: b"/* " * 100_000,
    "quotes.csv": lambda: b'"' * 500_001,
    "wide.csv": lambda: b"," * 2_000_000,
    "drawers.org": lambda: b":PROPERTIES:\n" * 50_000 + b"*" * 50_000 + b" a",
    "blocks.adoc": lambda: b"====\n" * 50_000 + b"|===\n" * 50_000,
    "aliases.md": lambda: b"---\na0: &a0 [x, x]\n" + b"".join(
        b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)
    ) + b"---\nText",
}  # fmt: skip
"""Files that are small or cheap to make, and cost a careless parser hours, gigabytes, its life."""
