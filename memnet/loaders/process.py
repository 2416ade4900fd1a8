"""Files are read in a child process with limits: one that breaks its parser breaks nothing else.

The child is started by the first file that needs it, and again after one that broke it.
"""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from memnet.errors import Problem
from memnet.loaders.document import ParsedDocument, well_formed
from memnet.loaders.formats import format_by_name
from memnet.loaders.reading import (
    BadMessageError,
    FileToLoad,
    LoadLimits,
    load_documents,
    message_item,
    parse_message,
    read_message,
    write_message,
)
from memnet.runtime.process import start_child

_START = "from memnet.loaders.reading import main; main()"
# Bytes of a file that is read in a child whatever its format: where time is quadratic, as in
# Markdown's rules for brackets, that of smaller ones is a second at most.
_LARGE = 1 << 16
_MAX_CHILDREN = 20  # that the files in one archive may break
_QUEUED = 2  # messages that wait while the parent does something else, such as encoding
_GRACE = 2.0  # seconds in which a child that has nothing more to do has to end by itself


class LoaderProcess(AbstractContextManager["LoaderProcess"]):
    """Reads files, those that may break their parsers in a child process.

    A context manager: the child ends with it. One thread may use it at a time.
    """

    def __init__(
        self, limits: LoadLimits, on_page: Callable[..., object] = lambda *_: None
    ) -> None:
        """Set up; ``on_page`` gets a file, a page that takes seconds, and the number of pages."""
        self._limits, self._on_page = limits, on_page
        self._child: _Child | None = None

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def load(self, file: FileToLoad) -> Iterator[ParsedDocument | Problem]:
        """The documents of a file, and problems where something of it can't be read."""
        if _is_isolated(file):
            yield from self._load_isolated(_Request(file))
            return
        try:
            for item in load_documents(file, self._limits):
                yield item if isinstance(item, Problem) else replace(item, origin=file.path)
        except MemoryError:
            yield Problem(file.name, "takes more memory to read than there is; split it")

    def _load_isolated(self, request: "_Request") -> Iterator[ParsedDocument | Problem]:
        """The same in a child, which each file in an archive may break."""
        is_through = False
        try:
            for _ in range(_MAX_CHILDREN):
                try:
                    yield from self._answers(request)
                    is_through = True
                    return
                except _BrokenError as error:
                    yield Problem(request.within or request.file.name, str(error))
                    self._kill()
                if not request.within:
                    return
                request.within = ""
            what = f"{_MAX_CHILDREN} files in it break their parsers; the rest is not read"
            yield Problem(request.file.name, what)
        finally:
            if not is_through:
                self._kill()

    def _answers(self, request: "_Request") -> Iterator[ParsedDocument | Problem]:
        """What the child gives for a request; a ``_BrokenError`` says why it breaks."""
        file, limits = request.file, self._limits
        try:
            if self._child is None:
                self._child = _Child()
            child = self._child
            child.send(request, limits)
            while (message := child.receive(limits)) != ["end"]:
                match message:
                    case ["begin", str(name)] if name.startswith(f"{well_formed(file.name)}/"):
                        request.begun += 1
                        request.within = name
                    case ["page", int(page), int(pages)]:
                        self._on_page(request.within or file.name, page, pages)
                    case ["memory"]:
                        most = f"{limits.memory >> 20:,} MB"
                        raise _BrokenError(f"takes more than {most} of memory to read; split it")
                    case _:
                        yield message_item(message, file.name, file.path)
        except OSError as error:
            raise _BrokenError(
                f"can't be read: the process for it does not start ({error.strerror})"
            ) from error
        except BadMessageError as error:
            raise _BrokenError("makes its parser return invalid data; it is damaged") from error

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


def _end_text(status: int | None, limits: LoadLimits) -> str:
    """What the end of a child, or None if it does not answer, means for the file that it read."""
    if status is None or -status == getattr(signal, "SIGXCPU", None):
        return f"takes more than {limits.seconds:g} s to read; split it"
    if status >= 0:
        return f"ends the process that reads it (status {status}); it may be damaged"
    if -status == getattr(signal, "SIGKILL", None):
        return "made the system end the process that read it, likely for want of memory"
    name = signal.strsignal(-status) or f"signal {-status}"
    return f"crashes its parser ({name}); it is damaged, or takes too much memory"


@dataclass
class _Request:
    """A file that the child is to read."""

    file: FileToLoad
    begun: int = 0  # files in it, if it is an archive, that were begun and are left out next time
    within: str = ""  # name of the one that is being read


class _BrokenError(Exception):
    """The child can't go on."""


class _Child:
    """A running process of loaders."""

    def __init__(self) -> None:
        self._process = start_child(_START)
        self._messages: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._is_through = False
        # A thread can wait for a pipe on every system, where ``select`` takes sockets alone on
        # Windows; and while the parent encodes it takes what the child has ready.
        self._thread = threading.Thread(target=self._read, daemon=True, name="loaders")
        self._thread.start()

    def send(self, request: _Request, limits: LoadLimits) -> None:
        """Request a file."""
        # A name that is not Unicode passes as its bytes.
        file = replace(request.file, path=os.fsencode(request.file.path).decode("latin-1"))
        message = [astuple(file), astuple(limits), request.begun]
        with suppress(OSError):  # it has ended, as ``receive`` will tell
            write_message(cast(BinaryIO, self._process.stdin), message)

    def receive(self, limits: LoadLimits) -> list[object]:
        """The next message.

        Raises:
            BadMessageError: it is not a message.
            _BrokenError: the process ended, or does not answer in time.
        """
        try:
            data = self._messages.get(timeout=2 * limits.seconds)
        except queue.Empty:
            raise _BrokenError(_end_text(None, limits)) from None
        if data is not None:
            return parse_message(data)
        self._is_through = True
        try:
            status = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:  # it only closed its output, or wrote something else
            self._process.kill()
            status = self._process.wait()
        raise _BrokenError(_end_text(status, limits))

    def end(self) -> None:
        """Let the process end by itself, if it is idle."""
        with suppress(OSError, subprocess.TimeoutExpired):
            cast(BinaryIO, self._process.stdin).close()
            self._process.wait(_GRACE)
        self.kill()

    def kill(self) -> None:
        """End the process, and take back all that it holds."""
        self._process.kill()
        self._process.wait()
        while not self._is_through and self._messages.get() is not None:
            pass
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # of what was still to be sent
                cast(BinaryIO, stream).close()

    def _read(self) -> None:
        stream = cast(BinaryIO, self._process.stdout)
        while (data := read_message(stream)) is not None:
            self._messages.put(data)
        self._messages.put(None)


def _is_isolated(file: FileToLoad) -> bool:
    if format_by_name(file.format).isolated:
        return True
    try:
        return Path(file.path).stat().st_size > _LARGE
    except (OSError, ValueError):
        return False
