"""Writes a store as a bundle."""

import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from memnet.errors import StoreError
from memnet.storage.bundle.archive import (
    BATCH,
    COMPRESSION,
    DIGEST_BYTES,
    DIGESTS,
    FORMAT,
    HEAD,
    QUICK,
    SLOT_COLUMNS,
    SLOTS,
    SOURCE_COLUMNS,
    SOURCES,
    STATEMENT_COLUMNS,
    VECTORS,
    BundleHead,
)
from memnet.storage.tables import slots as slot_rows
from memnet.storage.tables.checked import (
    IN_LIST,
    Row,
    Values,
    checked_count,
    checked_metadata,
    checked_places,
    checked_rows,
    checked_texts,
    checked_vectors,
    damaged,
    missing,
)
from memnet.storage.tables.connection import Connection
from memnet.storage.values import Symbols

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that equal stores give equal bytes."""


def write_bundle(connection: Connection, path: Path, models: Mapping[str, bytes]) -> BundleHead:
    """Write all rows as a bundle, which appears at ``path`` whole or not at all.

    Args:
        connection: within a snapshot, so that every row is of one commit.
        path: of the file; one that is there is replaced.
        models: the files of the store's models, by the names of their members.

    Raises:
        StoreError: the file can't be written, or the rows can't be read.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    head = _head(connection)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                _write_members(archive, connection, head)
                for name, content in sorted(models.items()):
                    with _member(archive, name) as member:
                        member.write(content)
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


def _head(connection: Connection) -> BundleHead:
    row = connection.only(
        """SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM source),
            (SELECT count(*) FROM slot),
            (SELECT count(*) FROM quick_vector)"""
    )
    names = ("vectors", "sources", "slots", "quick")
    values = {
        "format": FORMAT,
        "encoder": connection.property("encoder"),
        "dimension": checked_count(connection.property("dimension") or 0),
        "last_told": checked_count(connection.property("last_told") or 0),
        "last_source": connection.last_id("source"),
        "last_slot": connection.last_id("slot"),
        **dict(zip(names, map(checked_count, row), strict=True)),
    }
    try:
        return BundleHead.model_validate(values)
    except ValidationError as error:
        raise damaged("a description") from error


def _write_members(archive: zipfile.ZipFile, connection: Connection, head: BundleHead) -> None:
    vectors: dict[int, int] = {}
    sources: dict[int, int] = {}
    vector_pages = "SELECT id, digest, data FROM vector WHERE id > ?"
    with _member(archive, HEAD) as file:
        file.write(head.model_dump_json().encode() + b"\n")
    with _member(archive, VECTORS) as file:
        for row in chain.from_iterable(_pages(connection, vector_pages)):
            ((vector, digest, data),) = checked_rows([row], "a vector", int, bytes, bytes)
            if len(digest) != DIGEST_BYTES:
                raise damaged("a vector")
            vectors[vector] = len(vectors)
            file.write(checked_vectors([data], head.dimension).astype("<f4").tobytes())
    with _member(archive, DIGESTS) as file:
        for page in _pages(connection, "SELECT id, digest FROM vector WHERE id > ?"):
            file.write(b"".join(row[1] for row in page))
    if head.quick:
        with _member(archive, QUICK) as file:
            for page in _pages(
                connection, "SELECT vector AS id, text FROM quick_vector WHERE vector > ?"
            ):
                for vector, text in checked_rows(page, "a quick vector", int, str):
                    file.write(_json_line({"vector": _index(vectors, vector), "text": text}))
    with _member(archive, SOURCES) as file:
        columns = f"SELECT id, {', '.join(SOURCE_COLUMNS)} FROM source WHERE id > ?"
        types = (int, str, str, str, str, str, str, bytes, str)
        for page in _pages(connection, columns):
            for row in checked_rows(page, "a source", *types):
                sources[row[0]] = len(sources)
                values = dict(zip(SOURCE_COLUMNS, row[1:], strict=True))
                values["metadata"] = checked_metadata(values["metadata"])
                values["headings"] = checked_places(values["headings"])
                file.write(_json_line(values))
    with _member(archive, SLOTS) as file:
        columns = ", ".join(f'"{column}"' for column in SLOT_COLUMNS)
        for page in _pages(connection, f"SELECT {columns} FROM slot WHERE id > ?"):
            symbols = slot_rows.symbols(connection, (row[0] for row in page))
            statements = _statements(connection, [row[0] for row in page])
            for row in page:
                values = dict(zip(SLOT_COLUMNS, row, strict=True))
                values["source"] = _index(sources, values["source"])
                values["places"] = checked_places(values["places"])
                values["vector"] = _index(vectors, values["vector"])
                if values["relation_vector"] is not None:
                    values["relation_vector"] = _index(vectors, values["relation_vector"])
                keys, mentions = symbols.get(row[0], Symbols([], []))
                values |= {"keys": keys, "mentions": mentions}
                if row[0] in statements:
                    values["statement"] = statements[row[0]]
                file.write(_json_line(values))


def _statements(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The rows of those slots that are statements."""
    columns = ", ".join(f'"{column}"' for column in STATEMENT_COLUMNS)
    rows = connection.rows(
        f"SELECT slot, {columns} FROM statement WHERE slot {IN_LIST}",
        Values(ids),
    )
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        values = dict(zip(STATEMENT_COLUMNS, row[1:], strict=True))
        for column in ("aliases", "values"):
            values[column] = checked_texts(values[column])
        found[row[0]] = values
    names = ("changed_by", "change", "reason")
    changes = connection.rows(
        f"SELECT slot, {', '.join(names)} FROM statement_change WHERE slot {IN_LIST} "
        "ORDER BY slot, changed_by",
        Values(ids),
    )
    for slot, *change in checked_rows(changes, "a change of a statement", int, int, str, str):
        found[slot].setdefault("changes", []).append(dict(zip(names, change, strict=True)))
    return found


def _pages(connection: Connection, statement: str) -> Iterator[list[Row]]:
    """The rows of a statement whose last condition is on the lowest id, a batch at a time."""
    last = -1
    while page := connection.rows(f"{statement} ORDER BY id LIMIT {BATCH}", last):
        yield page
        last = page[-1][0]


def _index(indexes: Mapping[int, int], row: int) -> int:
    """The index in the bundle of a row that another refers to."""
    if row not in indexes:
        raise missing("a row that another refers to")
    return indexes[row]


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = COMPRESSION.get(name, zipfile.ZIP_STORED)
    member.external_attr = 0o600 << 16
    return archive.open(member, "w", force_zip64=True)


def _json_line(row: Any) -> bytes:
    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
    return line.encode() + b"\n"
