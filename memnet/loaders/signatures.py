"""What a file is by its first bytes or its suffix, and why files without text are skipped."""

import re
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

HEAD = 4096  # bytes at the start of a file that tell what it is
UNKNOWN = "of unknown kind"  # reason of a problem: nothing is known about the suffix
OCR_ADVICE = "pip install 'memnet-qa[ocr]' has the text in pictures read"
PICTURES = {"a PNG image", "a JPEG image", "a TIFF image", "a WebP image"}  # that are read


class Content(NamedTuple):
    """What is known about a file from its first bytes."""

    # "pdf", "zip", "ole2", "gzip", "tar", "html", "mbox", "mail"; for a file that holds no
    # readable text a description of it: "a PNG image".
    name: str
    reason: str = ""  # category in counts of files without text, such as "images"; else empty


_PREFIXES = {
    b"PK\x03\x04": Content("zip"),
    b"PK\x05\x06": Content("zip"),
    b"PK\x07\x08": Content("zip"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Content("ole2"),
    b"\x1f\x8b\x08": Content("gzip"),
    b"{\\rtf": Content("rtf"),
    b"\x89PNG\r\n\x1a\n": Content("a PNG image", "images"),
    b"\xff\xd8\xff": Content("a JPEG image", "images"),
    b"GIF8": Content("a GIF image", "images"),
    b"II*\0": Content("a TIFF image", "images"),
    b"MM\0*": Content("a TIFF image", "images"),
}
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
    "images": "it is not read; save it as .png",
    "sound files": "speech is not recognised",
    "videos": "speech and pictures are not recognised",
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
    for prefix, content in _PREFIXES.items():
        if head.startswith(prefix):
            return content
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return Content("pdf")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Content("a WebP image", "images")
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], Content("an MPEG-4 video", "videos"))
    if head[257:262] == b"ustar":
        return Content("tar")
    if _HTML.match(head):
        return Content("html")
    if _MBOX.match(head):
        return Content("mbox")
    if _MAIL.match(head):
        return Content("mail")
    return None


@cache
def reads_pictures() -> bool:
    """Whether text in pictures is read: the extra for it is installed."""
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def why_skipped(kind: str) -> str:
    """Why files of a kind, as counts call it, can't be read."""
    if kind == "images" and not reads_pictures():
        return OCR_ADVICE
    return _WHY.get(kind, "there is no text to read in it")


def skip_reason(suffix: str) -> str:
    """Why a file of a suffix that no loader reads is skipped, as a count says it."""
    return _BY_SUFFIX.get(suffix.lower(), UNKNOWN)
