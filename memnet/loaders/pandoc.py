"""Formats that pandoc reads: it makes HTML of them, in a process of its own, with limits."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

from memnet.errors import InputError, Problem, first_line
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.web import html

_MEMORY = "512m"  # that pandoc may allocate
_SECONDS = 60.0  # of time; the limit of processor time of this process holds for pandoc too
_MAX_OUTPUT = 256 << 20  # bytes of HTML
_TOO_OLD = (2, 6, 21)  # statuses: unknown options and formats
_HEAP_EXHAUSTED = 251
_MANUAL = re.compile(rb"^[.'] *(TH|Dt|SH|Sh)\s", re.MULTILINE)
_ADVICE = "pip install 'memnet[pandoc]', or install pandoc 3.8 or later"


def load(file: SourceFile, name: str) -> Iterator[ParsedDocument | Problem]:
    """The document that pandoc reads.

    Args:
        file: to read.
        name: of its format, as pandoc calls it.

    Raises:
        InputError: there is no pandoc, it is too old, or it can't read the file.
    """
    if name == "man" and not _MANUAL.search(file.data):
        raise InputError("is not a manual page; expected one with a line .TH or .Dt")
    if name == "man" and re.search(rb"^[.] *Dt\s", file.data, re.MULTILINE):
        name = "mdoc"
    markup = _html(file.data, name)
    builder = DocumentBuilder()
    page = html.add(builder, markup, whole=True, max_heading=file.max_title)
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    title = page.title[: file.max_title] or file.title
    yield builder.build(file.name, title, metadata=page.metadata)


def executable() -> str:
    """Path of pandoc: that of the extra, else the first one on the path.

    Raises:
        InputError: there is none.
    """
    spec = find_spec("pypandoc")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in Path(folder, "files").glob("pandoc*"):
            if found.suffix in ("", ".exe"):
                return str(found)
    path = shutil.which("pandoc")
    if path is None:
        raise InputError(f"needs pandoc to be read; {_ADVICE}", "files that need pandoc")
    return path


def _html(data: bytes, name: str) -> str:
    """HTML that pandoc makes of a file.

    Raises:
        InputError: it does not.
    """
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
        timer = Timer(_SECONDS, process.kill)
        timer.start()
        try:
            with process:
                output = process.stdout.read(_MAX_OUTPUT + 1) if process.stdout else b""
                if len(output) > _MAX_OUTPUT:
                    process.kill()
        finally:
            timer.cancel()
        said.seek(0)
        message = first_line(said.read(1000).decode("utf-8", "replace"))
    if len(output) > _MAX_OUTPUT:
        raise InputError(f"makes more than {_MAX_OUTPUT:,} bytes of HTML; split it")
    if process.returncode == _HEAP_EXHAUSTED:
        raise InputError(f"takes pandoc more than {_MEMORY} of memory to read; split it")
    if process.returncode < 0:
        raise InputError(f"takes pandoc more than {_SECONDS:g} s to read; split it")
    if process.returncode in _TOO_OLD:
        raise InputError(f"needs a newer pandoc ({message}); {_ADVICE}", "files that need pandoc")
    if process.returncode:
        raise InputError(f"can't be read by pandoc ({message[:200]}); it may be damaged")
    return output.decode("utf-8", "replace").replace("<title>-</title>", "")
