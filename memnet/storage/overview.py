"""What a store's database says of it, read without its vector index, and who writes to it."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from memnet.errors import StoreError
from memnet.storage.place import DATABASE, Address, StorePlace, is_address, place_name
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.sqlite.folder import FolderLock
from memnet.storage.tables import slots
from memnet.storage.tables.checked import checked_count, checked_rows
from memnet.storage.tables.connection import SCHEMA_VERSION, Connection
from memnet.storage.values import StoreCounts

_MAX_LISTED = 1000  # names that are listed: nobody chooses among more
_LOOK_SECONDS = 10.0  # how long somebody who asked about a store waits for its server
_COMPLETE_SECONDS = 1.0  # the same for who only typed a tab
_LOCKS = Path("/proc/locks")  # on Linux, every lock of a file with the process that holds it


class Overview(NamedTuple):
    """A store as its database describes it."""

    schema_version: int
    encoder: str  # Fingerprint; empty in a store into which nothing was put yet
    # None in a store of an earlier schema, or without one: it is migrated when it is opened.
    counts: StoreCounts | None


def overview(place: StorePlace) -> Overview | None:
    """Schema, encoder and sizes of the store in a place; None if there is none.

    Raises:
        StoreError: it can't be read, or its server not be reached.
        DependencyError: it is on PostgreSQL, and psycopg is not installed.
    """
    with connected(place) as found:
        if found is None:
            return None
        known = found.schema_version
        encoder = found.property("encoder") if known else None
        counts = slots.counts(found) if known == SCHEMA_VERSION else None
        return Overview(known, encoder or "", counts)


def stored_encoder(place: StorePlace) -> tuple[str, int] | None:
    """Fingerprint and dimension of the encoder of a store; None if there is no store."""
    with connected(place) as found:
        if found is None or not found.schema_version:
            return None
        encoder, dimension = map(found.property, ("encoder", "dimension"))
        return None if encoder is None else (encoder, checked_count(dimension))


def existing_encoder(place: StorePlace) -> tuple[str, int]:
    """As ``stored_encoder``; StoreError if there is no store."""
    found = stored_encoder(place)
    if found is None:
        raise StoreError(
            f"there is no memnet store at {place_name(place)}; make one with 'memnet ingest'"
        )
    return found


def list_sources(place: StorePlace, prefix: str, namespace: str = "") -> list[str]:
    """The first ids of the sources of a namespace that start with a prefix."""
    return _names(
        place,
        "SELECT name FROM source WHERE namespace = ? AND name >= ? AND name < ? "
        "ORDER BY name LIMIT ?",
        namespace,
        prefix,
        prefix + chr(sys.maxunicode),
    )


def list_namespaces(place: StorePlace) -> list[str]:
    """The names of a store's namespaces but for the default one; none without a store."""
    return _names(
        place,
        "SELECT DISTINCT namespace FROM source WHERE namespace <> '' ORDER BY namespace LIMIT ?",
    )


def _names(place: StorePlace, statement: str, *parameters: str) -> list[str]:
    with connected(place, _COMPLETE_SECONDS) as found:
        rows = () if found is None else found.rows(statement, *parameters, _MAX_LISTED)
        return [row[0] for row in checked_rows(rows, "a source id or a namespace", str)]


def writer(place: StorePlace) -> str | None:
    """Who writes to the store in a folder right now: "process 1234", or "another process".

    None if nobody does, or if nobody may; and on PostgreSQL, where several may write at once.
    """
    if is_address(place):
        return None
    lock = FolderLock(Path(place), read_only=False)
    if not lock.path.exists() or not os.access(lock.path, os.W_OK):
        return None
    with lock.try_writing() as free:
        if free:
            return None
    process = _locking_process(lock.path)
    return "another process" if process is None else f"process {process}"


def _locking_process(path: Path) -> int | None:
    """The process that holds a lock of a file, where the system tells."""
    try:
        status = path.stat()
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in lines:
        # 1: FLOCK ADVISORY WRITE 1234 fe:01:5678 0 EOF
        fields = line.split()
        if len(fields) > 5 and fields[5] == f"{device}:{status.st_ino}" and fields[4].isdigit():
            return int(fields[4]) or None
    return None


@contextmanager
def connected(place: StorePlace, timeout: float = _LOOK_SECONDS) -> Iterator[Connection | None]:
    """A connection to the database of a store, as it is; None without one."""
    found = _connect(place, timeout)
    with nullcontext() if found is None else closing(found):
        yield found


def _connect(place: StorePlace, timeout: float) -> Connection | None:
    if is_address(place):
        return _connect_server(Address.parse(place), timeout)
    database = Path(place) / DATABASE
    read_only = not os.access(place, os.W_OK)
    return SqliteConnection(database, read_only=read_only) if database.is_file() else None


def _connect_server(address: Address, timeout: float) -> Connection | None:
    # Whoever has no server need not load what speaks to one.
    from memnet.storage.postgres.connection import PostgresConnection

    connection = PostgresConnection(address, timeout)
    if connection.schema_version:
        return connection
    connection.close()
    return None
