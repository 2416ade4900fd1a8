"""The file of the vector index: plain little-endian arrays, mapped rather than read.

    ids [N] int64 |
    vectors [N, row_size] uint8, as ``packed_rows`` makes them, unless pq reads them elsewhere |
    pq only: codebook [16 D] float32, codes [N, W] uint8 |
    CRC-32 of each 64 KiB of these, uint32 | header as JSON
    length of the header, CRC-32 of checksums and header, both uint64 | magic

Arrays begin at multiples of 64 bytes. All sizes follow from the header and have to add up to the
size of the file: no offset in it could lead a reader outside, and a torn file is refused.
"""

import math
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.storage.precision import row_sizes

_MAGIC = b"memnetv3"
_TRAILER = 16 + len(_MAGIC)
_MAX_HEADER = 1 << 20
_BLOCK = 1 << 16
"""Bytes under one checksum. A query that reranks 200 vectors checks 13 MB the first time: 5 ms."""
_ALIGNMENT = 64
_WINDOWS = os.name == "nt"


class DamagedIndexError(Exception):
    """The file does not hold what was written; the index has to be rebuilt from the rows."""


class IndexHeader(BaseModel):
    """What an index file holds, and what it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    commit_id: int = Field(ge=-(2**63), lt=2**63)
    """Of the rows that it was made from."""
    fingerprint: str
    """Of the encoder."""
    dimension: int = Field(ge=1)
    """D, width of the vectors."""
    count: int = Field(ge=0)
    """N, number of vectors."""
    row_size: int
    """Bytes of a vector; 0 where the file has codes and no vectors."""
    code_size: int = Field(default=0, ge=0)
    """W, bytes of a product-quantisation code; 0 for a flat index."""
    rerank: int = Field(default=0, ge=0)
    """Least number of candidates to rerank; 0 for a flat index."""
    recall: float = Field(default=1.0, ge=0, le=1)
    """Recall@10, measured when the file was built."""


class _Section(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def row_size(self) -> int:
        return np.dtype(self.dtype).itemsize * math.prod(self.shape[1:])

    @property
    def end(self) -> int:
        # Python integers: a shape from a header must not overflow to a small size.
        return self.offset + self.shape[0] * self.row_size


class IndexFile:
    """A whole index file, mapped. Its arrays are verified by ``check``, each block once."""

    def __init__(self, path: Path) -> None:
        """Map the file and read its header.

        Raises:
            OSError: there is no file, or it can't be read.
            DamagedIndexError: it is torn, of another format, or its header is damaged.
        """
        with path.open("rb") as file:
            self.header, self._checksums = _read_end(file)
            self._sections, size = _layout(self.header)
            self._data = _map(file, size)
        self._checked = np.zeros(len(self._checksums), np.bool_)

    def array(self, name: str) -> NDArray[Any]:
        """The section ``ids``, ``vectors``, ``codebook`` or ``codes``, unverified."""
        return _array(self._data, self._sections[name])

    def check(self, name: str, rows: NDArray[np.int64] | None = None) -> None:
        """Verify rows of a section along its first axis, [K] int64, or all of it.

        Raises:
            DamagedIndexError: they are not what was written.
        """
        section = self._sections[name]
        if rows is None:
            blocks = np.arange(section.offset // _BLOCK, -(-section.end // _BLOCK))
        else:
            starts = section.offset + rows * section.row_size
            first, last = starts // _BLOCK, (starts + section.row_size - 1) // _BLOCK
            spanned = np.arange(section.row_size // _BLOCK + 2)
            blocks = np.minimum(first[:, None] + spanned, last[:, None])
        unchecked = blocks[~self._checked[blocks]]
        if not len(unchecked):
            return
        for block in np.unique(unchecked).tolist():
            data = self._data[block * _BLOCK : (block + 1) * _BLOCK]
            if zlib.crc32(data) != self._checksums[block]:
                raise DamagedIndexError(f"block {block}, in {name}, is not what was written")
        self._checked[unchecked] = True

    def check_all(self) -> None:
        """Verify all sections; errors as ``check``."""
        for name in self._sections:
            self.check(name)


class IndexWriter:
    """Writes the sections of one file in the order of the format; ``replacing`` makes one."""

    def __init__(self, file: IO[bytes], header: IndexHeader) -> None:
        self._file = file
        self._sections, self._size = _layout(header)

    def write(self, name: str, blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """Write a section, given in consecutive blocks; returns it, mapped.

        Raises:
            ValueError: the blocks have more or fewer rows than the header says.
        """
        section = self._sections[name]
        self._file.write(bytes(section.offset - self._file.tell()))
        for block in blocks:
            self._file.write(np.ascontiguousarray(block, section.dtype).data)
        if self._file.tell() != section.end:
            raise ValueError(f"section {name} is not {section.shape} {section.dtype}")
        self._file.flush()
        return _array(_map(self._file, section.end), section)

    def finish(self, header: IndexHeader) -> None:
        """Write checksums and header, with what was measured meanwhile; the file is whole then."""
        self._file.seek(0)
        sizes = (min(_BLOCK, self._size - start) for start in range(0, self._size, _BLOCK))
        checksums = [zlib.crc32(self._file.read(size)) for size in sizes]
        text = header.model_dump_json().encode()
        end = np.array(checksums, "<u4").tobytes() + text
        self._file.seek(self._size)
        self._file.write(end + np.array([len(text), zlib.crc32(end)], "<u8").tobytes() + _MAGIC)
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def replacing(path: Path, header: IndexHeader) -> Iterator[IndexWriter]:
    """Write a file that replaces the one at ``path`` when the block ends, and not if it fails.

    Only one may be written at a time: what others began was abandoned, as by a process killed.
    """
    for abandoned in path.parent.glob(f"{path.name}.*part"):
        abandoned.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    try:
        # Private until it is known who may read it: its folder may be open to others.
        with open(temporary, "w+b", opener=_open_private) as file:
            yield IndexWriter(file, header)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def scratch_rows(
    folder: Path, blocks: Iterable[NDArray[np.uint8]], shape: tuple[int, int]
) -> Iterator[NDArray[np.uint8]]:
    """Rows of ``shape``, given in consecutive blocks, in a file that is deleted with the block.

    Raises:
        ValueError: the blocks have more or fewer rows.
    """
    with TemporaryFile(dir=folder) as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)
        if file.tell() != math.prod(shape):
            raise ValueError(f"the rows are not {shape}")
        file.flush()
        yield _array(_map(file, math.prod(shape)), _Section("u1", shape, 0))


def read_header(path: Path) -> IndexHeader | None:
    """The header of the index file at ``path``; None where there is no whole file."""
    try:
        with path.open("rb") as file:
            return _read_end(file)[0]
    except (OSError, DamagedIndexError):
        return None


def _read_end(file: IO[bytes]) -> tuple[IndexHeader, NDArray[np.uint32]]:
    """Header and checksums at the end of a file, verified."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _TRAILER))
    trailer = file.read()
    if len(trailer) < _TRAILER or not trailer.endswith(_MAGIC):
        raise DamagedIndexError("the end is missing, or of another format")
    length, checksum = (int(number) for number in np.frombuffer(trailer[:16], "<u8"))
    if length > min(_MAX_HEADER, size - _TRAILER):
        raise DamagedIndexError("the header is longer than the file")
    file.seek(size - _TRAILER - length)
    text = file.read(length)
    try:
        header = IndexHeader.model_validate_json(text)
    except ValidationError as error:
        raise DamagedIndexError("the header is not one of an index") from error
    without = header.row_size == 0 and header.code_size > 0
    if not without and header.row_size not in row_sizes(header.dimension):
        raise DamagedIndexError(f"a vector has {header.row_size} bytes")
    _, data_size = _layout(header)
    count = -(-data_size // _BLOCK)
    if size != data_size + 4 * count + length + _TRAILER:
        raise DamagedIndexError("the file is of another size than its header says")
    file.seek(data_size)
    checksums = file.read(4 * count)
    if zlib.crc32(checksums + text) != checksum:
        raise DamagedIndexError("the header is not what was written")
    return header, np.frombuffer(checksums, "<u4")


def _layout(header: IndexHeader) -> tuple[dict[str, _Section], int]:
    """The sections of a file by name, and where they end."""
    arrays: dict[str, tuple[str, tuple[int, ...]]] = {"ids": ("<i8", (header.count,))}
    if header.row_size:
        arrays["vectors"] = ("u1", (header.count, header.row_size))
    if header.code_size:
        arrays["codebook"] = ("<f4", (16 * header.dimension,))
        arrays["codes"] = ("u1", (header.count, header.code_size))
    sections, end = {}, 0
    for name, (dtype, shape) in arrays.items():
        sections[name] = _Section(dtype, shape, end + -end % _ALIGNMENT)
        end = sections[name].end
    return sections, end


def _map(file: IO[bytes], size: int) -> memoryview:
    """The first bytes of a file, without reading them where possible."""
    if not size:
        return memoryview(b"")
    if not _WINDOWS:
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    # There a file can't be replaced or removed while a process maps it.
    position = file.tell()
    file.seek(0)
    data = memoryview(file.read(size))
    file.seek(position)
    return data


def _array(data: memoryview, section: _Section) -> NDArray[Any]:
    count = math.prod(section.shape)
    return np.frombuffer(data, section.dtype, count, section.offset).reshape(section.shape)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
