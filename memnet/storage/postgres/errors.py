"""What went wrong on a PostgreSQL server, in one line for people."""

import re
import shlex

import psycopg

from memnet.errors import StoreBusyError, StoreError

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
    """Why a change could not be made.

    Args:
        error: of the driver.
        place: of the store.
        committing: whether the server had been told to commit.
    """
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
    if re.search('database ".*" does not exist', what):
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
