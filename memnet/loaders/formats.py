"""The formats that can be read: their names, suffixes and signs, and the module that reads each.

A new format is a module with a function ``load``, and a line in ``FORMATS``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.document import DocumentBuilder, ParsedDocument

HEAD = 4096  # bytes at the start of a file that tell what it is
UNKNOWN = "of unknown kind"  # reason of a problem: nothing is known about the suffix
OCR_ADVICE = "to read the text in pictures, run: pip install 'memnet-qa[ocr]'"
PICTURES = {"a PNG image", "a JPEG image", "a TIFF image", "a WebP image"}  # that are read


class Content(NamedTuple):
    """What is known about a file from its first bytes."""

    # "pdf", "zip", "ole2", "rtf", "gzip", "tar", "html", "mbox", "mail"; for a file that holds no
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
_SKIPPED_SUFFIXES = {
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
    return _SKIPPED_SUFFIXES.get(suffix.lower(), UNKNOWN)


@dataclass(frozen=True)
class SourceFile:
    """A file to read, with its content in memory: loaders open nothing themselves."""

    name: str  # of its source: the path, or that of an archive, "/" and the path within
    data: bytes
    # Reads another file by its path relative to the folder of this one; None if it is not there.
    # For exports that spread over several files.
    sibling: Callable[[str], bytes | None] = lambda _path: None
    max_characters: int = 25_000_000  # longest text of one document
    max_title: int = 1000  # characters; a longer heading is text
    max_unpacked: int = 512 << 20  # bytes that all that is packed in it may unpack to
    # Given the name of a file within this one before that is read; whether to read it.
    begin: Callable[[str], bool] = lambda _name: True
    # Given the number of a page that takes seconds, and of all pages, before it is read.
    advance: Callable[[int, int], None] = lambda _page, _pages: None

    @property
    def title(self) -> str:
        """What its name says: "annual-report_2024.pdf" as "annual report 2024"."""
        stem = PurePath(self.name).stem
        return stem.replace("_", " ").replace("-", " ").strip()

    def document(
        self,
        builder: DocumentBuilder,
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
        names: Iterable[str] = (),
    ) -> ParsedDocument:
        """The one document that this file holds; its title alone is a text too.

        Raises:
            InputError: there is neither a text nor a title.
        """
        if not len(builder):
            if not title:
                raise InputError("is empty; there is nothing to remember in it")
            builder.add("heading", title, level=1)
        return builder.build(self.name, title or self.title, metadata=metadata, names=names)


# Reads a file as documents, with a problem in the place of each part that can't be read. The names
# of its documents are ``file.name`` if there is one, else ``f"{file.name}#{part}"``. Raises:
# InputError: none of it can be read; says what was found, expected and what to do.
Loader: TypeAlias = Callable[[SourceFile], Iterator[ParsedDocument | Problem]]


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str  # as ``--as`` takes it
    title: str  # as people call it, in the plural: "PDF files"
    suffixes: tuple[str, ...]  # in lower case, with the dot
    # In ``memnet.loaders``; its function ``load`` is the loader. What follows a colon is given to
    # it as a second argument: "pandoc:org".
    module: str
    # Whether all its files are read in a child process, as its parser can be made to hang or crash;
    # else large ones are.
    isolated: bool = True

    def loader(self) -> Loader:
        """Import the loader."""
        module, _, argument = self.module.partition(":")
        load = import_module(f"memnet.loaders.{module}").load
        loader: Loader = partial(load, name=argument) if argument else load
        return loader


_CODE = tuple(
    ".py .pyi .pyw .c .h .cc .cpp .cxx .hh .hpp .hxx .ino .m .mm .java .kt .kts .scala .groovy "
    ".gradle .cs .vb .fs .go .rs .zig .swift .dart .js .mjs .cjs .jsx .ts .tsx .php .rb .pl .pm "
    ".lua .r .jl .hs .elm .ex .exs .erl .clj .lisp .el .scm .sh .bash .zsh .fish .ps1 .sql .proto "
    ".cmake .mk .nim .sol .tcl .f90 .pas .css .scss .less .toml .yaml .yml .ini .cfg .conf "
    ".properties".split()
)
_MARKDOWN = (".md", ".markdown", ".mdx", ".rmd", ".qmd")
_OPENDOCUMENT = tuple(".odt .ott .fodt .odp .otp .fodp".split())
_MANUALS = (".man", ".mdoc", *(f".{section}" for section in range(1, 9)))
_SHEETS = tuple(".xlsx .xlsm .xltx .xlsb .xls .ods .ots .fods".split())

# All that can be read but JSON lines and fact tables, which are not documents.
FORMATS: tuple[Format, ...] = (
    Format("archive", "archives", (".zip", ".tar", ".tgz", ".gz"), "archive"),
    Format("asciidoc", "AsciiDoc files", (".adoc", ".asciidoc"), "pandoc:asciidoc"),
    Format("calendar", "calendars", (".ics", ".ical"), "cards"),
    Format("chat", "chats", (), "chats.transcripts:chat"),
    Format("code", "source code files", _CODE, "code.source"),
    Format("contacts", "contacts", (".vcf", ".vcard"), "cards"),
    Format("conversation", "conversations", (), "chats.conversations"),
    Format("csv", "tables", (".csv", ".tab"), "tables.delimited", isolated=False),
    Format("docbook", "DocBook files", (".dbk", ".docbook"), "pandoc:docbook"),
    Format("docx", "Word documents", (".docx", ".docm", ".dotx", ".dotm"), "office.docx"),
    Format("epub", "EPUB books", (".epub",), "web.epub"),
    Format("fb2", "FictionBook files", (".fb2",), "pandoc:fb2"),
    Format("html", "HTML pages", (".html", ".htm", ".xhtml"), "web.html"),
    Format("jats", "JATS articles", (".jats", ".nxml"), "pandoc:jats"),
    Format("json", "JSON files", (".json",), "chats.exports"),
    Format("latex", "LaTeX files", (".tex", ".latex", ".ltx"), "pandoc:latex"),
    Format("mail", "e-mails", (".eml", ".mbox", ".mbx"), "mail"),
    Format("man", "manual pages", _MANUALS, "pandoc:man"),
    Format("markdown", "Markdown files", _MARKDOWN, "markup.markdown", isolated=False),
    Format("mediawiki", "MediaWiki pages", (".mediawiki", ".wiki"), "pandoc:mediawiki"),
    Format("notebook", "Jupyter notebooks", (".ipynb",), "code.notebook"),
    Format("opendocument", "OpenDocument files", _OPENDOCUMENT, "office.opendocument"),
    Format("org", "Org files", (".org",), "pandoc:org"),
    Format("pdf", "PDF files", (".pdf",), "pdf"),
    Format("picture", "pictures", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"), "pictures"),
    Format("pptx", "presentations", (".pptx", ".ppsx", ".pptm", ".potx", ".ppsm"), "office.pptx"),
    Format("rst", "reStructuredText files", (".rst", ".rest"), "markup.rst"),
    Format("rtf", "RTF documents", (".rtf",), "pandoc:rtf"),
    Format("sheets", "spreadsheets", _SHEETS, "tables.sheets"),
    Format("subtitles", "subtitles", (".srt", ".vtt"), "subtitles"),
    Format("text", "text files", (".txt", ".text", ".log"), "chats.transcripts", isolated=False),
    Format("textile", "Textile files", (".textile",), "pandoc:textile"),
    Format("typst", "Typst files", (".typ",), "pandoc:typst"),
    Format("xml", "XML files", (".xml",), "markup.xml"),
)

# Names of the formats whose files have a content (``Content.name``). The first reads
# files that are named as something else, but no old files of Office, which may be anything.
_BY_CONTENT = {
    "gzip": ("archive",),
    "html": ("html",),
    "mail": ("mail",),
    "mbox": ("mail",),
    "ole2": ("sheets", "docx", "pptx"),
    "pdf": ("pdf",),
    "rtf": ("rtf",),
    "tar": ("archive",),
    "zip": ("archive", "docx", "epub", "opendocument", "pptx", "sheets"),
}
# Formats whose files are not text.
_PACKED = frozenset(
    name for kind in ("gzip", "ole2", "pdf", "tar", "zip") for name in _BY_CONTENT[kind]
)
# Names of texts, whatever the suffix says: "README.Debian".
_TEXT_STEMS = frozenset({"changelog", "copying", "copyright", "license", "news", "readme", "todo"})
_TEXTS = ("html", "mail", "mbox")
_MANUAL = re.compile(rb"^[.'] *(TH|Dt)\s", re.MULTILINE)
_PACKINGS = ("gzip", "tar", "zip")
_BY_NAME = {known.name: known for known in FORMATS}
_BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_by_name(name: str) -> Format:
    """The format that ``--as`` names.

    Raises:
        InputError: there is none.
    """
    known = _BY_NAME.get(name) or _foreign(f".{name}")
    if known is None:
        raise InputError(f"there is no format {name!r}; expected one of {', '.join(_BY_NAME)}")
    return known


@cache
def other_loaders() -> dict[str, EntryPoint]:
    """The loaders of other packages, by the suffixes without dots that they read."""
    return {one.name.lower().lstrip("."): one for one in entry_points(group="memnet.loaders")}


def _foreign(suffix: str) -> Format | None:
    """The format of a suffix that another package reads; see ``plugins``."""
    name = suffix.removeprefix(".")
    if name not in other_loaders():
        return None
    return Format(name, f"{suffix} files", (suffix,), f"plugins:{name}")


def find_format(name: str, head: bytes = b"") -> Format | None:
    """The format of a file, by its suffix and its content; None if it is of an unknown kind.

    The suffix is believed unless the content leaves no doubt that it is wrong.

    Args:
        name: of the file.
        head: its first ``HEAD`` bytes; none if only the name is to tell.

    Raises:
        InputError: it is something that holds no text, such as an image.
    """
    suffix = PurePath(name).suffix.lower()
    named = _BY_SUFFIX.get(suffix) or _foreign(suffix)
    if named and named.name == "man" and head and not _MANUAL.search(head):
        named = None  # "system.log.1"
    if named and named.name == "picture" and not reads_pictures():
        named = None
    content = recognise(head)
    if content is None:
        return _unmarked(PurePath(name), named, head)
    if content.name in PICTURES and reads_pictures():
        return _BY_NAME["picture"]
    if content.reason:
        raise InputError(f"is {content.name}: {why_skipped(content.reason)}", content.reason)
    first, *others = _BY_CONTENT[content.name]
    if named and named.name in (first, *others):
        return named
    if content.name in _TEXTS and named and named.name not in (*_PACKED, "text"):
        return named  # a program or a note may start with such a text
    if content.name == "ole2":
        raise InputError(
            "is a file of Office 97-2003 or a similar program, which is not read; save it in a "
            "format of today, such as .docx",
            "files of old Office programs",
        )
    if content.name in _PACKINGS and suffix and not named:
        return None  # a library, an application, a picture with layers
    return _BY_NAME.get(first, named)


def _unmarked(path: PurePath, named: Format | None, head: bytes) -> Format | None:
    """The format of a file whose content has no mark: without a known suffix it may be text."""
    if named or not head:
        return named
    if path.suffix and path.name.partition(".")[0].lower() not in _TEXT_STEMS:
        return None
    try:
        decode(head)
    except InputError as error:
        raise InputError(str(error), "binary files") from error
    return _BY_NAME["text"]
