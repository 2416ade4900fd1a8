"""What can be set about a server, which names it answers to, and token files."""

import hashlib
import ipaddress
import os
import re
import secrets
import socket
from pathlib import Path
from typing import Any

from pydantic import Field

from memnet.errors import InputError
from memnet.types import Value

_DIGEST = re.compile(r"[0-9a-f]{64}")


class ServerSettings(Value):
    """Settings of ``memnet serve``, each with its reason.

    Raises:
        InputError: a server that other machines can reach has no token, or it is not a digest.
    """

    host: str = "127.0.0.1"
    """Address to listen on; addresses other than loopback need a token."""
    port: int = Field(default=8321, ge=0, le=65_535)
    """0 for any free port."""
    token_digest: str | None = None
    """SHA-256 of the token, as 64 hex digits; None if none is required."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names of the server, such as that of a proxy."""
    read_only: bool = False
    """Whether to refuse everything that would change the memory."""
    max_body: int = Field(default=20 << 20, ge=1)
    """Max. bytes of a request, enough for a large document as escaped text."""
    max_upload: int = Field(default=200 << 20, ge=1)
    """Max. bytes of an upload, such as books and archives with pictures."""

    def model_post_init(self, _: Any, /) -> None:
        """Check what belongs together."""
        if self.token_digest is not None and not _DIGEST.fullmatch(self.token_digest):
            raise InputError(
                "invalid token digest; expected a SHA-256 in lower-case hex; make a token "
                "with 'memnet serve --new-token FILE'"
            )
        if self.token_digest is None and not _is_loopback(self.host):
            raise InputError(
                f"{self.host} is reachable from other machines, so a token is required: make one "
                "with 'memnet serve --new-token FILE' and give --token-file FILE"
            )

    def answers_to(self, name: str) -> bool:
        """Whether a request may name this host, without its port, in its Host header.

        A page of a hostile site can reach a local server under a name of its own (DNS rebinding),
        but not under one of these.
        """
        name = name.lower().rstrip(".")
        own = {self.host.lower(), *(one.lower() for one in self.allowed_hosts)}
        if name in own or _is_loopback(name):
            return True
        listens = _address(self.host)
        # On all addresses: each of them is a number, which no other site can be named.
        return (
            listens is not None
            and listens.is_unspecified
            and (_address(name) is not None or name == socket.gethostname().lower())
        )


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host that is given as a number, in brackets or not; None for a name."""
    try:
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    """Whether a host name or address is that of this machine alone."""
    address = _address(name)
    return name == "localhost" if address is None else address.is_loopback


_BYTES = 32  # random bytes of a token: it can't be guessed, so a fast digest is enough
_MAX_FILE = 1000  # bytes that are read of a token file


def make_token(path: Path) -> str:
    """Make a token and write its SHA-256 as hex into a new file; returns the token."""
    token = secrets.token_urlsafe(_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(
            f"{path} already exists, and servers may use its token; remove it or choose another"
        ) from None
    except OSError as error:
        raise InputError(f"can't write {path} ({error.strerror}); choose another file") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(hashlib.sha256(token.encode()).hexdigest() + "\n")
    return token


def read_token_file(path: Path) -> str:
    """The digest in a token file; ``ServerSettings`` checks it."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE).decode("ascii", "replace").strip()
    except OSError as error:
        raise InputError(
            f"can't read {path} ({error.strerror}); make it with 'memnet serve --new-token FILE'"
        ) from error
