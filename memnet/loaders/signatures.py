"""What a file is by its first bytes."""

import re
from typing import NamedTuple

HEAD = 4096
"""Bytes that tell."""


class Content(NamedTuple):
    """What is known of a file from its first bytes."""

    name: str
    """"pdf", "zip", "ole2", "gzip", "tar", "html", "mbox", "mail"; or, where a file holds no text
    that could be read, what it is: "a PNG image"."""
    reason: str = ""
    """What counts call files without text: "images"; empty for others."""


_PREFIXES: tuple[tuple[bytes, Content], ...] = (
    (b"PK\x03\x04", Content("zip")),
    (b"PK\x05\x06", Content("zip")),
    (b"PK\x07\x08", Content("zip")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Content("ole2")),
    (b"\x1f\x8b\x08", Content("gzip")),
    (b"7z\xbc\xaf\x27\x1c", Content("a 7z archive", "other archives")),
    (b"Rar!\x1a\x07", Content("a RAR archive", "other archives")),
    (b"\xfd7zXZ\0", Content("an xz archive", "other archives")),
    (b"BZh91AY&SY", Content("a bzip2 archive", "other archives")),
    (b"\x28\xb5\x2f\xfd", Content("a Zstandard archive", "other archives")),
    (b"MSCF\0\0\0\0", Content("a cabinet archive", "other archives")),
    (b"!<arch>\n", Content("an ar archive", "other archives")),
    (b"\xed\xab\xee\xdb", Content("an RPM package", "other archives")),
    (b"\x89PNG\r\n\x1a\n", Content("a PNG image", "images")),
    (b"\xff\xd8\xff", Content("a JPEG image", "images")),
    (b"GIF87a", Content("a GIF image", "images")),
    (b"GIF89a", Content("a GIF image", "images")),
    (b"II*\0", Content("a TIFF image", "images")),
    (b"MM\0*", Content("a TIFF image", "images")),
    (b"\0\0\1\0", Content("an icon", "images")),
    (b"8BPS\0\1", Content("a Photoshop image", "images")),
    (b"AT&TFORM", Content("a DjVu document of scanned pages", "images")),
    (b"ID3\2\0", Content("an MP3 file", "sound files")),
    (b"ID3\3\0", Content("an MP3 file", "sound files")),
    (b"ID3\4\0", Content("an MP3 file", "sound files")),
    (b"\xff\xfb", Content("an MP3 file", "sound files")),
    (b"fLaC", Content("a FLAC file", "sound files")),
    (b"OggS\0", Content("an Ogg file", "sound files")),
    (b"MThd\0\0\0\6", Content("a MIDI file", "sound files")),
    (b"\x1aE\xdf\xa3", Content("a Matroska video", "videos")),
    (b"FLV\1", Content("a Flash video", "videos")),
    (b"\0\0\1\xba", Content("an MPEG video", "videos")),
    (b"wOFF\0\1", Content("a font", "fonts")),
    (b"wOFFOTTO", Content("a font", "fonts")),
    (b"wOF2\0\1", Content("a font", "fonts")),
    (b"OTTO\0", Content("a font", "fonts")),
    (b"\0\1\0\0\0", Content("a font", "fonts")),
    (b"ttcf\0", Content("a font", "fonts")),
    (b"\x7fELF", Content("a program", "programs")),
    (b"\xca\xfe\xba\xbe", Content("a program", "programs")),
    (b"\xcf\xfa\xed\xfe", Content("a program", "programs")),
    (b"\xce\xfa\xed\xfe", Content("a program", "programs")),
    (b"\0asm", Content("a program", "programs")),
    (b"dex\n0", Content("a program", "programs")),
    (b"SQLite format 3\0", Content("an SQLite database", "databases")),
    (b"\0\1\0\0Standard", Content("an Access database", "databases")),
    (b"\x89HDF\r\n\x1a\n", Content("an HDF5 file", "model files")),
    (b"\x93NUMPY", Content("a NumPy array", "model files")),
    (b"PAR1\x15", Content("a Parquet file", "model files")),
    (b"GGUF\3\0", Content("a model", "model files")),
    (b"{\\rtf", Content("an RTF document", "RTF files")),
    (b"%!PS", Content("a PostScript file", "PostScript files")),
)
_CHUNKS = {
    b"WEBP": Content("a WebP image", "images"),
    b"WAVE": Content("a WAVE file", "sound files"),
    b"AVI ": Content("an AVI video", "videos"),
}
"""Kinds of RIFF files."""
_BRANDS = {
    b"heic": Content("a HEIC image", "images"),
    b"mif1": Content("a HEIF image", "images"),
    b"avif": Content("an AVIF image", "images"),
    b"M4A ": Content("an M4A file", "sound files"),
}
"""Of MPEG-4 files; all others are videos."""
_PDF_WITHIN = 1024
"""Bytes that may stand before the mark of a PDF file; readers take as many."""
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*){0,5}"
    rb"<(?:!doctype\s+html|html|head)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_HEADER = rb"[A-Za-z][A-Za-z0-9-]{1,60}:[ \t][^\r\n]*\r?\n"
_MBOX = re.compile(rb"From [^\r\n]{3,200}\d{4}[^\r\n]{0,20}\r?\n" + _HEADER)
_MAIL = re.compile(
    rb"(?:" + _HEADER + rb"(?:[ \t][^\r\n]*\r?\n){0,50}){0,20}"
    rb"(?:Received|Return-Path|Message-ID|MIME-Version|Delivered-To|X-Mailer): ",
    re.IGNORECASE,
)


def recognise(head: bytes) -> Content | None:
    """What the first bytes of a file say that it is, if they leave no doubt.

    Args:
        head: ``HEAD`` bytes, or all of a shorter file.
    """
    for prefix, content in _PREFIXES:
        if head.startswith(prefix):
            return content
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return Content("pdf")
    if head.startswith(b"RIFF") and head[8:12] in _CHUNKS:
        return _CHUNKS[head[8:12]]
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], Content("an MPEG-4 video", "videos"))
    if head.startswith(b"MZ") and b"\0" in head:
        return Content("a program", "programs")
    if head.startswith(b"BM") and head[6:10] == b"\0\0\0\0":
        return Content("a BMP image", "images")
    if head[257:262] == b"ustar":
        return Content("tar")
    if _HTML.match(head):
        return Content("html")
    if _MBOX.match(head):
        return Content("mbox")
    if _MAIL.match(head):
        return Content("mail")
    return None
