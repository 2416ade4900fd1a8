"""What went wrong on a PostgreSQL server, in one line for people."""

import shlex
from typing import Any

import asyncpg

from memnet.errors import StoreBusyError, StoreError


class SocketError(Exception):
    """What the operating system said of a connection: no other ``OSError`` is the server's."""


LOST = (
    SocketError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""How a lost connection shows."""
FAILURES = (SocketError, asyncpg.InterfaceError, asyncpg.PostgresError)
"""All that the driver raises but for mistakes of its caller."""
_CONFLICTS = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.ForeignKeyViolationError,
    asyncpg.UniqueViolationError,
    asyncpg.LockNotAvailableError,
)
_ADVICE = {
    # Symbols and vectors are committed before the slots that use them.
    asyncpg.DiskFullError: "free space on the server; 'memnet verify --repair' deletes rows of no "
    "further use",
    asyncpg.OutOfMemoryError: "give the server more memory, or write less at once",
    asyncpg.ProgramLimitExceededError: "use shorter names, or write less at once",
    asyncpg.QueryCanceledError: "raise statement_timeout for this role, or try again if a person "
    "cancelled it",
    # A replica is refused before, and by that name.
    asyncpg.ReadOnlySQLTransactionError: "use a role that may write: default_transaction_read_only "
    "is on",
    asyncpg.InsufficientPrivilegeError: "give the role the rights on the schema and its tables",
    # Of a session: what an ingest has seen.
    asyncpg.UndefinedTableError: "run it again, if the connection was lost meanwhile",
    asyncpg.UntranslatableCharacterError: "remove the character U+0000 from the text",
    asyncpg.CharacterNotInRepertoireError: "remove the character U+0000 from the text",
}


class ConflictError(StoreBusyError):
    """Another writer changed the same rows at the same time; nothing was kept."""


class LostConnectionError(StoreError):
    """The server is gone, or closed the connection."""


def psql(database: str, statement: str) -> str:
    """The command that runs a statement, as it is typed in a shell."""
    quoted = shlex.quote(statement) if '"' in statement else f'"{statement}"'
    return f"psql -d {shlex.quote(database)} -c {quoted}"


def write_error(error: Exception, place: str, *, committing: bool) -> StoreError:
    """Why a change could not be made.

    Args:
        error: what the driver raised, one of ``FAILURES``.
        place: of the store.
        committing: whether the server had been told to commit.
    """
    if isinstance(error, LOST):
        kept = "whether this step was kept is not known" if committing else "nothing of it was kept"
        return LostConnectionError(
            f"the connection to {place} was lost during a write ({one_line(error)}); {kept}: "
            "run it again"
        )
    if isinstance(error, _CONFLICTS):
        return ConflictError(
            f"another writer changed the same part of {place} ({one_line(error)}); nothing of this "
            "step was kept: run it again"
        )
    advice = _advice(error) or "see the server's log"
    return StoreError(
        f"{place} could not be written ({one_line(error)}); nothing of this step was kept: {advice}"
    )


def read_error(error: Exception, place: str) -> StoreError:
    """Why rows could not be read; ``error`` is one of ``FAILURES``."""
    if isinstance(error, LOST):
        return LostConnectionError(
            f"the connection to {place} was lost ({one_line(error)}); try again"
        )
    advice = _advice(error) or "'memnet verify' may say what is damaged"
    return StoreError(f"{place} could not be read ({one_line(error)}); {advice}")


def connect_error(error: Exception, place: str, user: str) -> StoreError:
    """Why there is no connection; ``error`` is one of ``FAILURES``, or a timeout."""
    if isinstance(
        error, asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError
    ):
        return StoreError(
            f"{place} refuses the user {user or 'of this system'} ({one_line(error)}); give the "
            "right user in the address and the password in PGPASSWORD or ~/.pgpass"
        )
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return StoreError(
            f"{place}: {one_line(error)}; make the database with 'createdb', or name another one"
        )
    if isinstance(error, asyncpg.TooManyConnectionsError):
        return StoreError(
            f"{place} has no free connection ({one_line(error)}); raise max_connections, or use "
            "fewer threads"
        )
    return LostConnectionError(
        f"{place} can't be reached ({one_line(error)}); check that the server runs, and the host "
        "and port of the address"
    )


def one_line(error: Exception) -> str:
    """An error's message in one line; its kind where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _advice(error: Exception) -> str:
    kinds: Any = [advice for kind, advice in _ADVICE.items() if isinstance(error, kind)]
    return kinds[0] if kinds else ""
