"""Files and their text: opened without blocking, read whole, decoded, line by line.

The ground floor for all who read a file; documents of many formats are read by ``memnet.loaders``.
"""

import codecs
import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from memnet.errors import EMPTY, InputError, Problem

if TYPE_CHECKING:
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")

# Without O_NONBLOCK, opening a pipe waits for its other end; Windows has no pipes among its files.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_ATTEMPTS = 3  # to read a file that changes meanwhile, such as a log
_MAX_LINE = 25_000_000  # bytes of a line of JSON
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What says the first is often written in the second, which holds it (WHATWG Encoding Standard).
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_jis_2004": "euc_jp",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Encodings of texts, by the names of Python's codecs; not "unicode_escape" and the like.
_ENCODING = re.compile(
    r"utf-(7|8|(16|32)(-[bl]e)?)|cp125\d|cp437|cp85\d|cp874|cp866|cp932|cp949|iso8859-\d+|koi8-[ru]"
    r"|mac-(roman|cyrillic|latin2)|gb18030|hz|big5hkscs|euc_jp|iso2022_(jp|kr)\w*"
)
# In ISO-2022-JP, characters of two bytes each; then ASCII or one-byte katakana.
_JIS_PAIRS = re.compile(rb"\x1b\$[@B]([^\x1b\r\n]*)")
_JIS_SINGLES = re.compile(rb"\x1b\([BJ]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UPPER_CONTROL = re.compile("[\x80-\x84\x86-\x9f]")  # in no text; ISO 8859 has them, not NEL
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in Windows-1252
_LETTER = re.compile(rb"[A-Za-z]")
_HIGH = re.compile(rb"[\x80-\xff]")
# In Windows-1252 a sign such as the superscript one, or a capital after a small letter; in other
# code pages a letter. Dashes, apostrophes and dots do stand between small letters.
_SIGN_IN_WORD = re.compile(
    rb"[a-z\xdf-\xff](?:[\x80\x82-\x84\x86-\x89\x8b\x93-\x95\x98\x99\x9b\xa1-\xa9\xab-\xb6\xb8\xb9"
    rb"\xbb-\xbf](?=[a-z\xdf-\xff])|[\x8a\x8c\x8e\x9f\xc0-\xde])"
)
# Quotation marks, dashes and the sign of the euro of Windows-1252, where no letter stands
_TYPOGRAPHIC = re.compile(
    rb"(?<!\w)(?:\x91(?=\w[^\x91]{1,400}\x92)|\x93(?=\w))|(?<=[\w.,!?\x85])(?:\x92|\x94(?!\w))"
    rb"|\x80(?= ?\d)|(?:(?<=\d)|(?<=\d ))\x80|(?<=[ \d])\x96(?=[ \d])|(?<= )\x97(?= )"
)
_HIGH_LETTER = re.compile(rb"[\xc0-\xff]")
# Share of the letters that stand beyond ASCII. The languages that Windows-1252 is for have 12 %;
# Cyrillic, Greek and Hebrew text has more than half.
_MAX_HIGH_LETTERS = 0.3
# Share of all bytes beyond ASCII, of these and letters. Chinese and Japanese text has more.
_MAX_HIGH = 0.5
_MAX_SIGNS = 0.1  # share of the bytes beyond ASCII that stand as a sign within a word
_SAMPLE = 4096
# Of the detector's confidences: that from which an encoding is taken; the share of it that those of
# other texts stay below; that below which it knows no language, as of signs in English; the share
# from which two are equal. Of 2,682 paragraphs and sentences in eleven encodings and four languages
# 2,046 are read right, two wrong, and the others refused.
_MIN_CONFIDENCE, _MAX_OTHER, _NO_LANGUAGE, _EQUAL = 0.2, 0.98, 0.07, 0.998
# Share of the characters whose upper byte is zero that makes a text UTF-16 in Latin letters.
_MIN_ZEROS = 0.7


def open_file(path: str | bytes | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; a pipe or a device never blocks.

    Raises InputError if it is something else than a file, OSError if it can't be opened.
    """
    descriptor = os.open(path, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        raise InputError(f"is a {kind}, expected a file; '-' reads standard input")
    return os.fdopen(descriptor, "rb")


def read_file(path: str | bytes | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a file, as it was at one time.

    Raises InputError if it can't be read, is too large, or does not stop changing.
    """
    try:
        for _ in range(_ATTEMPTS):
            with open_file(path) as file:
                before = os.fstat(file.fileno())
                check_size(before.st_size, max_bytes)
                data = file.read(max_bytes + 1)
                after = os.fstat(file.fileno())
            unchanged = len(data) == after.st_size and before.st_mtime_ns == after.st_mtime_ns
            # A file of /proc has no size until it is read.
            if unchanged or (not after.st_size and len(data) <= max_bytes):
                return data
    except OSError as error:
        raise InputError(
            f"can't be read ({error.strerror or error}); check path and rights"
        ) from error
    raise InputError("changes while it is read; try again when nothing writes to it")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in one step: a reader sees the former content or the whole new one.

    The rights of a file that is there stay.
    """
    temporary = path.with_name(path.name + ".new")
    rights = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    with open(temporary, "wb", opener=partial(os.open, mode=rights or 0o666)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if rights is not None:
        temporary.chmod(rights)
    temporary.replace(path)


def check_size(size: int, max_bytes: int) -> None:
    """Raise InputError for a file that is too large."""
    if size > max_bytes:
        raise InputError(f"holds {size:,} bytes, the limit is {max_bytes:,}; split it")


def decode(data: bytes) -> str:
    """The text of a file, every character as it stands there, without a byte order mark.

    It is taken as its mark says, as UTF-8, as UTF-16 without a mark, as ISO-2022-JP by its escape
    sequences, and else in the encoding that is by far the likeliest. Bytes of UTF-8 that are
    damaged become replacement characters.

    Raises:
        InputError: it is binary, or its encoding is not certain.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data:
        return _utf_16(data)
    try:
        if _JIS_PAIRS.search(data):
            return decode_as(data, "iso2022_jp")
        return data.decode()
    except UnicodeDecodeError as error:
        # A damaged byte among many sound ones; in other encodings few bytes go as UTF-8 by chance.
        text = data.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        if sum(character > "\x7f" for character in text) > 2 * damaged:
            return text
        if _CONTROL.search(data):
            raise _binary() from error
        guessed = _guessed(data)
        if guessed is None:
            raise _not_utf_8(error, ", and no other encoding is certain") from error
        return guessed


def with_line_feeds(text: str) -> str:
    """A text whose lines end as on Linux, whatever system it was written on."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def codec_named(label: str) -> str:
    """The codec of an encoding that a mail or page is labelled with; empty if it is none of text.

    Of encodings that others extend it is the widest, as browsers take them.
    """
    name = re.sub(r"^x-|-[ei]$", "", label.strip().lower())
    try:
        name = codecs.lookup(re.sub(r"^windows-(?=\d+$)", "cp", name)).name
    except (LookupError, ValueError):
        return ""
    name = _SUPERSETS.get(name, name)
    return name if _ENCODING.fullmatch(name) else ""


def decode_as(data: bytes, codec: str, errors: str = "strict") -> str:
    """Text of a codec of ``codec_named``; ISO-2022-JP with the characters that Windows added."""
    if codec.startswith("iso2022_jp"):
        try:
            return data.decode("iso2022_jp_ext")
        except ValueError:
            shifted = _JIS_PAIRS.sub(lambda run: _shift_jis(run[1]), data)
            return _JIS_SINGLES.sub(b"", shifted).decode("cp932", errors)
    return data.decode(codec, errors)


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file, every character as it stands there.

    Raises InputError if it can't be read, is empty, is not text, or is longer than ``max_bytes``.
    """
    text = decode(read_file(path, max_bytes))
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it", EMPTY)
    return text


def read_lines(stream: BinaryIO, where: str, max_bytes: int) -> Iterator[tuple[int, str] | Problem]:
    """Numbered lines of a stream, with a problem for each that is not text or is too long.

    Args:
        stream: of bytes.
        where: its name in problems.
        max_bytes: limit of a line.

    Raises:
        InputError: the stream gives something else than bytes.
    """
    number = 0
    while data := stream.readline(max_bytes + 1):
        if not isinstance(data, bytes):
            raise InputError(
                f"{where} gives {type(data).__name__}, expected bytes; open it in binary mode"
            )
        number += 1
        try:
            if len(data) > max_bytes:
                while data and not data.endswith(b"\n"):
                    data = stream.readline(max_bytes)
                raise InputError(f"is longer than {max_bytes:,} bytes; split it")
            yield number, _decode_line(data)
        except InputError as error:
            yield Problem(f"{where}, line {number}", str(error))


def read_json_lines(
    path: str | os.PathLike[str], model: type[Model], name: str, expected: str
) -> list[Model]:
    """Read a file of one JSON object a line.

    Args:
        path: of the file; compressed by gzip if its name ends in ".gz".
        model: class of the objects.
        name: what an object is, for messages.
        expected: form of a line, for messages.

    Raises:
        InputError: the file can't be read, holds no object, or a line is not one.
    """
    try:
        with open_file(path) as file:
            if os.fspath(path).endswith(".gz"):
                file = cast(BinaryIO, gzip.GzipFile(fileobj=file))
            objects = [
                _parsed(line, path, model, expected)
                for line in read_lines(file, str(path), _MAX_LINE)
                if isinstance(line, Problem) or line[1].strip()
            ]
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"the {name} file {path} can't be read: {error}") from error
    if not objects:
        raise InputError(f"the {name} file {path} holds no {name}s; expected JSON lines")
    return objects


def _parsed(
    line: tuple[int, str] | Problem, path: str | os.PathLike[str], model: type[Model], expected: str
) -> Model:
    if isinstance(line, Problem):
        raise InputError(str(line))
    from pydantic import ValidationError  # here, as the process of the loaders does without it

    try:
        return model.model_validate_json(line[1])
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "line"
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(
            f"{path}, line {line[0]}: {field}: {message}; expected {expected}"
        ) from error


def _decode_line(data: bytes) -> str:
    if b"\0" in data:
        raise _binary()
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise _not_utf_8(error) from error


def _not_utf_8(error: UnicodeDecodeError, nor: str = "") -> InputError:
    where = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return InputError(f"is not UTF-8 ({where}){nor}; convert it to UTF-8 first")


def _utf_16(data: bytes) -> str:
    sample = data[:_SAMPLE]
    for encoding, upper, lower in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        zeros = sample[upper::2].count(0)
        if zeros >= _MIN_ZEROS * len(sample) / 2 and sample[lower::2] and 0 not in sample[lower::2]:
            text = data.decode(encoding, "replace")
            if "\0" not in text:
                return text
    raise _binary()


def _shift_jis(pairs: bytes) -> bytes:
    """Pairs of bytes of JIS X 0208 as Shift_JIS has them."""
    shifted = bytearray()
    for first, second in zip(pairs[::2], pairs[1::2], strict=False):
        shifted.append((first + 1) // 2 + (0x70 if first <= 0x5E else 0xB0))
        shifted.append(second + ((0x1F + (second >= 0x60)) if first % 2 else 0x7E))
    return bytes(shifted)


def _guessed(data: bytes) -> str | None:
    """Bytes that are no UTF-8 as text, if one encoding is much likelier than those that differ."""
    rest = _TYPOGRAPHIC.sub(b"", data)
    paired = data.count(b"\x93") == data.count(b"\x94")
    if rest != data and paired and not _HIGH.search(rest.replace(b"\x85", b"")):
        return data.decode("cp1252")
    found: dict[str, float] = {}
    with suppress(ModuleNotFoundError):  # without it what may be Windows-1252 is
        import chardet  # pyright: ignore[reportMissingImports]  # here: few files want it

        for one in chardet.detect_all(data, ignore_threshold=True, compat_names=False):
            found.setdefault(codec_named(one["encoding"] or ""), one["confidence"])
        found.pop("", None)
    best = max(found.values(), default=0.0)
    # What most of the files are in that name none.
    if (best < _NO_LANGUAGE or found.get("cp1252", 0.0) >= _EQUAL * best) and _is_western(data):
        return data.decode("cp1252")
    texts = set[str]()
    on_mac = next(iter(found), "").startswith("mac-")  # the rarer of two that are equally likely
    for codec, confidence in found.items():
        likely = confidence >= _MAX_OTHER * best and best >= _MIN_CONFIDENCE
        if likely and (on_mac or not codec.startswith("mac-")):
            with suppress(ValueError):
                texts.add(decode_as(data, codec))
    texts = {text for text in texts if not _UPPER_CONTROL.search(text)}
    return texts.pop() if len(texts) == 1 else None


def _is_western(data: bytes) -> bool:
    """Whether bytes beyond ASCII are where Windows-1252 has letters and typographic marks."""
    patterns = (_HIGH, _LETTER, _HIGH_LETTER, _SIGN_IN_WORD)
    high, letters, high_letters, signs = (len(pattern.findall(data)) for pattern in patterns)
    return (
        not _UNDEFINED.search(data)
        and high <= _MAX_HIGH * (letters + high)
        and high_letters <= _MAX_HIGH_LETTERS * (letters + high_letters)
        and signs <= _MAX_SIGNS * high
    )


def _binary() -> InputError:
    return InputError("is binary, expected text; convert it to UTF-8 text first")
