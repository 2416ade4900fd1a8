"""Text files' bytes become text."""

import codecs
import re

from memnet.errors import InputError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark begins in the same way
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, what its byte order mark says, or else Windows-1252.

    Raises:
        InputError: it is no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if _BINARY.search(data):
            raise InputError(
                f"is no text (byte 0x{data[error.start]:02x} at {error.start}); leave it out, or "
                "pass it with --as and its format"
            ) from error
        # Five of its bytes mean nothing.
        return data.decode("cp1252", "replace")
