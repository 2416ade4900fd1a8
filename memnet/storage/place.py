"""Where a store is: in a folder, or on PostgreSQL.

An address, ``postgresql://user@host/database?schema=notes``, is libpq's, with two more
parameters. No text that is made of an address has a password, nor has any error: a password may
have been cut into pieces, so pieces are not quoted.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeGuard, cast, get_args
from urllib.parse import unquote

from memnet.errors import DependencyError, InputError, install

DATABASE = "memory.sqlite3"  # the file that every store in a folder has
# A folder, or the address of a store on PostgreSQL, which is a text: a path has no "//".
StorePlace: TypeAlias = Path | str
_ADDRESS_AS_PATH = re.compile(r"postgres(ql)?:[/\\]", re.IGNORECASE)
# Of two characters or more: one is a drive of Windows.
_OTHER_SCHEME = re.compile(r"\A[a-z][a-z0-9+.-]{1,30}://", re.IGNORECASE)
IndexKind = Literal["hnsw", "exact"]  # a graph, or a comparison with every vector
_SCHEMES = ("postgresql://", "postgres://")
_OWN = {"schema": "memnet", "index": "hnsw"}  # parameters that libpq does not have
_SECRET = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_MAX_NAME_BYTES = 63  # PostgreSQL cuts longer names off without an error
_WHERE = "the address of the store on PostgreSQL"
_ESCAPES = "write @ as %40, / as %2F, ? as %3F, # as %23 and & as %26 in user, password and names"
# Up to the last @: in a malformed address any may be a part of the password.
_PASSWORD = re.compile(
    r"(postgres(?:ql)?:/{1,2}[^:@]*:).+(?=@)|(password=)[^&\s]+", re.IGNORECASE | re.DOTALL
)
_CONTROL = re.compile("[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Address:
    """Where a store on PostgreSQL is, and how it is reached."""

    shown: str  # as messages name it, without passwords
    # Of libpq, by keyword, with the password; a database is among them.
    parameters: Mapping[str, str] = field(repr=False)
    schema: str = _OWN["schema"]  # its name; in SQL it has to be ``quoted_schema``
    index: IndexKind = "hnsw"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a text states.

        Raises:
            InputError: it is none, or a part of it can't be used; never quotes a password.
            DependencyError: psycopg is not installed.
        """
        if not is_address(text):
            raise InputError(
                "this is not an address of a store on PostgreSQL; expected "
                f"{_SCHEMES[0]}HOST/DATABASE"
            )
        base, given = _split(text)
        for name, _ in given:
            if [one for one, _ in given].count(name) > 1:
                raise InputError(f"{_WHERE} has two values of a parameter; leave one out")
        own = _OWN | {name: unquote(value) for name, value in given if name in _OWN}
        others = [f"{name}={value}" for name, value in given if name not in _OWN]
        parameters = _parsed(f"{base}?{'&'.join(others)}")
        _check_parameters(parameters)
        _check_schema(own["schema"])
        if own["index"] not in get_args(IndexKind):
            raise InputError(
                f"{_WHERE} has index {own['index']!r}; expected {' or '.join(get_args(IndexKind))}"
            )
        shown = _without_passwords(base, given)
        return cls(shown, parameters, own["schema"], cast(IndexKind, own["index"]))

    @property
    def quoted_schema(self) -> str:
        """The schema's name as SQL has it: ``"notes"``."""
        return '"' + self.schema.replace('"', '""') + '"'

    def cache_folder(self) -> Path:
        """The folder of this user for the files of the store, which may not exist yet.

        The same for every user and password; another for another spelling of the host.
        """
        # Here, since every command imports this module.
        import hashlib

        from platformdirs import user_cache_path

        host = self.parameters.get("host") or os.environ.get("PGHOST", "")
        host = host if host.startswith("/") else host.lower()
        port = self.parameters.get("port") or os.environ.get("PGPORT") or "5432"
        service = self.parameters.get("service", "")
        parts = (host, port, service, self.parameters["dbname"], self.schema)
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return user_cache_path("memnet") / "postgres" / digest


def is_address(place: object) -> TypeGuard[str]:
    """Whether this names a store on PostgreSQL, and no folder; it may still be malformed."""
    return isinstance(place, str) and place.lower().startswith(_SCHEMES)


def hide_passwords(text: str) -> str:
    """A text that may quote an address, well-formed or not, without passwords."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


def _split(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The address before its parameters, and these: names, and values as they are written."""
    rest = text.partition("://")[2]
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    behind = rest[len(authority) :]
    if "@" in behind or "#" in behind:
        # Most likely of a password, so that what is before it is neither host nor port.
        raise InputError(f"{_WHERE} has an @ or # where none may be; {_ESCAPES}")
    # As people type it: whatever is before the last @ is no host.
    login, at, place = authority.rpartition("@")
    path, _, query = behind.partition("?")
    base = f"{_SCHEMES[0]}{login.replace('@', '%40')}{at}{place}{path}"
    pieces = [piece.partition("=") for piece in query.split("&") if piece]
    return base, [(unquote(name), value) for name, _, value in pieces]


def _parsed(text: str) -> dict[str, str]:
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise DependencyError(
            f"psycopg is not installed; a store on PostgreSQL needs it; run: {install('postgres')}"
        ) from error
    try:
        return {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except (psycopg.Error, UnicodeError) as error:
        # A password with an ampersand looks like another parameter.
        known = str(error).startswith("invalid URI query parameter") and "password=" not in text
        what = str(error).strip() if known else "the address can't be read"
        raise InputError(f"{_WHERE}: {what}; {_ESCAPES}, in UTF-8") from None


def _check_parameters(parameters: Mapping[str, str]) -> None:
    if not parameters.get("dbname"):
        raise InputError(f"{_WHERE} names no database; expected {_SCHEMES[0]}HOST/DATABASE")
    if any(map(_CONTROL.search, parameters.values())):
        raise InputError(f"{_WHERE} has a control character; leave it out")
    for port in filter(None, parameters.get("port", "").split(",")):
        # Not quoted: without an @ it is what follows the user's name.
        if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16):
            raise InputError(f"{_WHERE} has a malformed port; expected a number from 1 to 65535")


def _without_passwords(base: str, given: Sequence[tuple[str, str]]) -> str:
    scheme, _, rest = base.partition("://")
    login, at, place = rest.rpartition("@")
    query = "&".join(f"{name}={value}" for name, value in given if name not in _SECRET)
    return f"{scheme}://{login.partition(':')[0]}{at}{place}{'?' if query else ''}{query}"


def _check_schema(name: str) -> None:
    if not name or _CONTROL.search(name):
        raise InputError(f"{_WHERE} has an empty or unprintable schema; expected schema=NAME")
    if len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        raise InputError(
            f"the schema's name {name!r} has more than {_MAX_NAME_BYTES} bytes; "
            "choose a shorter one"
        )
    if name.startswith("pg_") or name == "information_schema":
        raise InputError(f"the schema {name!r} is PostgreSQL's own; choose another name")


def store_place(given: str | os.PathLike[str]) -> StorePlace:
    """The place that a path or a text names; nothing need be there."""
    text = os.fspath(given)
    if is_address(text):
        Address.parse(text)
        return text
    if _ADDRESS_AS_PATH.match(text):
        raise InputError(
            "the store is a path that was made of an address of PostgreSQL; give the address as "
            "text, with two slashes: postgresql://HOST/DATABASE"
        )
    if other := _OTHER_SCHEME.match(text):
        raise InputError(
            f"the store is an address that begins with {other[0]}; expected a folder, or "
            "postgresql://HOST/DATABASE"
        )
    return Path(text)


def place_name(place: StorePlace) -> str:
    """A place as messages name it: without a password, even where an address can't be used."""
    if not is_address(place):
        return str(place)
    try:
        return Address.parse(place).shown
    except InputError:
        return "an address of PostgreSQL that can't be used"


def files_folder(place: StorePlace) -> Path:
    """The folder of the files of a store, or of those beside its database, which may not exist."""
    return Address.parse(place).cache_folder() if is_address(place) else Path(place)
