"""What a store's database says of it, read without its vector index, and who writes to it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memnet.storage.folder import DATABASE, WriterLock
from memnet.storage.tables import slots
from memnet.storage.tables.contents import Contents
from memnet.storage.tables.database import Connection
from memnet.storage.tables.schema import SCHEMA_VERSION
from memnet.storage.values import StoreCounts

_MAX_LISTED = 1000
"""Names that are listed: nobody chooses among more."""
_LOCKS = Path("/proc/locks")
"""On Linux, every lock of a file with the process that holds it."""


class Overview(NamedTuple):
    """A store as its database describes it."""

    schema_version: int
    encoder: str
    """Fingerprint; empty in a store into which nothing was put yet."""
    counts: StoreCounts | None
    """None in a store of an earlier schema, which is migrated when it is opened."""


def overview(folder: Path) -> Overview | None:
    """Schema, encoder and sizes of the store in a folder; None if there is none.

    Raises:
        StoreError: it can't be read.
    """
    with _connected(folder) as connection:
        if connection is None:
            return None
        known = connection.schema_version
        encoder = connection.property("encoder") if known else None
        counts = slots.counts(connection) if known == SCHEMA_VERSION else None
        return Overview(known, encoder or "", counts)


def list_sources(folder: Path, prefix: str, namespace: str = "") -> list[str]:
    """The first ids of the sources of a namespace that start with a prefix; none without a store.

    Raises:
        StoreError: the store can't be read.
    """
    with _connected(folder) as connection:
        if connection is None:
            return []
        return Contents(lambda: connection).source_ids(prefix, namespace, _MAX_LISTED)


def list_namespaces(folder: Path) -> list[str]:
    """The names of a store's namespaces but for the default one; none without a store.

    Raises:
        StoreError: the store can't be read.
    """
    with _connected(folder) as connection:
        return [] if connection is None else Contents(lambda: connection).namespaces(_MAX_LISTED)


def writer(folder: Path) -> str | None:
    """Who writes to the store in a folder right now: "process 1234", or "another process".

    None if nobody does, or if nobody may.
    """
    lock = WriterLock(folder, read_only=False)
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
def _connected(folder: Path) -> Iterator[Connection | None]:
    """A connection to the database of a store, whose schema stays as it is; None without one."""
    if not (folder / DATABASE).is_file():
        yield None
        return
    connection = Connection(folder / DATABASE, read_only=not os.access(folder, os.W_OK))
    try:
        yield connection
    finally:
        connection.close()
