"""A session of a PostgreSQL server, by psycopg, and its errors, in one line for people."""

import os
import re
import shlex
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format, TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

from memnet.errors import StoreBusyError, StoreError
from memnet.storage.place import Address
from memnet.storage.tables.checked import IN_LIST, Row, Values
from memnet.storage.values import VectorData

_OLDEST_SERVER = 15
_STATEMENTS = 500  # that a session keeps prepared
_SETTINGS = {
    # Statements are short, and take arrays of few elements: compiling them, or planning each anew
    # for its parameters, costs more than it saves.
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    # Nodes of the graph that a search keeps, and that it goes on after them until enough rows pass
    # its conditions. The order is made anew in full precision.
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "relaxed_order",
}
_NO_NUL = "remove the character U+0000 from the text"
# By SQLSTATE.
_LOST = ("25P03", "57P01", "57P02", "57P03", "57P05")  # idle for too long, shut down, starting
_CONFLICTS = ("23503", "23505", "40001", "40P01", "55P03")  # foreign and unique keys, serialisation
_READ_ONLY = "25006"
_ADVICE = {
    # Symbols and vectors are committed before the slots that use them.
    "53100": "free space on the server; 'memnet verify --repair' deletes rows of no further use",
    "53200": "give the server more memory, or write less at once",
    "54000": "use shorter names, or write less at once",
    "57014": "raise statement_timeout for this role, or try again if a person cancelled it",
    # A standby is refused before, and by that name.
    _READ_ONLY: "use a role that may write: default_transaction_read_only is on",
    "42501": "give the role the rights on the schema and its tables",
    # Of a session: what an ingest has seen.
    "42P01": "run it again, if the connection was lost meanwhile",
    "40001": "try again; set hot_standby_feedback if a standby says so often",
    "22P05": _NO_NUL,
    "22021": _NO_NUL,
}
# The server's refusals of a connection, which come without a SQLSTATE.
_REFUSED = ("authentication", "no password", "role ", "no pg_hba.conf entry", "ermission denied")
_NO_ROOM = ("too many ", "remaining connection slots")


class Session:
    """One session. Statements are those of ``Connection``; errors are psycopg's."""

    def __init__(self, address: Address, connect_seconds: float) -> None:
        """Connect; each server of the address may take so many seconds to answer."""
        settings = {**_SETTINGS, "search_path": f"{address.quoted_schema}, public"}
        options = [address.parameters.get("options", "")]
        for name, value in settings.items():
            escaped = value.replace("\\", "\\\\").replace(" ", "\\ ")
            options.append(f"-c {name}={escaped}")
        given: dict[str, Any] = {
            "connect_timeout": max(1, round(connect_seconds)),
            "application_name": "memnet",
            **address.parameters,
            "options": " ".join(options).strip(),
        }
        self._process = os.getpid()
        try:
            self._server = psycopg.connect(
                **given, autocommit=True, prepare_threshold=1, cursor_factory=psycopg.RawCursor
            )
            self._server.prepared_max = _STATEMENTS
            # One type for all integers: each set of types of parameters is a statement to prepare.
            self._server.adapters.register_dumper(int, Int8BinaryDumper)
            self._server.adapters.register_dumper(list, ListBinaryDumper)
            self.learn_halfvec()
        except psycopg.Error as error:
            raise connect_error(error, address.shown, given.get("user", "")) from None
        version = self._server.info.server_version // 10_000
        if version < _OLDEST_SERVER:
            raise StoreError(
                f"{address.shown} is on PostgreSQL {version}; memnet needs {_OLDEST_SERVER} or "
                "newer"
            )

    def close(self) -> None:
        """Close the session; in a forked child it stays the parent's."""
        if not self.inherited:
            self._server.close()

    @property
    def inherited(self) -> bool:
        """Whether this process is a forked child of the one that opened it, whose it is."""
        return self._process != os.getpid()

    @property
    def closed(self) -> bool:
        """Whether it was closed, or lost."""
        return self._server.closed

    @property
    def read_only(self) -> bool:
        """Whether the server is a standby."""
        return self._server.info.parameter_status("in_hot_standby") == "on"

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction of this process is under way."""
        status = self._server.info.transaction_status
        idle = (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)
        return not self.inherited and status not in idle

    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Row]:
        """All rows of a statement, if it gives any."""
        cursor = self._cursor()
        cursor.execute(_translated(statement), _values(parameters), binary=True)
        return cursor.fetchall() if cursor.description else []

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row of parameters."""
        self._cursor().executemany(_translated(statement), [_values(row) for row in rows])

    def command(self, statements: str) -> None:
        """Run statements without parameters, one after the other, in one way to the server."""
        self._cursor().execute(statements.encode(), prepare=False)

    def copy(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, which may be many."""
        names = ", ".join(f'"{column}"' for column in columns)
        with self._cursor().copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def learn_halfvec(self) -> None:
        """Let vectors be read and written, where the database has pgvector."""
        kinds = self.rows(
            "SELECT CAST(oid AS bigint), CAST(typarray AS bigint) FROM pg_type "
            "WHERE oid = to_regtype('halfvec')",
            (),
        )
        for oid, array_oid in kinds:
            TypeInfo("halfvec", oid, array_oid).register(self._server)
            dumper = type("HalfvecDumper", (_VectorDumper,), {"oid": oid})
            self._server.adapters.register_dumper(VectorData, dumper)
            self._server.adapters.register_loader(oid, _VectorLoader)

    def _cursor(self) -> psycopg.Cursor[Any]:
        if self.inherited:
            raise psycopg.InterfaceError("it is of the process that this one was forked from")
        return self._server.cursor()


class _VectorDumper(Dumper):
    """pgvector's binary form: the width, two bytes of nothing, and the components, big-endian."""

    format = Format.BINARY

    def dump(self, obj: VectorData) -> bytes:
        return struct.pack(">HH", len(obj) // 2, 0) + np.frombuffer(obj, "<u2").byteswap().tobytes()


class _VectorLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, "<u2", offset=4).byteswap().tobytes()


@lru_cache(maxsize=2000)
def _translated(statement: str) -> bytes:
    statement = (
        statement.replace(f"NOT {IN_LIST}", "<> ALL (?)")
        .replace(IN_LIST, "= ANY (?)")
        .replace("temp.seen", "pg_temp.seen")
        .replace("BLOB", "bytea")
    )
    first, *rest = statement.split("?")
    numbered = (f"${number}{part}" for number, part in enumerate(rest, start=1))
    return (first + "".join(numbered)).encode()


def _values(parameters: Sequence[Any]) -> list[Any]:
    return [one.items if isinstance(one, Values) else one for one in parameters]


class ConflictError(StoreBusyError):
    """Another writer changed the same rows at the same time; nothing was kept."""


class LostConnectionError(StoreError):
    """The server is gone, or closed the connection."""


def is_lost(error: Exception) -> bool:
    """Whether the connection was lost, or never there."""
    if isinstance(error, LostConnectionError | psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state in _LOST or state.startswith("08")


def psql(database: str, statement: str) -> str:
    """The command that runs a statement, as it is typed in a shell."""
    quoted = shlex.quote(statement) if '"' in statement else f'"{statement}"'
    return f"psql -d {shlex.quote(database)} -c {quoted}"


def write_error(error: psycopg.Error, place: str, *, committing: bool) -> StoreError:
    """Why a change could not be made; ``committing`` if the server had been told to commit."""
    if is_lost(error):
        kept = "whether this step was kept is not known" if committing else "nothing of it was kept"
        return LostConnectionError(
            f"the connection to {place} was lost during a write ({one_line(error)}); {kept}: "
            "run it again"
        )
    if error.sqlstate in _CONFLICTS:
        return ConflictError(
            f"another writer changed the same part of {place} ({one_line(error)}); nothing of this "
            "step was kept: run it again"
        )
    return StoreError(
        f"{place} could not be written ({one_line(error)}); nothing of this step was kept: "
        f"{_advice(error) or 'see the log of the server'}"
    )


def read_error(error: psycopg.Error, place: str) -> StoreError:
    """Why rows could not be read."""
    if is_lost(error):
        return LostConnectionError(
            f"the connection to {place} was lost ({one_line(error)}); try again"
        )
    advice = _advice(error) or "'memnet verify' may say what is damaged"
    return StoreError(f"{place} could not be read ({one_line(error)}); {advice}")


def connect_error(error: psycopg.Error, place: str, user: str) -> StoreError:
    """Why there is no connection."""
    what = one_line(error)
    if any(sign in what for sign in _NO_ROOM):
        return StoreError(
            f"{place} has no free connection ({what}); raise max_connections, or use fewer threads"
        )
    if re.search('database "[^"]*" does not exist', what):
        return StoreError(f"{place}: {what}; make the database with 'createdb', or name another")
    if any(sign in what for sign in _REFUSED):
        return StoreError(
            f"{place} refuses the user {user or 'of this system'} ({what}); give the right user in "
            "the address and the password in PGPASSWORD or ~/.pgpass"
        )
    return LostConnectionError(
        f"{place} can't be reached ({what}); check that the server runs, and the host and port of "
        "the address"
    )


def one_line(error: Exception) -> str:
    """An error's message in one line; its kind where it has none."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return message or " ".join(str(error).split()) or type(error).__name__


def _advice(error: psycopg.Error) -> str:
    if error.sqlstate is None and "NUL" in str(error):
        return _NO_NUL
    return _ADVICE.get(error.sqlstate or "", "")
