"""What a file is by its first bytes or its suffix, and why files without text are skipped."""

import re
from typing import NamedTuple

HEAD = 4096  # bytes at the start of a file that tell what it is
UNKNOWN = "of unknown kind"  # reason of a problem: nothing is known about the suffix


class Content(NamedTuple):
    """What is known about a file from its first bytes."""

    # "pdf", "zip", "ole2", "gzip", "tar", "html", "mbox", "mail"; for a file that holds no
    # readable text a description of it: "a PNG image".
    name: str
    reason: str = ""  # category in counts of files without text, such as "images"; else empty


_MARKS: dict[str, dict[str, tuple[bytes, ...]]] = {
    "": {
        "zip": (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"),
        "ole2": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
        "gzip": (b"\x1f\x8b\x08",),
    },
    "other archives": {
        "a 7z archive": (b"7z\xbc\xaf\x27\x1c",),
        "a RAR archive": (b"Rar!\x1a\x07",),
        "an xz archive": (b"\xfd7zXZ\0",),
        "a bzip2 archive": (b"BZh91AY&SY",),
        "a Zstandard archive": (b"\x28\xb5\x2f\xfd",),
        "a cabinet archive": (b"MSCF\0\0\0\0",),
        "an ar archive": (b"!<arch>\n",),
        "an RPM package": (b"\xed\xab\xee\xdb",),
    },
    "images": {
        "a PNG image": (b"\x89PNG\r\n\x1a\n",),
        "a JPEG image": (b"\xff\xd8\xff",),
        "a GIF image": (b"GIF87a", b"GIF89a"),
        "a TIFF image": (b"II*\0", b"MM\0*"),
        "an icon": (b"\0\0\1\0",),
        "a Photoshop image": (b"8BPS\0\1",),
        "a DjVu document of scanned pages": (b"AT&TFORM",),
    },
    "sound files": {
        "an MP3 file": (b"ID3\2\0", b"ID3\3\0", b"ID3\4\0", b"\xff\xfb"),
        "a FLAC file": (b"fLaC",),
        "an Ogg file": (b"OggS\0",),
        "a MIDI file": (b"MThd\0\0\0\6",),
    },
    "videos": {
        "a Matroska video": (b"\x1aE\xdf\xa3",),
        "a Flash video": (b"FLV\1",),
        "an MPEG video": (b"\0\0\1\xba",),
    },
    "databases": {
        "an SQLite database": (b"SQLite format 3\0",),
        "an Access database": (b"\0\1\0\0Standard",),
    },
    "fonts": {
        "a font": (
            b"wOFF\0\1", b"wOFFOTTO", b"wOF2\0\1", b"OTTO\0", b"\0\1\0\0\0", b"ttcf\0",
        ),
    },
    "programs": {
        "a program": (
            b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe",
            b"\0asm", b"dex\n0",
        ),
    },
    "model files": {
        "an HDF5 file": (b"\x89HDF\r\n\x1a\n",),
        "a NumPy array": (b"\x93NUMPY",),
        "a Parquet file": (b"PAR1\x15",),
        "a model": (b"GGUF\3\0",),
    },
    "PostScript files": {"a PostScript file": (b"%!PS",)},
}  # fmt: skip
_PREFIXES = tuple(
    (mark, Content(name, reason))
    for reason, names in _MARKS.items()
    for name, marks in names.items()
    for mark in marks
)
_KINDS = {
    "images": "png jpg jpeg jpe jfif gif bmp tif tiff webp avif heic heif ico icns svg svgz psd "
    "xcf ai eps raw cr2 nef dng kra sketch fig",
    "sound files": "mp3 wav flac ogg oga opus m4a aac wma aif aiff mid midi",
    "videos": "mp4 m4v mkv webm avi mov wmv mpg mpeg ogv flv 3gp",
    "fonts": "ttf otf ttc woff woff2 eot pfb pfm afm",
    "programs": "exe dll so dylib o a obj lib class jar war pyc pyo pyd whl wasm bin apk deb rpm "
    "msi dmg iso img",
    "databases": "db sqlite sqlite3 mdb accdb",
    "model files": "npy npz pt pth onnx safetensors pkl pickle h5 hdf5 parquet feather",
    "other archives": "7z rar xz bz2 zst lz4 lzma cab",
}
_BY_SUFFIX = {
    f".{suffix}": kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()
}
_WHY = {
    "images": "text in pictures is not recognised (there is no OCR)",
    "sound files": "speech is not recognised",
    "videos": "speech and pictures are not recognised",
    "PostScript files": "it is not read; save it as .pdf",
}
_CHUNKS = {
    b"WEBP": Content("a WebP image", "images"),
    b"WAVE": Content("a WAVE file", "sound files"),
    b"AVI ": Content("an AVI video", "videos"),
}
# Of MPEG-4 files; all others are videos.
_BRANDS = {
    b"heic": Content("a HEIC image", "images"),
    b"mif1": Content("a HEIF image", "images"),
    b"avif": Content("an AVIF image", "images"),
    b"M4A ": Content("an M4A file", "sound files"),
}
_PDF_WITHIN = 1024  # bytes that may stand before the mark of a PDF file; readers take as many
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
    """What the first ``HEAD`` bytes of a file say that it is, if they leave no doubt."""
    for prefix, content in _PREFIXES:
        if head.startswith(prefix):
            return content
    if head.startswith(b"{\\rtf"):
        return Content("rtf")
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


def why_skipped(kind: str) -> str:
    """Why files of a kind, as counts call it, can't be read."""
    return _WHY.get(kind, "there is no text to read in it")


def skip_reason(suffix: str) -> str:
    """Why a file of a suffix that no loader reads is skipped, as a count says it."""
    return _BY_SUFFIX.get(suffix.lower(), UNKNOWN)
