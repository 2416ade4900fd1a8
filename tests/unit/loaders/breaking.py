"""A loader that does what its file says, and a start of the child that knows it."""

import os
import signal
import sys
import time
from collections.abc import Iterator

from memnet.errors import InputError, Problem
from memnet.loaders import formats, reading
from memnet.loaders.document import Block, DocumentBuilder, ParsedDocument
from memnet.loaders.formats import Format, SourceFile

FORMAT = Format("breaking", "tests", (".breaking",), "breaking")
START = (
    "import tests.unit.loaders.breaking as broken; "
    "broken.register(); from memnet.loaders.reading import main; main()"
)


def register() -> None:
    """Add the format to those there are."""
    formats._BY_NAME[FORMAT.name] = formats._BY_SUFFIX[".breaking"] = FORMAT
    sys.modules["memnet.loaders.breaking"] = sys.modules[__name__]


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """Documents of one paragraph for lines "say TEXT"; other lines break something."""
    for number, line in enumerate(file.data.decode("utf-8", "surrogateescape").splitlines()):
        verb, _, rest = line.partition(" ")
        match verb:
            case "say":
                builder = DocumentBuilder()
                builder.add("paragraph", rest)
                yield builder.build(f"{file.name}#{number}", "A title")
            case "problem":
                yield Problem(file.name, rest)
            case "refuse":
                raise InputError(rest)
            case "raise":
                raise KeyError(rest)
            case "exit":
                os._exit(int(rest))
            case "signal":
                os.kill(os.getpid(), signal.Signals[rest])
            case "sleep":
                time.sleep(float(rest))
            case "spin":
                until = time.process_time() + float(rest)
                while time.process_time() < until:
                    pass
            case "allocate":
                bytearray(int(rest))
            case "recurse":
                load_deep(10**9)
            case "print":
                print(rest)  # noqa: T201
                os.write(1, rest.encode())
                os.write(2, rest.encode())
            case "outside":
                yield ParsedDocument(file.name, "", "short", (Block("paragraph", 0, 99),))
            case "rename":
                yield ParsedDocument(rest, "", "text", (Block("paragraph", 0, 4),))
            case "surrogates":
                yield ParsedDocument(
                    file.name, "\udc80", "a\ud800\udc00b", (Block("code", 0, 4),), names=("\ud800",)
                )
            case "large":
                reading.MAX_BYTES = int(rest)
            case "sibling":
                data = file.sibling(rest)
                builder = DocumentBuilder()
                builder.add("paragraph", "none" if data is None else data.decode())
                yield builder.build(file.name, "")
            case "raw":
                os.write(int(rest), b"\xff\xff\xff\xff and more")


def load_deep(levels: int) -> int:
    """Exhaust the stack."""
    return load_deep(levels - 1) + 1 if levels else 0
