"""The file of the vector index: plain arrays, mapped rather than read, each checked before use.

Sections of raw numbers, a checksum for each block of them, and a description at the end. There is
nothing in it that a reader follows, so no content can lead one outside its arrays.
"""

import json
import math
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MAGIC = b"memnetv1"
_BLOCK = 1 << 16
"""Bytes under one checksum. A query that reads 200 rows the first time checks 13 MB: 5 ms."""
_ALIGNMENT = 64
_LONGEST_DESCRIPTION = 1 << 20
_WINDOWS = os.name == "nt"
Check = Callable[[NDArray[np.int64] | None], None]
"""Checks rows at some places, or all, before they are used."""
_TYPES = {"int64": "<i8", "float32": "<f4", "uint8": "u1", "uint32": "<u4"}


class DamagedIndexError(Exception):
    """The file does not hold what was written; the index has to be made anew from the rows."""


class _Section(NamedTuple):
    offset: int
    kind: str
    shape: tuple[int, ...]
    checks: int
    """Offset of the checksums, a uint32 for each block; 0 for checksums themselves."""

    @property
    def size(self) -> int:
        # Of integers without a limit: a shape from a file must not overflow to a small size.
        return np.dtype(_TYPES[self.kind]).itemsize * math.prod(self.shape)


class IndexWriter:
    """Writes one file; ``writing`` gives one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Private until it is known who may read it: its folder may be open to others.
        self._file = open(path, "w+b", opener=_private)  # noqa: SIM115
        self._sections: dict[str, _Section] = {}

    def add(
        self, name: str, kind: str, shape: tuple[int, ...], blocks: Iterable[NDArray[Any]]
    ) -> NDArray[Any]:
        """Write a section; returns it, mapped from the file.

        Args:
            name: of the section.
            kind: type of its numbers.
            shape: of the whole.
            blocks: consecutive parts of it.
        """
        offset = self._write(kind, blocks)
        section = _Section(offset, kind, shape, 0)
        if self._file.tell() != offset + section.size:
            raise ValueError(f"section {name} is not {shape} {kind}")
        self._file.flush()
        written = _mapped(self._file, offset, section.size)
        checks = self._write("uint32", [_checksums(written)])
        self._sections[name] = section._replace(checks=checks)
        return _array(written, section)

    def finish(self, said: Mapping[str, Any]) -> None:
        """Write the description; the file is whole then."""
        text = json.dumps({"said": said, "sections": self._sections}).encode()
        self._file.write(text)
        self._file.write(np.array([len(text), zlib.crc32(text)], "<u8").tobytes() + _MAGIC)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, kind: str, blocks: Iterable[NDArray[Any]]) -> int:
        self._file.write(bytes(-self._file.tell() % _ALIGNMENT))
        offset = self._file.tell()
        for block in blocks:
            self._file.write(np.ascontiguousarray(block, _TYPES[kind]).tobytes())
        return offset


@contextmanager
def writing(path: Path) -> Iterator[IndexWriter]:
    """A file that takes the place of the one at ``path`` when it is whole, and else leaves it."""
    for abandoned in path.parent.glob(f"{path.name}.*.part"):
        with suppress(OSError, ValueError):
            if not _runs(int(abandoned.name.split(".")[-2])):
                abandoned.unlink()
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    writer = IndexWriter(temporary)
    try:
        yield writer
        writer.close()
        temporary.replace(path)
    finally:
        writer.close()
        temporary.unlink(missing_ok=True)


class IndexFile:
    """A file that ``writing`` wrote, mapped. Its numbers are checked where ``check`` is asked."""

    def __init__(self, path: Path) -> None:
        """Map the file and read its description.

        Raises:
            OSError: there is no file, or it can't be read.
            DamagedIndexError: it is not whole.
        """
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.said, self._sections = _description(file, size)
            self._bytes = _mapped(file, 0, size)
        self._checked = {
            name: np.zeros(_blocks(section.size), np.bool_)
            for name, section in self._sections.items()
        }

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def array(self, name: str) -> NDArray[Any]:
        """A section as it stands in the file, unchecked.

        Raises:
            DamagedIndexError: there is no such section.
        """
        try:
            section = self._sections[name]
        except KeyError as error:
            raise DamagedIndexError(f"no section {name}") from error
        return _array(self._bytes[section.offset :], section)

    def checked(self, name: str) -> NDArray[Any]:
        """A section, checked as a whole.

        Raises:
            DamagedIndexError: it is not what was written.
        """
        array = self.array(name)
        self.check(name)
        return array

    def check(self, name: str, rows: NDArray[np.int64] | None = None) -> None:
        """Check some rows of a section, or all, against their checksums; each block but once.

        Args:
            name: of the section.
            rows: places along its first axis, [K] int64; None for all.

        Raises:
            DamagedIndexError: they are not what was written.
        """
        section, done = self._sections[name], self._checked[name]
        if rows is None:
            wanted = np.flatnonzero(~done)
        else:
            width = section.size // max(1, section.shape[0])
            first, last = rows * width // _BLOCK, (rows * width + width - 1) // _BLOCK
            if done[first].all() and done[last].all():
                return
            wanted = np.unique(np.concatenate([first, last]))
            wanted = wanted[~done[wanted]]
        if not len(wanted):
            return
        data = self._bytes[section.offset : section.offset + section.size]
        count = _blocks(section.size)
        said = np.frombuffer(self._bytes, "<u4", count, section.checks)
        for block in wanted.tolist():
            if zlib.crc32(data[block * _BLOCK : (block + 1) * _BLOCK]) != said[block]:
                raise DamagedIndexError(f"block {block} of {name} is not what was written")
        done[wanted] = True


def _description(file: Any, size: int) -> tuple[dict[str, Any], dict[str, _Section]]:
    """What the end of a file says of it, once it is clear that it is the end of a whole file."""
    trailer = 16 + len(_MAGIC)
    file.seek(max(0, size - trailer))
    end = file.read(trailer)
    if len(end) < trailer or end[16:] != _MAGIC:
        raise DamagedIndexError("the end is missing")
    length, checksum = (int(number) for number in np.frombuffer(end[:16], "<u8"))
    if length > min(_LONGEST_DESCRIPTION, size - trailer):
        raise DamagedIndexError("the description is longer than the file")
    file.seek(size - trailer - length)
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise DamagedIndexError("the description is not what was written")
    try:
        found = json.loads(text)
        said = dict(found["said"])
        sections = {
            name: _Section(int(offset), str(kind), tuple(map(int, shape)), int(checks))
            for name, (offset, kind, shape, checks) in found["sections"].items()
        }
        ends = [
            max(one.offset + one.size, one.checks + 4 * _blocks(one.size))
            for one in sections.values()
            if min(one.offset, one.checks, *one.shape) >= 0
        ]
    except (
        ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise DamagedIndexError("the description is not understood") from error
    if len(ends) < len(sections) or max(ends, default=0) > size:
        raise DamagedIndexError("sections lie outside the file")
    return said, sections


def _mapped(file: Any, offset: int, size: int) -> memoryview:
    """Bytes of a file, without reading them where that can be helped."""
    if not size:
        return memoryview(b"")
    if _WINDOWS:
        # Nobody may replace or remove a file there while a process maps it.
        end = file.tell()
        file.seek(offset)
        data = memoryview(file.read(size))
        file.seek(end)
        return data
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    whole = mmap.mmap(file.fileno(), offset + size - start, access=mmap.ACCESS_READ, offset=start)
    return memoryview(whole)[offset - start :]


def _array(data: memoryview, section: _Section) -> NDArray[Any]:
    kind: DTypeLike = _TYPES[section.kind]
    return np.frombuffer(data, kind, math.prod(section.shape)).reshape(section.shape)


def _checksums(data: memoryview) -> NDArray[np.uint32]:
    starts = range(0, len(data), _BLOCK)
    return np.array([zlib.crc32(data[start : start + _BLOCK]) for start in starts], np.uint32)


def _blocks(size: int) -> int:
    return -(-size // _BLOCK)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _runs(process: int) -> bool:
    """Whether a process may still be writing a file that it began."""
    if _WINDOWS:
        # ``os.kill`` would end it there, and a file that it has open can't be removed anyway.
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
