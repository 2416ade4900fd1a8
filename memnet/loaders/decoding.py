"""Bytes of text files become text."""

import codecs
import re

from memnet.errors import InputError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that Windows-1252 gives no meaning."""
_LETTER = re.compile(rb"[A-Za-z]")
_HIGH = re.compile(rb"[\x80-\xff]")
_SIGN_IN_WORD = re.compile(
    rb"[a-z\xc0-\xff][\xa1-\xa9\xab-\xb6\xb8\xb9\xbb-\xbf](?=[a-z\xc0-\xff])"
)
"""In Windows-1252 a sign such as the superscript one, in other code pages a letter."""
_HIGH_LETTER = re.compile(rb"[\xc0-\xff]")
_MAX_HIGH_LETTERS = 0.3
"""Share of the letters that stand beyond ASCII. The languages that Windows-1252 is for have 12 %;
Cyrillic, Greek and Hebrew text has more than half."""
_MAX_HIGH = 0.5
"""Share of all bytes beyond ASCII, of these and letters. Chinese and Japanese text has more."""
_MAX_SIGNS = 0.1
"""Share of the bytes beyond ASCII that stand as a sign within a word."""
_SAMPLE = 4096
_MIN_ZEROS = 0.7
"""Share of the characters whose upper byte is zero that makes a text UTF-16 in Latin letters."""


def decode(data: bytes) -> str:
    """The text of a file, every character as it stands there, without a byte order mark.

    It is taken as its mark says, as UTF-8, as UTF-16 without a mark, and as Windows-1252 where
    that is plausible. Bytes that are damaged become replacement characters.

    Raises:
        InputError: it is binary, or in another encoding.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data:
        return _utf_16(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        # A damaged byte among many sound ones; in other encodings few bytes go as UTF-8 by chance.
        text = data.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        if sum(character > "\x7f" for character in text) > 2 * damaged:
            return text
        if _CONTROL.search(data):
            raise _binary() from error
        if _is_western(data):
            return data.decode("cp1252")
        raise InputError(
            f"is not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start}), and not "
            "Windows-1252 either; convert it to UTF-8 first"
        ) from error


def _utf_16(data: bytes) -> str:
    sample = data[:_SAMPLE]
    for encoding, upper, lower in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        zeros = sample[upper::2].count(0)
        if zeros >= _MIN_ZEROS * len(sample) / 2 and sample[lower::2] and 0 not in sample[lower::2]:
            text = data.decode(encoding, "replace")
            if "\0" not in text:
                return text
    raise _binary()


def _is_western(data: bytes) -> bool:
    """Whether bytes beyond ASCII are where Windows-1252 has letters and typographic marks."""
    if _UNDEFINED.search(data):
        return False
    high = len(_HIGH.findall(data))
    letters = len(_LETTER.findall(data))
    signs = len(_SIGN_IN_WORD.findall(data))
    high_letters = len(_HIGH_LETTER.findall(data))
    return (
        high <= _MAX_HIGH * (letters + high)
        and high_letters <= _MAX_HIGH_LETTERS * (letters + high_letters)
        and signs <= _MAX_SIGNS * high
    )


def _binary() -> InputError:
    return InputError("is binary, expected text; convert it to UTF-8 text first")
