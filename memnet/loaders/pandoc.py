"""Formats that pandoc reads: it makes HTML of them, in a process of its own, with limits."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from time import monotonic

from memnet.errors import InputError, Problem, install
from memnet.io import decode
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.web import html

_MEMORY = "512m"  # that pandoc may allocate
_MAX_OUTPUT = 256 << 20  # bytes of HTML
# Seconds that a file may take, a part of one, and all parts: for some texts pandoc needs time
# without end. The limit of processor time of this process holds for pandoc too.
_SECONDS, _SECONDS_OF_PART, _SECONDS_OF_PARTS = 20.0, 3.0, 40.0
_TOO_OLD = (2, 6, 21)  # statuses: unknown options and formats
_HEAP_EXHAUSTED = 251
_XML = frozenset({"docbook", "fb2", "jats"})
_ADVICE = f"{install('pandoc')}, or install pandoc 3.8 or later"
# Lines before which a text can be cut into two.
_HEADINGS = {
    "asciidoc": re.compile(rb"^=+ ", re.MULTILINE),
    "latex": re.compile(rb"^\\(chapter|(sub)*section)\b", re.MULTILINE),
    "man": re.compile(rb"^[.]SH", re.MULTILINE),
    "mediawiki": re.compile(rb"^=+[^=]", re.MULTILINE),
    "org": re.compile(rb"^[*]+ ", re.MULTILINE),
    "textile": re.compile(rb"^h[1-6][.]", re.MULTILINE),
    "typst": re.compile(rb"^=+ ", re.MULTILINE),
}
# What stops pandoc, or hides what the author wrote: other files, conditions, parts not to export.
_CHANGES: dict[str, tuple[re.Pattern[bytes], bytes]] = {
    "asciidoc": (re.compile(rb"^(include|if\w+|endif)::[^\n]*\[[^\n]*\]", re.MULTILINE), b""),
    "org": (re.compile(rb"(?<=:exports )\w+|(?<=:)noexport\w*(?=:)", re.IGNORECASE), b"both"),
}
_ORG_OPTIONS = b"#+OPTIONS: tags:nil toc:nil\n"
# What stands in the title and the metadata of a document.
_TITLE_BLOCK = re.compile(r'<h1 class="title">.*?</h1>|<p class="(author|date)">.*?</p>', re.DOTALL)
_OTHER_FILE = re.compile(r'href="#(?=[^"#]+[.]adoc)')  # it takes for a place in the same file


class _PandocError(InputError):
    """Pandoc can't read a file or a part of it; a part of that may do."""


def load(file: SourceFile, name: str) -> Iterator[ParsedDocument | Problem]:
    """The document that pandoc reads; ``name`` is that of the format, as pandoc calls it."""
    if name == "man" and re.search(rb"^[.] *Dt\s", file.data, re.MULTILINE):
        name = "mdoc"
    data = _text(file.data, name)
    if name in _CHANGES:
        data = _CHANGES[name][0].sub(_CHANGES[name][1], data)
    if name == "org":
        data = _ORG_OPTIONS + data
    try:
        markup = _html(data, name, _SECONDS)
    except _PandocError:
        if name not in _HEADINGS:
            raise
        markup = "".join(_parts(data.decode(), name))
    builder = DocumentBuilder()
    markup = _OTHER_FILE.sub('href="', markup)
    page = html.add(builder, _TITLE_BLOCK.sub("", markup), whole=True, max_heading=file.max_title)
    yield file.document(builder, page.title[: file.max_title], page.metadata)


def _text(data: bytes, name: str) -> bytes:
    """A file in UTF-8, which pandoc expects; raises InputError if it is binary."""
    if name == "rtf":  # ASCII, and pictures in between
        return data
    # XML says its encoding as HTML does.
    return (html.decode if name in _XML else decode)(data).encode("utf-8", "replace")


def executable() -> str:
    """Path of pandoc: that of the extra, else the first one on the path."""
    spec = find_spec("pypandoc")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in Path(folder, "files").glob("pandoc*"):
            if found.suffix in ("", ".exe"):
                return str(found)
    path = shutil.which("pandoc")
    if path is None:
        raise InputError(f"needs pandoc to be read; {_ADVICE}", "files that need pandoc")
    return path


def _parts(text: str, name: str) -> Iterator[str]:
    """HTML of a text that pandoc can't read as a whole: of its halves, of theirs and so on.

    A part without a heading to cut it at becomes paragraphs as they are written.
    """
    end = monotonic() + _SECONDS_OF_PARTS
    pending = [text.encode()]
    while pending:
        data = pending.pop()
        cuts = [found.start() for found in _HEADINGS[name].finditer(data, 1)]
        is_late = monotonic() > end
        try:
            if is_late or len(data) == len(text.encode()):
                raise _PandocError("is known not to be read")
            yield _html(data, name, _SECONDS_OF_PART)
        except _PandocError:
            if cuts and not is_late:
                cut = min(cuts, key=lambda at: abs(at - len(data) // 2))
                pending += [data[cut:], data[:cut]]
            else:
                lines = escape(data.decode("utf-8", "replace")).split("\n\n")
                yield "".join(f"<p>{part}</p>" for part in lines)


def _html(data: bytes, name: str, seconds: float) -> str:
    """HTML that pandoc makes of a file."""
    command = [
        *(executable(), "--sandbox", "--from", name, "--to", "html", "--standalone"),
        *("--wrap", "none", "--mathml", "--quiet", "+RTS", f"-M{_MEMORY}", "-RTS"),
    ]
    with TemporaryFile() as given, TemporaryFile() as said:
        given.write(data)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  # no shell, and no part of the file in it
                command, stdin=given, stdout=subprocess.PIPE, stderr=said
            )
        except OSError as error:
            raise InputError(f"pandoc does not start ({error.strerror}); {_ADVICE}") from error
        end = monotonic() + seconds
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            with process:
                output = process.stdout.read(_MAX_OUTPUT + 1) if process.stdout else b""
                if len(output) > _MAX_OUTPUT:
                    process.kill()
        finally:
            timer.cancel()
        said.seek(0)
        message = " ".join(said.read(1000).decode("utf-8", "replace").split())
    if len(output) > _MAX_OUTPUT:
        raise InputError(f"makes more than {_MAX_OUTPUT:,} bytes of HTML; split it")
    if process.returncode == _HEAP_EXHAUSTED:
        raise _PandocError(f"takes pandoc more than {_MEMORY} of memory to read; split it")
    if process.returncode < 0 and monotonic() < end:
        raise _PandocError(f"ends pandoc (signal {-process.returncode}); it may be damaged")
    if process.returncode < 0:
        raise _PandocError(f"takes pandoc more than {seconds:g} s to read; split it")
    if process.returncode in _TOO_OLD:
        raise InputError(f"needs a newer pandoc ({message}); {_ADVICE}", "files that need pandoc")
    if process.returncode:
        raise _PandocError(f"can't be read by pandoc ({message[:200]}); it may be damaged")
    return output.decode("utf-8", "replace").replace("<title>-</title>", "")
