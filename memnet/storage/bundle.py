"""A bundle: a store as one file, which becomes a store again anywhere, in a folder or on a server.

A zip archive:

    bundle.json    format, encoder, dimension, the rows of each table, the highest ids ever given
    vectors.f16    [V, D] float16, little-endian, in the order of vector.jsonl
    TABLE.jsonl    a row a line, as a list in the order of ``TABLES``; bytes as hex digits
    models/..., uploads/...    the files of the store

There is no index in it, no SQL and nothing pickled. A bundle may come from anyone: types are
checked as it is read, and what rows say of each other before the store appears.
"""

import json
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import IO, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.errors import EncoderMismatchError, StoreError, first_line
from memnet.storage.files import ModelFolders, Uploads, add_file, is_member
from memnet.storage.overview import connected
from memnet.storage.place import files_folder, is_address, place_name, store_place
from memnet.storage.store import MemoryStore
from memnet.storage.tables import checks
from memnet.storage.tables.checked import (
    DuplicateRowsError,
    Row,
    checked_count,
    checked_vectors,
    damaged,
)
from memnet.storage.tables.connection import Connection, Numbered
from memnet.storage.values import VectorData

_HEAD, _VECTORS = "bundle.json", "vectors.f16"
_BATCH = 2_000  # rows that are read and written together
_MAX_LINE = 10_000_000  # bytes: a hundred times what the largest slot takes that an ingest makes
# Texts of an encyclopaedia shrink to three tenths, numbers to a tenth; an archive beyond was made
# to fill a disk. A small one may expand in any case.
_MAX_EXPANSION = 200
_ALWAYS_ALLOWED = 10_000_000
_LENGTH_TOLERANCE = 0.01
_NUMBERED: tuple[Numbered, ...] = ("source", "slot", "tell", "eviction")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # time of every member, so that equal stores give equal bytes
_MAX_ID = 2**62
_LIMITS: dict[type, float] = {int: _MAX_ID, float: 1e11}  # times are seconds since the epoch
_TYPES = {"i": int, "r": float, "t": str, "b": bytes}
_Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Table(NamedTuple):
    """A table whose rows make a store what it is."""

    name: str
    key: tuple[str, ...]  # columns of its primary key, by which rows are in order
    types: Mapping[str, type]  # of all columns
    nullable: frozenset[str]
    paths: tuple[str, ...]  # columns whose values may be paths of uploads


def _table(name: str, key: str, columns: str, paths: str = "") -> _Table:
    """A table from its columns, as "id:i name:t speaker:t?"."""
    pairs = [column.split(":") for column in columns.split()]
    return _Table(
        name,
        tuple(key.split()),
        {column: _TYPES[code[0]] for column, code in pairs},
        frozenset(column for column, code in pairs if code.endswith("?")),
        tuple(paths.split()),
    )


# All that a store is made of, each after those that its rows refer to. Not among them is what is
# made of it: the text index, and the log of the commits.
TABLES = (
    _table(
        "source", "id",
        "id:i namespace:t name:t kind:t origin:t title:t metadata:t digest:b headings:t",
        "name origin",
    ),
    _table("vector", "id", "id:i digest:b"),
    _table(
        "slot", "id",
        "id:i source:i kind:t title:t text:t start:i end:i relation:t value:t vector:i digest:b "
        "valid_from:r? valid_until:r? usage:r used_at:r relation_vector:i? places:t",
    ),
    _table("quick_vector", "vector", "vector:i text:t"),
    _table("unit_key", "vector", "vector:i keys:b"),
    _table("symbol", "id", "id:i name:t"),
    _table("slot_key", "symbol slot", "symbol:i slot:i"),
    _table("mention", "symbol slot", "symbol:i slot:i"),
    _table("link", "subject relation object slot", "subject:i relation:i object:i slot:i"),
    _table("file", "namespace path", "namespace:t path:t digest:b", "path"),
    _table(
        "statement", "slot",
        "slot:i namespace:t aliases:t relation:t values:t polarity:i certainty:t told_at:r "
        "standing:i speaker:t? changed_by:i? change:t? reason:t?",
    ),
    _table("statement_name", "symbol namespace slot", "symbol:i namespace:t slot:i"),
    _table("statement_change", "slot changed_by", "slot:i changed_by:i change:t reason:t"),
    _table("tell", "id", "id:i namespace:t told_at:r source:i? erased:i"),
    _table(
        "journal", "tell slot",
        "tell:i slot:i added:i standing:i valid_until:r? changed_by:i? change:t? reason:t? usage:r",
    ),
    _table("evicted_source", "namespace name", "namespace:t name:t digest:b", "name"),
    _table("eviction", "id", "id:i namespace:t source:t kind:t evicted_at:r", "source"),
)  # fmt: skip
_MEMBERS = (_HEAD, _VECTORS, *(f"{table.name}.jsonl" for table in TABLES))


class _Head(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[1]
    # Fingerprint of the encoder that made the vectors, and their width.
    encoder: Annotated[str, Field(min_length=1, max_length=4096)]
    dimension: Annotated[int, Field(ge=1, le=100_000)]
    # How many names were given to sources of statements.
    last_told: _Count
    # Of each table.
    rows: dict[str, _Count]
    # The highest ids ever given, so that none is given again.
    last_ids: dict[str, _Count]
    # What paths of uploads begin with; empty where there are none.
    uploads: str


def export_bundle(store: MemoryStore, path: str | os.PathLike[str]) -> int:
    """Write all of a store as a bundle, of one commit; returns how many slots it holds.

    The file appears whole or not at all; one that is there is replaced.

    Raises:
        StoreError: the file can't be written, or the store can't be read.
    """
    with store.reading() as connection:
        return _write(connection, Path(path), store.models, store.uploads).rows["slot"]


def import_bundle(
    bundle: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    fingerprint: str,
    dimension: int,
) -> None:
    """Make a store from a bundle, of which nothing is trusted; it appears whole or not at all.

    ``path`` is a folder that is new or empty, or an address whose schema holds no store, or an
    empty one; fingerprint and dimension are those of the encoder that is to be used with the store.

    Raises:
        EncoderMismatchError: the bundle's vectors are of another encoder.
        StoreError: the bundle is damaged, or the place is not empty or can't be written.
        DependencyError: FAISS, or the driver of the server, is not installed.
    """
    try:
        with Path(bundle).open("rb") as file, zipfile.ZipFile(file) as archive:
            reader = _Reader(archive, os.fstat(file.fileno()).st_size)
            if (reader.head.encoder, reader.head.dimension) != (fingerprint, dimension):
                raise EncoderMismatchError(
                    f"the bundle was made with encoder {reader.head.encoder!r}, not with "
                    f"{fingerprint}; import it with that encoder"
                )
            if is_address(path):
                _fill(path, reader)
            else:
                _fill_folder(Path(path).absolute(), reader)
    except (
        OSError, EOFError, NotImplementedError, RuntimeError, ValueError, RecursionError,
        zipfile.BadZipFile, zlib.error, struct.error,
    ) as error:  # fmt: skip
        reason = first_line(error)
        raise StoreError(
            f"the bundle {bundle} can't be used ({reason}); "
            "export it again, or restore it from a copy"
        ) from error


def copy_store(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Copy all of a store, as it is at one commit, by way of a bundle; gives how many slots it has.

    Raises:
        InputError: an address can't be used.
        StoreError: there is no store to copy, or as ``import_bundle``.
    """
    place = store_place(source)
    with TemporaryDirectory() as folder:
        bundle = Path(folder) / "store.zip"
        with connected(place) as connection:
            if connection is None:
                raise StoreError(
                    f"there is no memnet store at {place_name(place)}; nothing was copied"
                )
            files = files_folder(place)
            with connection.snapshot():
                head = _write(connection, bundle, ModelFolders(files), Uploads(files))
        encoder, dimension = head.encoder, head.dimension
        import_bundle(bundle, store_place(target), fingerprint=encoder, dimension=dimension)
    return head.rows["slot"]


def _write(connection: Connection, path: Path, models: ModelFolders, uploads: Uploads) -> _Head:
    """Write a bundle, within a snapshot; damage is an error, as a bundle of it would be refused."""
    files = {**models.files(), **uploads.files()}
    dimension = checked_count(connection.property("dimension") or 0)
    if problems := checks.row_problems(connection, dimension):
        raise StoreError(
            f"the store is damaged ({problems[0]}), and was not exported; 'memnet verify' says "
            "more: restore it from a copy"
        )
    head = _head(connection, uploads.prefix if uploads.files() else "")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                with _member(archive, _HEAD) as member:
                    member.write(head.model_dump_json().encode() + b"\n")
                for table in TABLES:
                    with _member(archive, f"{table.name}.jsonl") as member:
                        for page in _pages(connection, table):
                            member.write(b"".join(map(_json_line, page)))
                with _member(archive, _VECTORS) as member:
                    for page in _pages(connection, _table("vector", "id", "id:i data:b")):
                        rows = checked_vectors([row[1] for row in page], head.dimension)
                        member.write(rows.astype("<f2").tobytes())
                for name, content in sorted(files.items()):
                    with _member(archive, name) as member, content.open("rb") as kept:
                        shutil.copyfileobj(kept, member)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise StoreError(
            f"the bundle {path} can't be written ({error.strerror or error}); choose another path"
        ) from error
    finally:
        with suppress(OSError):  # of a folder that can't be written, where there is none
            part.unlink()
    return head


def _head(connection: Connection, uploads: str) -> _Head:
    values = {
        "format": 1,
        "encoder": connection.property("encoder"),
        "dimension": checked_count(connection.property("dimension") or 0),
        "last_told": checked_count(connection.property("last_told") or 0),
        "rows": {
            table.name: connection.only(f"SELECT count(*) FROM {table.name}")[0] for table in TABLES
        },
        "last_ids": {table: connection.last_id(table) for table in _NUMBERED},
        "uploads": uploads,
    }
    try:
        return _Head.model_validate(values)
    except ValidationError as error:
        raise damaged("a description") from error


def _pages(connection: Connection, table: _Table) -> Iterator[list[Row]]:
    """The rows of a table by rising keys, some at a time, with their types checked."""
    columns, key = (", ".join(f'"{one}"' for one in some) for some in (table.types, table.key))
    given = ", ".join("?" * len(table.key))
    places = [list(table.types).index(column) for column in table.key]
    after = list[Any]()
    while True:
        condition = f"WHERE ({key}) > ({given})" if after else ""
        page = connection.rows(
            f"SELECT {columns} FROM {table.name} {condition} ORDER BY {key} LIMIT {_BATCH}", *after
        )
        if page:
            try:
                _check_types(table, page)
            except ValueError as error:
                raise damaged(f"a row of {table.name}") from error
            yield page
        if len(page) < _BATCH:
            return
        after = [page[-1][place] for place in places]


def _check_types(table: _Table, rows: Sequence[Sequence[Any]]) -> None:
    """Check the types of all values, and that numbers are in the range of what memnet counts."""
    if not {*map(len, rows)} <= {len(table.types)}:
        raise ValueError(f"a row of {table.name} has another number of values")
    for (name, kind), values in zip(table.types.items(), zip(*rows, strict=True), strict=True):
        allowed = {kind, type(None)} if name in table.nullable else {kind}
        if not {*map(type, values)} <= allowed:
            raise ValueError(f"{table.name}.{name} holds a value that is not of its type")
        limit = _LIMITS.get(kind)
        if limit and any(value is not None and not 0 <= value <= limit for value in values):
            raise ValueError(f"{table.name}.{name} holds a number out of range")


def _json_line(row: Row) -> bytes:
    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
    return line.encode() + b"\n"


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    member = zipfile.ZipInfo(name, _EPOCH)
    if name.endswith(".jsonl") and "/" not in name:  # others don't shrink
        member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o600 << 16
    return archive.open(member, "w", force_zip64=True)


class _Reader:
    """The rows of a bundle, checked as they are read; what is wrong raises a ValueError."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive = archive
        members = archive.infolist()
        names = [member.filename for member in members]
        self.files = [name for name in names if is_member(name)]
        rows = sorted(name for name in names if name not in self.files)
        if rows != sorted(_MEMBERS) or len(set(names)) < len(names):
            raise ValueError("it does not hold exactly the members of a bundle")
        if any(
            member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            for member in members
        ):
            raise ValueError("it is compressed in another way than deflate")
        if sum(one.file_size for one in members) > max(_ALWAYS_ALLOWED, _MAX_EXPANSION * size):
            raise ValueError(f"it expands to more than {_MAX_EXPANSION} times its size")
        with archive.open(_HEAD) as file:
            try:
                self.head = _Head.model_validate_json(file.read(_MAX_LINE))
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or "it"
                raise ValueError(f"{_HEAD}, {field}: {first['msg']}") from error
        if {*self.head.rows} != {table.name for table in TABLES} or {*self.head.last_ids} != {
            *_NUMBERED
        }:
            raise ValueError(f"{_HEAD} does not count the rows and ids of each table")
        expected = 2 * self.head.dimension * self.head.rows["vector"]
        if archive.getinfo(_VECTORS).file_size != expected:
            raise ValueError(f"{_VECTORS} has another size than {expected} bytes")

    def pages(self, table: _Table, uploads: str) -> Iterator[list[list[Any]]]:
        """The rows of a table, some at a time; paths of uploads are below ``uploads``."""
        of_bytes = [place for place, kind in enumerate(table.types.values()) if kind is bytes]
        of_paths = [list(table.types).index(column) for column in table.paths]
        before, count, last = self.head.uploads, 0, 0
        highest = self.head.last_ids.get(table.name, _MAX_ID)
        lines = self._lines(f"{table.name}.jsonl")
        while page := list(islice(lines, _BATCH)):
            for row in page:
                for place in of_bytes:
                    if len(row) > place and isinstance(row[place], str):
                        row[place] = bytes.fromhex(row[place])
                for place in of_paths:
                    if before and len(row) > place and str(row[place]).startswith(before):
                        row[place] = uploads + row[place][len(before) :]
            _check_types(table, page)
            count += len(page)
            if table.key == ("id",):
                ids = [last, *(row[0] for row in page)]
                if any(one >= after for one, after in pairwise(ids)) or ids[-1] > highest:
                    raise ValueError(f"ids of {table.name} do not rise to the last one given")
                last = ids[-1]
            yield page
        if count != self.head.rows[table.name]:
            raise ValueError(f"{table.name}.jsonl has {count} rows, not as many as {_HEAD} says")

    def vectors(self, size: int) -> Iterator[VectorData]:
        """All vectors as they are stored, each of ``size`` bytes, of finite numbers."""
        with self.archive.open(_VECTORS) as file:
            while data := file.read(_BATCH * size):
                rows = np.frombuffer(data, "<f2").reshape(-1, size // 2).astype(np.float64)
                with np.errstate(all="ignore"):
                    lengths = np.linalg.norm(rows, axis=1)
                if not bool((np.abs(lengths - 1) <= _LENGTH_TOLERANCE).all()):
                    raise ValueError(f"{_VECTORS} holds a vector that is not of length one")
                yield from (VectorData(data[at : at + size]) for at in range(0, len(data), size))

    def _lines(self, member: str) -> Iterator[list[Any]]:
        with self.archive.open(member) as file:
            while line := file.readline(_MAX_LINE + 1):
                if len(line) > _MAX_LINE:
                    raise ValueError(f"a line of {member} is longer than {_MAX_LINE:,}")
                row = json.loads(line, parse_constant=_refuse_constant)
                if not isinstance(row, list):
                    raise ValueError(f"a line of {member} is not a list")
                yield row


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _fill_folder(folder: Path, reader: _Reader) -> None:
    """Make a store in a folder of its own, and give that its place once it is whole."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty; import into a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".import", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"the store folder {folder} can't be made: {error}") from error
    try:
        _fill(part, reader, Uploads(folder).prefix)
        try:
            if folder.exists():
                part.chmod(stat.S_IMODE(folder.stat().st_mode))
                # Windows renames nothing to the name of a folder that is there.
                folder.rmdir()
            part.rename(folder)
        except OSError as error:
            raise StoreError(f"the store {folder} can't be put in its place: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fill(place: str | Path, reader: _Reader, uploads: str | None = None) -> None:
    """Make a store, and fill it in one transaction; ``uploads`` None for the place's own prefix."""
    head = reader.head
    store = MemoryStore(place, fingerprint=head.encoder, dimension=head.dimension, create=True)
    with closing(store):
        prefix = store.uploads.prefix if uploads is None else uploads
        store.fill(lambda connection: _fill_tables(connection, reader, prefix, is_address(place)))
        for member in reader.files:
            with reader.archive.open(member) as content:
                add_file(store.path, member, content)


def _fill_tables(connection: Connection, reader: _Reader, uploads: str, on_server: bool) -> None:
    """Fill empty tables; the caller holds the transaction."""
    vectors = reader.vectors(2 * reader.head.dimension)
    for table in TABLES:
        names = list(table.types)
        for page in reader.pages(table, uploads):
            if on_server and any("\0" in one for row in page for one in row if type(one) is str):
                raise ValueError("a text has the character U+0000, which PostgreSQL can't hold")
            columns, rows = names, page
            if table.name == "vector":
                columns, rows = [*names, "data"], [[*row, next(vectors)] for row in page]
            try:
                connection.insert(table.name, columns, rows)
            except DuplicateRowsError as error:
                raise ValueError(error.reason) from error
            if table.name == "slot":
                kind, *places = (names.index(name) for name in ("kind", "id", "title", "text"))
                connection.text.add(
                    [(row[places[0]], row[places[1]], row[places[2]])
                     for row in page if row[kind] != "reverse"]
                )  # fmt: skip
    for numbered in _NUMBERED:
        connection.set_last_id(numbered, reader.head.last_ids[numbered])
    connection.continue_ids()
    connection.set_property("last_told", str(reader.head.last_told))
    for problem in checks.row_problems(connection, reader.head.dimension):
        raise ValueError(problem)
