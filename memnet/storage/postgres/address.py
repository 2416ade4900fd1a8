"""The address of a store on PostgreSQL: ``postgresql://user@host/database?schema=notes``.

Neither asyncpg nor a connection is needed here. A password is in no text that is made of an
address, nor in any error: where one may have been cut in pieces, the pieces are not quoted.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard, cast, get_args
from urllib.parse import quote, unquote

from memnet.errors import InputError

IndexPlace = Literal["faiss", "hnsw", "exact"]
"""What compares vectors: FAISS in each process, an index of pgvector, or pgvector row by row."""
_SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = "memnet"
_PORT = 5432
_MAX_NAME_BYTES = 63
"""PostgreSQL cuts longer names off without an error."""
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_OWN = ("schema", "index", "readers", "host", "port", "user", "password")
_PASSED_ON = (
    "passfile",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
)
"""Parameters that asyncpg understands in an address; it sends others to the server as settings."""
_SECRET = ("password", "sslpassword")
_WHERE = "the address of the store on PostgreSQL"
_PASSWORD = re.compile(
    # Up to the last @: in a malformed address any may be a part of the password.
    r"(postgres(?:ql)?:/{1,2}[^:@]*:).+(?=@)|(password=)[^&\s]+",
    re.IGNORECASE | re.DOTALL,
)
_CONTROL = re.compile("[\x00-\x1f\x7f]")


class Server(NamedTuple):
    """A host, or the folder of a Unix socket, and a port."""

    host: str
    """Empty for asyncpg's default: PGHOST, else this machine."""
    port: int | None = None
    """None for asyncpg's default: PGPORT, else 5432."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if _is_ipv6(self.host) else self.host
        return host if self.port is None else f"{host}:{self.port}"


@dataclass(frozen=True, repr=False)
class Address:
    """Where a store on PostgreSQL is, and how it is reached. Its text has no password."""

    database: str
    host: str = ""
    """As of a ``Server``."""
    port: int | None = None
    user: str = ""
    """Empty for asyncpg's default: PGUSER, else the user of the operating system."""
    password: str = ""
    """Empty for asyncpg's default: PGPASSWORD, else what the password file has."""
    schema: str = _SCHEMA
    """Its name; in SQL it has to be ``quoted_schema``."""
    index: IndexPlace = "faiss"
    readers: tuple[Server, ...] = ()
    """Read replicas. One without a port has that of the address."""
    options: tuple[tuple[str, str], ...] = ()
    """Further parameters of asyncpg, by name."""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a text states.

        Raises:
            InputError: it is none, or a part of it can't be used; never quotes a password.
        """
        if not is_address(text):
            raise InputError(
                f"this is no address of a store on PostgreSQL; expected {_SCHEMES[0]}HOST/DATABASE"
            )
        authority, path, query = _split(text)
        given = _parameters(query)
        login, _, place = authority.rpartition("@")
        user, _, password = login.partition(":")
        server = _server(place)
        parts = {
            "user": _decoded(user),
            "password": _decoded(password),
            "host": _decoded(server.host),
            "port": "" if server.port is None else str(server.port),
        }
        for name in parts:
            if parts[name] and name in given:
                raise InputError(f"{_WHERE} has two values of {name}; leave one out")
            parts[name] = parts[name] or given.pop(name, "")
        database = _decoded(path)
        if not database:
            raise InputError(f"{_WHERE} names no database; expected {_SCHEMES[0]}HOST/DATABASE")
        if "," in parts["host"]:
            raise InputError(
                f"{_WHERE} has several hosts; name the one that is written to, and its read "
                "replicas with readers=HOST,HOST"
            )
        return cls(
            database=database,
            host=parts["host"],
            port=_port(parts["port"]),
            user=parts["user"],
            password=parts["password"],
            schema=_schema(given.pop("schema", _SCHEMA)),
            index=_index(given.pop("index", "faiss")),
            readers=_readers(given.pop("readers", "")),
            options=tuple(sorted(given.items())),
        )

    def __str__(self) -> str:
        """The address without any password; parsed, it gives all else again."""
        return self.text(secrets=False)

    def text(self, *, secrets: bool) -> str:
        """The address, which parsed is the same again; with its passwords only if it is asked."""
        in_query = self.host.startswith("/")
        host = (
            f"[{quote(self.host, safe=':')}]" if _is_ipv6(self.host) else quote(self.host, safe="")
        )
        port = "" if self.port is None else str(self.port)
        given = {
            "host": self.host if in_query else "",
            "port": port if in_query else "",
            "schema": self.schema if self.schema != _SCHEMA else "",
            "index": self.index if self.index != "faiss" else "",
            "readers": ",".join(map(str, self.readers)),
            "password": self.password if secrets else "",
            **{name: value for name, value in self.options if secrets or name not in _SECRET},
        }
        place = "" if in_query else f"{host}:{port}" if port else host
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        query = "&".join(f"{name}={quote(text, '/:,[]')}" for name, text in given.items() if text)
        database = quote(self.database, safe="")
        return f"{_SCHEMES[0]}{user}{place}/{database}{'?' if query else ''}{query}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def quoted_schema(self) -> str:
        """The schema's name as SQL has it: ``"notes"``."""
        return '"' + self.schema.replace('"', '""') + '"'

    def connect_arguments(self, server: Server | None = None) -> dict[str, Any]:
        """Keyword arguments of ``asyncpg.connect``, which quotes none of them in its errors.

        Args:
            server: one of ``readers``; None for the server that is written to.
        """
        at = server or Server(self.host, self.port)
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in self.options)
        return {
            # asyncpg reads the files of certificates from an address only.
            "dsn": f"{_SCHEMES[0]}?{query}" if query else None,
            "host": at.host or None,
            "port": self.port if at.port is None else at.port,
            "user": self.user or None,
            "password": self.password or None,
            "database": self.database,
            "server_settings": {"application_name": "memnet"},
        }

    def cache_folder(self) -> Path:
        """The folder of this user for the files of the store, which may not exist yet.

        The same for every user and password; another for another spelling of the host.
        """
        # Here, since every command imports this module.
        import hashlib

        from platformdirs import user_cache_path

        host = self.host or os.environ.get("PGHOST", "")
        host = host if host.startswith("/") else host.lower()
        port = str(self.port or os.environ.get("PGPORT") or _PORT)
        parts = (host, port, self.database, self.schema)
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return user_cache_path("memnet") / "postgres" / digest


def is_address(place: object) -> TypeGuard[str]:
    """Whether this names a store on PostgreSQL, and no folder; it may still be malformed."""
    return isinstance(place, str) and place.lower().startswith(_SCHEMES)


def hide_passwords(text: str) -> str:
    """A text that may quote an address, well-formed or not, without passwords."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


def _is_ipv6(host: str) -> bool:
    return ":" in host and not host.startswith("/")


def _split(text: str) -> tuple[str, str, str]:
    """Authority, path and query, as they are written."""
    rest = text.partition("://")[2]
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    behind = rest[len(authority) :]
    if "@" in behind or "#" in behind:
        # Most likely of a password, so that what is before it is none of host and port.
        raise InputError(
            f"{_WHERE} has an @ or # where none may be; write @ as %40, / as %2F, ? as %3F and # "
            "as %23 in user, password and names"
        )
    path, _, query = behind.partition("?")
    return authority, path.removeprefix("/"), query


def _parameters(query: str) -> dict[str, str]:
    """Name and value of each parameter; each is known and given once."""
    pieces = [piece.partition("=") for piece in query.split("&") if piece]
    # A password with an ampersand looks like two parameters.
    has_secret = any(name in _SECRET for name, _, _ in pieces)
    given: dict[str, str] = {}
    for name, _, value in pieces:
        if name not in _OWN and name not in _PASSED_ON:
            raise InputError(
                f"{_WHERE} has an unknown parameter{'' if has_secret else f' {name!r}'}; "
                f"expected {', '.join((*_OWN, *_PASSED_ON))}"
            )
        if name in given:
            raise InputError(f"{_WHERE} has two values of {name}; leave one out")
        given[name] = _decoded(value)
        if not given[name]:
            raise InputError(f"{_WHERE} has no value of {name}; write {name}=VALUE or leave it out")
    if given.get("sslmode", _SSL_MODES[0]) not in _SSL_MODES:
        raise InputError(
            f"{_WHERE} has sslmode {given['sslmode']!r}; expected {', '.join(_SSL_MODES)}"
        )
    return given


def _decoded(text: str) -> str:
    """A part of an address whose escapes are resolved."""
    try:
        plain = unquote(text, errors="strict")
        plain.encode()
    except UnicodeError:
        raise InputError(f"{_WHERE} is not UTF-8; write other bytes as UTF-8, %C3%BC") from None
    if _CONTROL.search(plain):
        raise InputError(f"{_WHERE} has a control character; leave it out")
    return plain


def _server(text: str) -> Server:
    """Host and port as they are written, each of which may be missing."""
    if text.startswith("["):
        host, closed, port = text[1:].partition("]")
        if not closed or not host or port[:1] not in ("", ":"):
            raise InputError(f"{_WHERE} has a malformed IPv6 address; expected [::1]:{_PORT}")
        return Server(host, _port(port[1:]))
    host, _, port = text.partition(":")
    return Server(host, _port(port))


def _port(text: str) -> int | None:
    if not text:
        return None
    # Not quoted: without an @ it is what follows the user's name.
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 1 << 16):
        raise InputError(f"{_WHERE} has a port that is no number from 1 to 65535; expected {_PORT}")
    return int(text)


def _schema(name: str) -> str:
    if len(name.encode()) > _MAX_NAME_BYTES:
        raise InputError(
            f"the schema's name {name!r} has more than {_MAX_NAME_BYTES} bytes; "
            "choose a shorter one"
        )
    if name.startswith("pg_") or name == "information_schema":
        raise InputError(f"the schema {name!r} is PostgreSQL's own; choose another name")
    return name


def _index(name: str) -> IndexPlace:
    if name not in get_args(IndexPlace):
        raise InputError(f"{_WHERE} has index {name!r}; expected {', '.join(get_args(IndexPlace))}")
    return cast(IndexPlace, name)


def _readers(text: str) -> tuple[Server, ...]:
    if not text:
        return ()
    found = tuple(_reader(one) for one in text.split(","))
    if not all(one.host for one in found):
        raise InputError(f"{_WHERE} has a reader without a host; expected readers=HOST,HOST:PORT")
    return found


def _reader(text: str) -> Server:
    folder, colon, port = text.rpartition(":")
    if text.startswith("/"):  # the folder of a Unix socket
        return Server(folder, _port(port)) if colon and port.isdigit() else Server(text)
    return _server(text)
