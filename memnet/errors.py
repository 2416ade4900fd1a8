"""Every error that memnet raises on purpose.

Each message says what was found, what was expected and what to do, in one line.
"""


class MemnetError(Exception):
    """Base of all errors of this package; catch it to catch them all."""


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


def first_line(error: Exception) -> str:
    """What another library's error says, in one line."""
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__
