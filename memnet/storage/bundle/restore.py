"""Makes a store from a bundle."""

import json
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from memnet.errors import StoreError
from memnet.storage.bundle.archive import (
    BATCH,
    SLOT_COLUMNS,
    SOURCE_COLUMNS,
    STATEMENT_COLUMNS,
    BundledSlot,
    BundleReader,
    open_bundle,
)
from memnet.storage.postgres.address import is_address
from memnet.storage.store import MemoryStore
from memnet.storage.tables import slots as slot_rows
from memnet.storage.tables.checked import DuplicateRowsError
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.vectors import digest_of, packed


def import_bundle(
    bundle: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    fingerprint: str,
    dimension: int,
) -> None:
    """Make a store from a bundle, which appears whole or not at all.

    Args:
        bundle: a file that ``MemoryStore.export`` made; nothing in it is trusted.
        path: a folder that is new or empty, or an address whose schema holds no store, or an empty
            one.
        fingerprint: of the encoder that is to be used with the store.
        dimension: D, width of its vectors.

    Raises:
        EncoderMismatchError: the bundle's vectors are of another encoder.
        StoreError: the bundle is damaged, or the place is not empty or can't be written.
        DependencyError: FAISS, or the driver of the server, is not installed.
    """
    if is_address(path):
        _import_to_server(Path(bundle), path, fingerprint, dimension)
    else:
        _import_to_folder(Path(bundle), Path(path).absolute(), fingerprint, dimension)


def _import_to_folder(bundle: Path, folder: Path, fingerprint: str, dimension: int) -> None:
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty; import into a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".import", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"the store folder {folder} can't be made: {error}") from error
    try:
        with open_bundle(bundle) as reader:
            reader.check_encoder(fingerprint, dimension)
            _fill_store(part, reader, fingerprint, dimension)
        _move(part, folder)
    except OSError as error:
        raise StoreError(f"the store {folder} can't be put in its place: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _import_to_server(bundle: Path, address: str, fingerprint: str, dimension: int) -> None:
    with open_bundle(bundle) as reader:
        reader.check_encoder(fingerprint, dimension)
        _fill_store(address, reader, fingerprint, dimension)


def _fill_store(place: str | Path, reader: BundleReader, fingerprint: str, dimension: int) -> None:
    """Make a store, and fill it in one transaction."""
    store = MemoryStore(place, fingerprint=fingerprint, dimension=dimension, create=True)
    with closing(store):
        store.fill(lambda connection: _fill(connection, reader))
        for member in reader.model_files:
            store.models.add_file(member, reader.model_file(member))


def _move(part: Path, folder: Path) -> None:
    """Give a store the place and the rights of an empty folder, if there is one."""
    if folder.exists():
        part.chmod(stat.S_IMODE(folder.stat().st_mode))
        # Windows renames nothing to the name of a folder that is there.
        folder.rmdir()
    part.rename(folder)


def _fill(connection: Connection, bundle: BundleReader) -> None:
    """Fill empty tables from a bundle; the caller holds the transaction.

    Raises:
        ValueError: the bundle is damaged.
    """
    for vectors in bundle.vectors():
        _insert(
            connection,
            "vector",
            ("id", "digest", "data"),
            (
                {"id": vector_id, "digest": digest, "data": row}
                for vector_id, (digest, row) in enumerate(
                    zip(vectors.digests, packed(vectors.data), strict=True), vectors.first + 1
                )
            ),
        )
    _add_quick_vectors(connection, bundle)
    _insert(
        connection,
        "source",
        ("id", *SOURCE_COLUMNS),
        (
            {
                **source.model_dump(),
                "id": source_id,
                "metadata": json.dumps(source.metadata, ensure_ascii=False),
                "headings": json.dumps(source.headings, ensure_ascii=False),
                "digest": bytes.fromhex(source.digest),
            }
            for source_id, source in enumerate(bundle.sources(), start=1)
        ),
    )
    rows = connection.rows("SELECT namespace FROM source ORDER BY id")
    namespaces = [row[0] for row in rows]
    slots = bundle.slots()
    while batch := list(islice(slots, BATCH)):
        _add_slots(connection, batch, namespaces)
    for table in ("statement", "statement_change"):
        if connection.one(f"SELECT 1 FROM {table} WHERE changed_by NOT IN (SELECT id FROM slot)"):
            raise ValueError("a statement was changed by one that is not there")
    # Ids and names of statements' sources go on where those of the bundle end.
    head = bundle.head
    connection.set_last_id("source", max(head.last_source, head.sources))
    connection.set_last_id("slot", head.last_slot)
    connection.continue_ids()
    connection.set_property("last_told", str(head.last_told))


def _add_quick_vectors(connection: Connection, bundle: BundleReader) -> None:
    """Note which of the stored vectors are quick ones.

    Raises:
        ValueError: the text of one is not the one that it encodes.
    """
    for quick in bundle.quick_vectors():
        vector = quick.vector + 1
        row = connection.only("SELECT digest FROM vector WHERE id = ?", vector)
        if row[0] != digest_of(quick.text):
            raise ValueError(f"the text of quick vector {quick.vector} is not what it encodes")
        connection.execute("INSERT INTO quick_vector VALUES (?, ?)", vector, quick.text)


def _add_slots(connection: Connection, slots: list[BundledSlot], namespaces: Sequence[str]) -> None:
    """Store slots under their own ids, which rise; ``namespaces`` are those of the sources."""
    _insert(
        connection,
        "slot",
        SLOT_COLUMNS,
        (
            {
                **slot.model_dump(),
                "source": slot.source + 1,
                "vector": slot.vector + 1,
                "relation_vector": None
                if slot.relation_vector is None
                else slot.relation_vector + 1,
                "digest": bytes.fromhex(slot.digest),
                "places": json.dumps(slot.places, ensure_ascii=False),
            }
            for slot in slots
        ),
    )
    connection.text.add(
        [(slot.id, slot.title, slot.text) for slot in slots if slot.kind != "reverse"]
    )
    slot_rows.add_symbols(
        connection,
        [slot.id for slot in slots],
        [slot.keys for slot in slots],
        [slot.mentions for slot in slots],
        [slot.id for slot in slots if slot.kind != "passage"],
    )
    statements = [(slot, slot.statement) for slot in slots if slot.statement is not None]
    _insert(
        connection,
        "statement",
        ("slot", "namespace", *STATEMENT_COLUMNS),
        (
            {
                **said.model_dump(),
                "slot": slot.id,
                "namespace": namespaces[slot.source],
                "aliases": json.dumps(said.aliases, ensure_ascii=False),
                "values": json.dumps(said.values, ensure_ascii=False),
            }
            for slot, said in statements
        ),
    )
    _insert(
        connection,
        "statement_change",
        ("slot", "changed_by", "change", "reason"),
        (
            {"slot": slot.id, **one.model_dump()}
            for slot, said in statements
            for one in said.changes
        ),
    )
    slot_rows.add_statement_names(connection, [slot.id for slot, _ in statements])


def _insert(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Iterable[dict[str, Any]]
) -> None:
    """Insert rows of a bundle.

    Raises:
        ValueError: two of them are the same where they may not be.
    """
    try:
        connection.insert(table, columns, ([row[column] for column in columns] for row in rows))
    except DuplicateRowsError as error:
        raise ValueError(f"two of its rows are the same: {error.reason}") from error
