"""Every error that memnet raises on purpose.

Each message says what was found, what was expected and what to do, in one line.
"""

import re
from dataclasses import dataclass

DISTRIBUTION = "memnet-qa"  # What is installed; "memnet" is another's on PyPI
# Reason of a problem: nothing is in it.
EMPTY = "empty"
# Characters: a quoted name may be of any length.
_MAX_MESSAGE = 1000
# Control characters, ends of lines, changes of writing direction, unpaired surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class MemnetError(Exception):
    """Base of all errors of this package; catch it to catch them all."""

    def __str__(self) -> str:
        return one_line(super().__str__())


def one_line(text: str, max_length: int | None = _MAX_MESSAGE) -> str:
    """A text, cut to ``max_length``, with line ends and terminal control characters escaped."""
    cut = text if max_length is None or len(text) <= max_length else f"{text[: max_length - 3]}..."
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), cut)


def text_line(text: str) -> str:
    """A text as one line, with whatever would steer a terminal escaped."""
    return one_line(" ".join(text.split()), None)


def shorten(text: str, max_length: int) -> str:
    """The start of a text, with an ellipsis where it is cut."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


@dataclass(frozen=True)
class Problem:
    """Something that was skipped, and why."""

    where: str
    what: str
    reason: str = ""
    """What it is one of, as a count says it, "images" or "empty", where nothing is wrong: there is
    just no text to read. Empty where something is, so that somebody should look at it."""

    def __str__(self) -> str:
        return one_line(f"{self.where}: {self.what}")


class InputError(MemnetError):
    """Something given to memnet can't be used: a path, a file, a line, a question."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """As that of ``Problem``."""


class StoreError(MemnetError):
    """A memory store can't be opened, read or written."""


class StoreBusyError(StoreError):
    """Another process or thread is writing to the store."""


class EncoderMismatchError(StoreError):
    """The store was made with another encoder than the one it is opened with."""


class EncoderError(MemnetError):
    """The encoder's weights are missing, damaged or of another kind."""


class ModelError(MemnetError):
    """A trained model is missing, damaged, of another version, or not fit for what is asked."""


class DependencyError(MemnetError):
    """An optional library that this call needs is not installed."""


class DeviceError(MemnetError):
    """The device that is asked for is not there."""


def first_line(error: BaseException) -> str:
    """The first line of another library's error message."""
    message = str(error).strip()
    return message.splitlines()[0] if message else type(error).__name__


def install(*extras: str) -> str:
    """The command that installs memnet with some extras, for messages."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"


def needs_torch(what: str) -> str:
    """The message of an error where torch is not installed."""
    return f"{what} needs torch; run: {install('train')}"
