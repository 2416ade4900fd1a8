"""The file of the vector index: plain little-endian arrays, which are mapped.

    ids [N] int64
    flat: vectors [N, D] float32
    pq: codebook [16 D] float32 | codes [N, W] uint8
    header as JSON, with a CRC-32 of each array
    length of the header, CRC-32 of the header, both uint64 | magic

Arrays begin at multiples of 64 bytes. All sizes follow from the header and have to add up to the
size of the file: a torn file is refused, and no header leads a reader outside. FAISS's own format
is not used: its reader is not made for files from anyone.
"""

import math
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

_MAGIC = b"memnetv4"
_TRAILER = 16 + len(_MAGIC)
_MAX_HEADER = 1 << 20
_ALIGNMENT = 64
_WINDOWS = os.name == "nt"


class DamagedIndexError(Exception):
    """The file does not hold what was written; the index has to be rebuilt from the rows."""


class IndexHeader(BaseModel):
    """What an index file holds, and what it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    # Commit of the rows that it was made from.
    commit_id: int = Field(ge=-(2**63), lt=2**63)
    # Of the encoder.
    fingerprint: str
    # D, width of the vectors.
    dimension: int = Field(ge=1)
    # N, number of vectors.
    count: int = Field(ge=0)
    # W, bytes of a product-quantisation code; 0 for a flat index.
    code_size: int = Field(default=0, ge=0)
    # Least number of candidates to rerank; 0 for a flat index.
    rerank: int = Field(default=0, ge=0)
    # Recall@10, measured when the file was built.
    recall: float = Field(default=1.0, ge=0, le=1)
    # CRC-32 of each array, in the order of the file.
    checksums: tuple[int, ...] = ()

    def arrays(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of each array of the file, in its order."""
        if not self.code_size:
            return {"ids": ("<i8", (self.count,)), "vectors": ("<f4", (self.count, self.dimension))}
        return {
            "ids": ("<i8", (self.count,)),
            "codebook": ("<f4", (16 * self.dimension,)),
            "codes": ("|u1", (self.count, self.code_size)),
        }


def read_header(path: Path) -> IndexHeader | None:
    """The header of the index file at ``path``; None where there is no whole file."""
    try:
        with path.open("rb") as file:
            return _read_header(file)
    except (OSError, DamagedIndexError):
        return None


def read_index(path: Path) -> tuple[IndexHeader, dict[str, NDArray[Any]]]:
    """Header and arrays of the index file at ``path``, by the names in ``IndexHeader.arrays``.

    Raises:
        OSError: there is no file, or it can't be read.
        DamagedIndexError: it is torn, of another format, or not what was written.
    """
    with path.open("rb") as file:
        header = _read_header(file)
        offsets = _offsets(header)
        data = _mapped(file, offsets[""])
    arrays: dict[str, NDArray[Any]] = {}
    for (name, (dtype, shape)), checksum in zip(
        header.arrays().items(), header.checksums, strict=True
    ):
        found = np.frombuffer(data, dtype, math.prod(shape), offsets[name]).reshape(shape)
        if zlib.crc32(found.data) != checksum:
            raise DamagedIndexError(f"{name} are not what was written")
        arrays[name] = found
    return header, arrays


def write_index(path: Path, header: IndexHeader, arrays: Mapping[str, Iterable[Any]]) -> None:
    """Write an index file, which replaces the one at ``path`` whole or not at all.

    Only one may be written at a time: what others began was abandoned, as by a process killed. The
    header comes without checksums; ``arrays`` are the consecutive blocks of each, by the names in
    ``IndexHeader.arrays``. A ValueError where one has another size than the header says.
    """
    for abandoned in path.parent.glob(f"{path.name}.*part"):
        abandoned.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    try:
        # Private until it is known who may read it: its folder may be open to others.
        with open(temporary, "wb", opener=partial(os.open, mode=0o600)) as file:
            checksums = [
                _write_array(file, name, dtype, shape, arrays[name])
                for name, (dtype, shape) in header.arrays().items()
            ]
            text = header.model_copy(update={"checksums": tuple(checksums)}).model_dump_json()
            encoded = text.encode()
            numbers = np.array([len(encoded), zlib.crc32(encoded)], "<u8").tobytes()
            file.write(encoded + numbers + _MAGIC)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def scratch_vectors(
    folder: Path, blocks: Iterable[NDArray[np.float32]], shape: tuple[int, int]
) -> Iterator[NDArray[np.float16]]:
    """Vectors [N, D], given in consecutive blocks, mapped from a file that goes with the block."""
    with TemporaryFile(dir=folder) as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, "<f2").data)
        file.flush()
        yield np.frombuffer(_mapped(file, 2 * math.prod(shape)), "<f2").reshape(shape)


def _read_header(file: IO[bytes]) -> IndexHeader:
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
    if zlib.crc32(text) != checksum:
        raise DamagedIndexError("the header is not what was written")
    try:
        header = IndexHeader.model_validate_json(text)
    except ValidationError as error:
        raise DamagedIndexError("the header is not one of an index") from error
    if len(header.checksums) != len(header.arrays()):
        raise DamagedIndexError("the header does not have a checksum of each array")
    if size != _offsets(header)[""] + length + _TRAILER:
        raise DamagedIndexError("the file is of another size than its header says")
    return header


def _offsets(header: IndexHeader) -> dict[str, int]:
    """Where each array begins, and under "" where the last one ends."""
    offsets, end = {}, 0
    for name, (dtype, shape) in header.arrays().items():
        offsets[name] = end + -end % _ALIGNMENT
        # Python integers: a shape from a header must not overflow to a small size.
        end = offsets[name] + np.dtype(dtype).itemsize * math.prod(shape)
    return {**offsets, "": end}


def _write_array(
    file: IO[bytes], name: str, dtype: str, shape: tuple[int, ...], blocks: Iterable[Any]
) -> int:
    """Write an array at the next multiple of the alignment; returns its checksum."""
    file.write(bytes(-file.tell() % _ALIGNMENT))
    start, checksum = file.tell(), 0
    for block in blocks:
        data = np.ascontiguousarray(block, dtype).data
        checksum = zlib.crc32(data, checksum)
        file.write(data)
    if file.tell() - start != np.dtype(dtype).itemsize * math.prod(shape):
        raise ValueError(f"{name} are not {shape} {dtype}")
    return checksum


def _mapped(file: IO[bytes], size: int) -> mmap.mmap | bytes:
    """The first bytes of a file, without reading them where possible."""
    if size and not _WINDOWS:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    # On Windows a file can't be replaced or removed while a process maps it.
    file.seek(0)
    return file.read(size)
