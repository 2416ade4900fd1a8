"""A bundle: a store as one file, a zip archive of JSON lines and raw vectors.

``bundle.json``   format, encoder, dimension and counts.
``vectors.f32``   [V, D] float32, little-endian, row after row.
``digests.bin``   [V, 16] bytes: what each vector is of.
``sources.jsonl`` a source a line; ``slots.jsonl`` a slot a line, which refers to sources and
vectors by their index.
``quick.jsonl``   the text of each quick vector, if there are any, to encode it in full.
``models/<name>/...`` are the files of the store's models, if it owns any.
There is no index in it, no SQL and nothing pickled. Every line is checked
when it is read: a bundle may come from anyone.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage.models import is_model_file
from memnet.types import Certainty, Change, SourceKind

FORMAT = 1
HEAD, VECTORS, DIGESTS, SOURCES, SLOTS = MEMBERS = (
    "bundle.json", "vectors.f32", "digests.bin", "sources.jsonl", "slots.jsonl",
)  # fmt: skip
QUICK = "quick.jsonl"
COMPRESSION = {
    HEAD: zipfile.ZIP_STORED, VECTORS: zipfile.ZIP_STORED, DIGESTS: zipfile.ZIP_STORED,
    SOURCES: zipfile.ZIP_DEFLATED, SLOTS: zipfile.ZIP_DEFLATED, QUICK: zipfile.ZIP_DEFLATED,
}  # fmt: skip
"""Vectors don't shrink."""
DIGEST_BYTES = 16
BATCH = 1000
"""Rows read and written at a time."""
_MAX_LINE = 10_000_000
"""Bytes: a hundred times what the largest slot takes that an ingest makes."""
_MAX_EXPANSION = 200
"""Texts of an encyclopaedia shrink to three tenths; an archive beyond was made to fill a disk."""
_ALWAYS_ALLOWED = 10_000_000
"""Bytes that a bundle may expand to in any case."""
_LENGTH_TOLERANCE = 0.01
_MAX_MODEL_FILES = 10
_MAX_NUMBER = 2**53
"""Numbers below are exact in JSON everywhere."""
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
_Index = Annotated[int, Field(ge=0, lt=_MAX_NUMBER)]
_Number = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e11)]
_Places = tuple[tuple[_Index, str], ...]
_Symbols = tuple[Annotated[str, Field(min_length=1)], ...]


class BundleLine(BaseModel):
    """A line of a bundle: nothing is converted, and nothing unknown is let through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BundleHead(BundleLine):
    """What a bundle says of itself."""

    format: Literal[1]
    encoder: Annotated[str, Field(min_length=1, max_length=4096)]
    """Fingerprint of the encoder that made the vectors."""
    dimension: Annotated[int, Field(ge=1, le=100_000)]
    vectors: _Index
    sources: _Index
    slots: _Index
    last_source: _Index
    last_slot: _Index
    """The highest ids ever given, so that none is given again."""
    last_told: _Index
    """How many names were given to sources of statements."""
    quick: _Index = 0
    """How many vectors are quick ones."""


class BundledSource(BundleLine):
    """A source; slots refer to it by the index of its line."""

    namespace: str
    name: Annotated[str, Field(min_length=1)]
    kind: SourceKind
    origin: str
    title: str
    metadata: dict[str, Any]
    digest: _Digest
    headings: _Places = ()


class BundledQuickVector(BundleLine):
    """A quick vector."""

    vector: _Index
    text: str
    """What it encodes."""


class BundledChange(BundleLine):
    """What changed a part of a statement, or contradicts it."""

    changed_by: Annotated[int, Field(ge=1, lt=_MAX_NUMBER)]
    change: Change
    reason: str


class BundledStatement(BundleLine):
    """The structure of a statement, and what changed it."""

    aliases: tuple[str, ...]
    relation: str
    values: tuple[str, ...]
    polarity: Annotated[int, Field(ge=0, le=1)]
    certainty: Certainty
    told_at: _Number
    standing: Annotated[int, Field(ge=0, le=1)]
    speaker: str | None
    changed_by: Annotated[int, Field(ge=1, lt=_MAX_NUMBER)] | None
    change: Change | None
    reason: str | None
    changes: tuple[BundledChange, ...] = ()


class BundledSlot(BundleLine):
    """A slot with its symbols, and with its structure if it is a statement."""

    id: Annotated[int, Field(ge=1, lt=_MAX_NUMBER)]
    source: _Index
    kind: Literal["passage", "fact", "reverse"]
    title: str
    text: str
    start: _Index
    end: _Index
    relation: str
    value: str
    vector: _Index
    relation_vector: _Index | None
    digest: _Digest
    valid_from: _Number | None
    valid_until: _Number | None
    usage: _Number
    used_at: _Number
    places: _Places = ()
    keys: _Symbols
    mentions: _Symbols
    statement: BundledStatement | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.end - self.start != len(self.text):
            raise ValueError("its text is not as long as its span")
        if (self.valid_from is None) != (self.relation_vector is None):
            raise ValueError("a statement has a time and a relation vector, others neither")
        if self.valid_until is not None and (
            self.valid_from is None or self.valid_until < self.valid_from
        ):
            raise ValueError("it ended before it began")
        fact = self.keys and self.mentions and self.valid_from is None
        if self.kind != "passage" and not fact:
            raise ValueError("a fact leads from a name to another and has no time")
        return self


SOURCE_COLUMNS = tuple(BundledSource.model_fields)
SLOT_COLUMNS = tuple(
    name for name in BundledSlot.model_fields if name not in ("keys", "mentions", "statement")
)
"""Fields that are columns; the others are the names of symbols, and a row of a statement."""
STATEMENT_COLUMNS = tuple(name for name in BundledStatement.model_fields if name != "changes")


_Line = TypeVar("_Line", bound=BundleLine)


class VectorBatch(NamedTuple):
    """Some vectors in their order. B = vectors of the batch."""

    first: int
    """Index of the first."""
    digests: list[bytes]
    data: NDArray[np.float32]
    """[B, D] float32."""


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
        names = [member.filename for member in members]
        self.model_files = [name for name in names if is_model_file(name)]
        """Names of the files of models."""
        rows = [name for name in names if name not in self.model_files]
        has_quick = QUICK in rows
        if sorted({*rows} - {QUICK}) != sorted(MEMBERS) or len(set(names)) < len(names):
            raise ValueError(f"it does not hold exactly {', '.join(MEMBERS)}, and models")
        if len(self.model_files) > _MAX_MODEL_FILES:
            raise ValueError(f"it holds {len(self.model_files)} files of models")
        if any(member.compress_type not in COMPRESSION.values() for member in members):
            raise ValueError("it is compressed in another way than deflate")
        expanded = sum(member.file_size for member in members)
        if expanded > max(_ALWAYS_ALLOWED, _MAX_EXPANSION * size):
            raise ValueError(f"it expands to more than {_MAX_EXPANSION} times its size")
        (head,) = self._lines(HEAD, BundleHead, 1)
        self.head = head
        if has_quick != (head.quick > 0):
            raise ValueError(f"it holds {QUICK} without quick vectors, or these without it")
        self._expect(VECTORS, 4 * head.dimension * head.vectors)
        self._expect(DIGESTS, DIGEST_BYTES * head.vectors)

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
        with self._archive.open(VECTORS) as data, self._archive.open(DIGESTS) as digests:
            for start in range(0, self.head.vectors, BATCH):
                count = min(BATCH, self.head.vectors - start)
                rows = np.frombuffer(_exactly(data, count * width), "<f4").astype(np.float32)
                rows = rows.reshape(count, self.head.dimension)
                with np.errstate(all="ignore"):
                    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
                if not bool((np.abs(lengths - 1) <= _LENGTH_TOLERANCE).all()):
                    raise ValueError(f"{VECTORS} holds a vector that is not of length one")
                names = _exactly(digests, count * DIGEST_BYTES)
                yield VectorBatch(
                    start,
                    [names[at : at + DIGEST_BYTES] for at in range(0, len(names), DIGEST_BYTES)],
                    rows,
                )

    def sources(self) -> Iterator[BundledSource]:
        """All sources."""
        return self._lines(SOURCES, BundledSource, self.head.sources)

    def slots(self) -> Iterator[BundledSlot]:
        """All slots, by rising id; what they refer to is there.

        Raises:
            ValueError: it is not.
        """
        last = 0
        for slot in self._lines(SLOTS, BundledSlot, self.head.slots):
            vectors = (slot.vector, slot.relation_vector or 0)
            said = slot.statement
            changing = [] if said is None else [said.changed_by]
            changing += [] if said is None else [one.changed_by for one in said.changes]
            if any((one or 0) > self.head.last_slot for one in changing):
                raise ValueError(f"slot {slot.id} was changed by one that was never there")
            if (said is None) != (slot.valid_from is None):
                raise ValueError(f"slot {slot.id} is a statement without a structure")
            if slot.source >= self.head.sources or max(vectors) >= self.head.vectors:
                raise ValueError(f"slot {slot.id} refers to a source or vector that is not there")
            if not last < slot.id <= self.head.last_slot:
                raise ValueError(f"slot {slot.id} follows slot {last}; ids rise to the last given")
            last = slot.id
            yield slot

    def quick_vectors(self) -> Iterator[BundledQuickVector]:
        """The texts of all quick vectors, by rising index of these.

        Raises:
            ValueError: one is of a vector that is not there.
        """
        last = -1
        for quick in (
            self._lines(QUICK, BundledQuickVector, self.head.quick) if self.head.quick else ()
        ):
            if not last < quick.vector < self.head.vectors:
                raise ValueError(f"{QUICK} names vector {quick.vector} twice, or there is none")
            last = quick.vector
            yield quick

    def model_file(self, member: str) -> bytes:
        """The content of a model's file; who uses it checks what is in it."""
        return self._archive.read(member)

    def _expect(self, member: str, size: int) -> None:
        found = self._archive.getinfo(member).file_size
        if found != size:
            raise ValueError(f"{member} has {found} bytes, expected {size}")

    def _lines(self, member: str, kind: type[_Line], count: int) -> Iterator[_Line]:
        number = 0
        with self._archive.open(member) as file:
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise ValueError(f"{member}, line {number} is longer than {_MAX_LINE:,}")
                try:
                    yield kind.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors()[0]
                    field = ".".join(map(str, first["loc"])) or "it"
                    raise ValueError(f"{member}, line {number}, {field}: {first['msg']}") from error
        if number != count:
            raise ValueError(f"{member} has {number} lines, expected {count}")


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ValueError("it ends too early")
    return data


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
