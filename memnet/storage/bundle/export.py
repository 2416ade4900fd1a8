"""A store as one file: a zip archive of JSON lines and raw vectors, checked row by row when read.

``bundle.json``   format, encoder, dimension and counts.
``vectors.f32``   [V, D] float32, little-endian, row after row.
``digests.bin``   [V, 16] bytes: what each vector is of.
``sources.jsonl`` a source a line; ``slots.jsonl`` a slot a line, which refers to sources and
vectors by their places. There is no index in it, no SQL and nothing pickled.
"""

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage.bundle.lines import BundledSlot, BundledSource, BundleHead, BundleLine
from memnet.storage.tables.records import Records
from memnet.storage.tables.row_values import damaged, lacking

_FORMAT = 1
_HEAD, _VECTORS, _DIGESTS, _SOURCES, _SLOTS = _MEMBERS = (
    "bundle.json", "vectors.f32", "digests.bin", "sources.jsonl", "slots.jsonl",
)  # fmt: skip
_DIGEST_BYTES = 16
_ROWS = 1000
"""Read and written at a time."""
_LONGEST_LINE = 10_000_000
"""Bytes: a hundred times what the largest slot takes that an ingest makes."""
_MOST_EXPANSION = 200
"""Texts of an encyclopaedia shrink to three tenths; so much was made to fill a disk."""
_SMALL = 10_000_000
"""Bytes that a bundle may expand to in any case."""
_LENGTH_TOLERANCE = 0.01
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that equal stores give equal bytes."""


class VectorBatch(NamedTuple):
    """Some vectors in their order. B = vectors of the batch."""

    first: int
    """Place of the first."""
    digests: list[bytes]
    data: NDArray[np.float32]
    """[B, D] float32."""


_Row = TypeVar("_Row", bound=BundleLine)


def write_bundle(records: Records, path: Path) -> BundleHead:
    """Write all rows as a bundle, which appears at ``path`` whole or not at all.

    Args:
        records: within a snapshot, so that every row is of one commit.
        path: of the file; one that is there is replaced.

    Raises:
        StoreError: the file can't be written, or the rows can't be read.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        head = BundleHead.model_validate({"format": _FORMAT, **records.bundle_head()})
    except ValidationError as error:
        raise damaged("a description") from error
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                _write_members(archive, records, head)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise StoreError(
            f"the bundle {path} can't be written ({error.strerror or error}); choose another path"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return head


@contextmanager
def open_bundle(path: Path) -> "Iterator[BundleReader]":
    """Open a bundle to read it, with everything in it mistrusted.

    Raises:
        StoreError: it can't be read, is no bundle, or is damaged; also while it is read.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield BundleReader(archive, os.fstat(file.fileno()).st_size)
    except (
        OSError, EOFError, NotImplementedError, RuntimeError, ValueError, zipfile.BadZipFile,
        zlib.error, struct.error,
    ) as error:  # fmt: skip
        raise StoreError(
            f"the bundle {path} can't be used ({_first_line(error)}); "
            "export it again, or restore it from a copy"
        ) from error


class BundleReader:
    """The rows of a bundle, each checked before it is given."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        """Check the archive's table of contents and read the head.

        Raises:
            ValueError: it is no bundle.
        """
        self._archive = archive
        members = archive.infolist()
        if sorted(member.filename for member in members) != sorted(_MEMBERS):
            raise ValueError(f"it does not hold exactly {', '.join(_MEMBERS)}")
        if any(member.compress_type not in _COMPRESSION.values() for member in members):
            raise ValueError("it is compressed in another way than deflate")
        if sum(member.file_size for member in members) > max(_SMALL, _MOST_EXPANSION * size):
            raise ValueError(f"it expands to more than {_MOST_EXPANSION} times its size")
        (head,) = self._lines(_HEAD, BundleHead, 1)
        self.head = head
        self._expect(_VECTORS, 4 * head.dimension * head.vectors)
        self._expect(_DIGESTS, _DIGEST_BYTES * head.vectors)

    def check_encoder(self, fingerprint: str, dimension: int) -> None:
        """Check that the vectors are of an encoder.

        Raises:
            EncoderMismatchError: they are of another.
        """
        if (self.head.encoder, self.head.dimension) != (fingerprint, dimension):
            raise EncoderMismatchError(
                f"the bundle was made with encoder {self.head.encoder!r}, not with {fingerprint}; "
                "import it with that encoder"
            )

    def vectors(self) -> Iterator[VectorBatch]:
        """All vectors, in batches.

        Raises:
            ValueError: one is not of length one.
        """
        width = 4 * self.head.dimension
        with self._archive.open(_VECTORS) as data, self._archive.open(_DIGESTS) as digests:
            for start in range(0, self.head.vectors, _ROWS):
                count = min(_ROWS, self.head.vectors - start)
                rows = np.frombuffer(_exactly(data, count * width), "<f4").astype(np.float32)
                rows = rows.reshape(count, self.head.dimension)
                with np.errstate(all="ignore"):
                    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
                if not bool((np.abs(lengths - 1) <= _LENGTH_TOLERANCE).all()):
                    raise ValueError(f"{_VECTORS} holds a vector that is not of length one")
                names = _exactly(digests, count * _DIGEST_BYTES)
                yield VectorBatch(
                    start,
                    [names[at : at + _DIGEST_BYTES] for at in range(0, len(names), _DIGEST_BYTES)],
                    rows,
                )

    def sources(self) -> Iterator[BundledSource]:
        """All sources."""
        return self._lines(_SOURCES, BundledSource, self.head.sources)

    def slots(self) -> Iterator[BundledSlot]:
        """All slots, by rising id; what they refer to is there.

        Raises:
            ValueError: it is not.
        """
        last = 0
        for slot in self._lines(_SLOTS, BundledSlot, self.head.slots):
            vectors = (slot.vector, slot.relation_vector or 0)
            if slot.source >= self.head.sources or max(vectors) >= self.head.vectors:
                raise ValueError(f"slot {slot.id} refers to a source or vector that is not there")
            if not last < slot.id <= self.head.last_slot:
                raise ValueError(f"slot {slot.id} follows slot {last}; ids rise to the last given")
            last = slot.id
            yield slot

    def _expect(self, member: str, size: int) -> None:
        found = self._archive.getinfo(member).file_size
        if found != size:
            raise ValueError(f"{member} has {found} bytes, expected {size}")

    def _lines(self, member: str, kind: type[_Row], count: int) -> Iterator[_Row]:
        number = 0
        with self._archive.open(member) as file:
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise ValueError(f"{member}, line {number} is longer than {_LONGEST_LINE:,}")
                try:
                    yield kind.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors()[0]
                    field = ".".join(map(str, first["loc"])) or "it"
                    raise ValueError(f"{member}, line {number}, {field}: {first['msg']}") from error
        if number != count:
            raise ValueError(f"{member} has {number} lines, expected {count}")


_COMPRESSION = {
    _HEAD: zipfile.ZIP_STORED, _VECTORS: zipfile.ZIP_STORED, _DIGESTS: zipfile.ZIP_STORED,
    _SOURCES: zipfile.ZIP_DEFLATED, _SLOTS: zipfile.ZIP_DEFLATED,
}  # fmt: skip
"""Vectors don't shrink."""


def _write_members(archive: zipfile.ZipFile, records: Records, head: BundleHead) -> None:
    places: dict[int, int] = {}
    sources: dict[int, int] = {}
    with _member(archive, _HEAD) as file:
        file.write(head.model_dump_json().encode() + b"\n")
    with _member(archive, _VECTORS) as file:
        for rows in records.bundled_vectors(_ROWS):
            for vector, digest, data in rows:
                if len(data) != 4 * head.dimension or len(digest) != _DIGEST_BYTES:
                    raise damaged("a vector")
                places[vector] = len(places)
                file.write(data)
    with _member(archive, _DIGESTS) as file:
        for rows in records.bundled_vectors(_ROWS):
            file.write(b"".join(digest for _, digest, _ in rows))
    with _member(archive, _SOURCES) as file:
        for row in records.bundled_sources(_ROWS):
            sources[row.pop("id")] = len(sources)
            row["metadata"] = _metadata(row["metadata"])
            file.write(_json_line(row))
    with _member(archive, _SLOTS) as file:
        for row in records.bundled_slots(_ROWS):
            row["source"] = _place(sources, row["source"])
            row["vector"] = _place(places, row["vector"])
            relation = row["relation_vector"]
            row["relation_vector"] = None if relation is None else _place(places, relation)
            file.write(_json_line(row))


def _place(places: Mapping[int, int], row: int) -> int:
    """The place in the bundle of a row that another refers to."""
    if row not in places:
        raise lacking("a row that another refers to")
    return places[row]


def _metadata(stored: str) -> Any:
    try:
        return json.loads(stored)
    except (ValueError, RecursionError) as error:
        raise damaged("the metadata of a source") from error


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = _COMPRESSION[name]
    member.external_attr = 0o600 << 16
    return archive.open(member, "w", force_zip64=True)


def _json_line(row: Any) -> bytes:
    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
    return line.encode() + b"\n"


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ValueError("it ends too early")
    return data


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def restore_rows(records: Records, bundle: BundleReader) -> None:
    """Fill empty rows from a bundle; the caller holds the transaction.

    Raises:
        ValueError: the bundle is damaged.
    """
    for batch in bundle.vectors():
        records.restore_vectors(batch.first, batch.digests, batch.data)
    records.restore_sources(enumerate(bundle.sources()))
    for slots in _batches(bundle.slots()):
        records.restore_slots(slots)
    head = bundle.head
    records.restore_counters(max(head.last_source, head.sources), head.last_slot, head.told)


def _batches(slots: Iterable[BundledSlot]) -> Iterator[list[BundledSlot]]:
    batch: list[BundledSlot] = []
    for slot in slots:
        batch.append(slot)
        if len(batch) == _ROWS:
            yield batch
            batch = []
    yield batch
