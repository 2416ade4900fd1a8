"""Every error that memnet raises on purpose.

Each message says what was found, what was expected and what to do, in one line.
"""

import re

_LONGEST = 1000
"""Characters of a message: what it quotes may be of any length."""
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines, changes of writing direction, and unpaired surrogates."""


class MemnetError(Exception):
    """Base of all errors of this package; catch it to catch them all."""

    def __str__(self) -> str:
        return one_line(super().__str__())


def one_line(text: str, longest: int | None = _LONGEST) -> str:
    """A text with the characters escaped that end a line or steer a terminal.

    Args:
        text: may quote names from outside.
        longest: characters that are kept; None for all.
    """
    kept = text if longest is None or len(text) <= longest else f"{text[: longest - 3]}..."
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), kept)


class InputError(MemnetError):
    """Something given to memnet can't be used: a path, a file, a line, a question."""


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


def first_line(error: Exception) -> str:
    """What another library's error says, in one line."""
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__
