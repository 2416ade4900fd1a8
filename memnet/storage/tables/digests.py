"""Pages of all rows of a store, and digests of them, by which two stores are compared.

A digest depends neither on the database that holds the rows nor on their order.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple

from memnet.storage.tables.checked import Row, checked_count, damaged
from memnet.storage.tables.connection import Connection

_DIGEST_BYTES = 16
_WIDE_PAGE = 2_000
_NARROW_PAGE = 20_000
"""Rows that are read together: of texts and vectors, and of numbers alone."""
_CODES = {"i": int, "r": float, "t": str, "b": bytes}
UPLOADS = "uploads/"
"""What stands in digests for the folder of a store's uploads, with the separator after it."""


class Table(NamedTuple):
    """A table whose rows make a store what it is."""

    name: str
    key: tuple[str, ...]
    """Columns of its primary key."""
    columns: Mapping[str, type]
    """Every column, with the type of its values, which may be None."""
    paths: tuple[str, ...] = ()
    """Columns whose values may be paths of uploads."""
    condition: str = "true"
    """SQL for the rows that are meant."""


class TableDigest(NamedTuple):
    """What is compared of a table."""

    rows: int
    digest: str
    """32 hex digits."""


def _columns(listed: str) -> Mapping[str, type]:
    """Columns with their types from "id:i name:t"."""
    pairs = (one.split(":") for one in listed.split())
    return MappingProxyType({name: _CODES[code] for name, code in pairs})


OWN_PROPERTIES = ("generation", "schema_version", "place", "copying", "pgvector", "pgvector_recall")
"""Properties of a database rather than of what it holds."""
TABLES = (
    Table(
        "property",
        ("name",),
        _columns("name:t value:t"),
        condition=f"name NOT IN {OWN_PROPERTIES}",
    ),
    Table(
        "source",
        ("id",),
        _columns("id:i namespace:t name:t kind:t origin:t title:t metadata:t digest:b headings:t"),
        paths=("name", "origin"),
    ),
    Table("vector", ("id",), _columns("id:i digest:b data:b")),
    Table(
        "slot",
        ("id",),
        _columns(
            "id:i source:i kind:t title:t text:t start:i end:i relation:t value:t vector:i "
            "digest:b valid_from:r valid_until:r usage:r used_at:r relation_vector:i places:t"
        ),
    ),
    Table("quick_vector", ("vector",), _columns("vector:i text:t")),
    Table("symbol", ("id",), _columns("id:i name:t")),
    Table("slot_key", ("symbol", "slot"), _columns("symbol:i slot:i")),
    Table("mention", ("symbol", "slot"), _columns("symbol:i slot:i")),
    Table(
        "link",
        ("subject", "relation", "object", "slot"),
        _columns("subject:i relation:i object:i slot:i"),
    ),
    Table("file", ("namespace", "path"), _columns("namespace:t path:t digest:b"), paths=("path",)),
    Table(
        "statement",
        ("slot",),
        _columns(
            "slot:i namespace:t aliases:t relation:t values:t polarity:i certainty:t told_at:r "
            "standing:i speaker:t changed_by:i change:t reason:t"
        ),
    ),
    Table(
        "statement_name",
        ("symbol", "namespace", "slot"),
        _columns("symbol:i namespace:t slot:i"),
    ),
    Table(
        "statement_change",
        ("slot", "changed_by"),
        _columns("slot:i changed_by:i change:t reason:t"),
    ),
    Table("tell", ("id",), _columns("id:i namespace:t told_at:r source:i erased:i")),
    Table(
        "journal",
        ("tell", "slot"),
        _columns(
            "tell:i slot:i added:i standing:i valid_until:r changed_by:i change:t reason:t usage:r"
        ),
    ),
    Table(
        "evicted_source",
        ("namespace", "name"),
        _columns("namespace:t name:t digest:b"),
        paths=("name",),
    ),
    Table(
        "eviction",
        ("id",),
        _columns("id:i namespace:t source:t kind:t evicted_at:r"),
        paths=("source",),
    ),
)
"""All that a store is made of, each after those that its rows refer to. Not among them is what is
made of it: the text index, and the log of the commits."""
_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=bytes.hex, check_circular=False
).encode


class RowDigest:
    """The digest of some rows: the sum of their own digests, so that their order is no matter."""

    def __init__(self) -> None:
        """Begin without any row."""
        self._rows = 0
        self._sum = 0

    def add(self, page: Sequence[Row]) -> None:
        """Add rows."""
        self._rows += len(page)
        self._sum += sum(
            int.from_bytes(
                hashlib.blake2b(_encode(row).encode(), digest_size=_DIGEST_BYTES).digest(), "big"
            )
            for row in page
        )

    def result(self) -> TableDigest:
        """The digest of all rows so far."""
        return TableDigest(self._rows, f"{self._sum % 256**_DIGEST_BYTES:0{2 * _DIGEST_BYTES}x}")


def pages(
    connection: Connection,
    table: Table,
    after: Sequence[Any] | None = None,
    last: Sequence[Any] | None = None,
) -> Iterator[list[Row]]:
    """The rows of a table by rising keys, with all its columns, some at a time.

    Args:
        connection: within a snapshot.
        table: to read.
        after: the key of the row before the first one; None for the first row of all.
        last: the key of the last one; None for the last row of all.

    Raises:
        StoreError: they can't be read, or a column holds a value of another type.
    """
    size = _WIDE_PAGE if {str, bytes} & {*table.columns.values()} else _NARROW_PAGE
    columns = ", ".join(f'"{column}"' for column in table.columns)
    key = ", ".join(table.key)
    given = ", ".join("?" for _ in table.key)
    places = [list(table.columns).index(column) for column in table.key]
    while True:
        conditions, parameters = [table.condition], list[Any]()
        for sign, bound in ((">", after), ("<=", last)):
            if bound is not None:
                conditions.append(f"({key}) {sign} ({given})")
                parameters += bound
        page = connection.rows(
            f"SELECT {columns} FROM {table.name} WHERE {' AND '.join(conditions)} "
            f"ORDER BY {key} LIMIT {size}",
            *parameters,
        )
        if page:
            _check_types(table, page)
            yield page
        if len(page) < size:
            return
        after = [page[-1][place] for place in places]


def count_rows(connection: Connection, table: Table) -> int:
    """Number of the rows of a table."""
    row = connection.only(f"SELECT count(*) FROM {table.name} WHERE {table.condition}")
    return checked_count(row[0])


def key_of(table: Table, row: Row) -> list[Any]:
    """The key of a row of all columns."""
    values = dict(zip(table.columns, row, strict=True))
    return [values[column] for column in table.key]


def moved(table: Table, page: list[Row], before: str, now: str) -> list[Row]:
    """Rows whose paths below one folder are below another.

    Args:
        table: of the rows.
        page: the rows.
        before: what the paths begin with.
        now: what stands there instead.
    """
    if not table.paths:
        return page
    is_path = [column in table.paths for column in table.columns]
    return [
        tuple(
            now + value[len(before) :] if path and (value or "").startswith(before) else value
            for path, value in zip(is_path, row, strict=True)
        )
        for row in page
    ]


def table_digest(connection: Connection, table: Table, uploads: str) -> TableDigest:
    """The digest of a table.

    Args:
        connection: within a snapshot.
        table: to read.
        uploads: what the paths of the store's uploads begin with.
    """
    found = RowDigest()
    for page in pages(connection, table):
        found.add(moved(table, page, uploads, UPLOADS))
    return found.result()


def digest_of_all(digests: Mapping[str, TableDigest]) -> str:
    """One digest for those of all tables, by name: 32 hex digits."""
    lines = "".join(f"{name} {rows} {digest}\n" for name, (rows, digest) in digests.items())
    return hashlib.blake2b(lines.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _check_types(table: Table, page: Sequence[Row]) -> None:
    for kind, values in zip(table.columns.values(), zip(*page, strict=True), strict=True):
        if not {*map(type, values)} <= {kind, NoneType}:
            raise damaged(f"a row of {table.name}")
