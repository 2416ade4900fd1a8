"""Token files: a server keeps the digest of its token only."""

import hashlib
import os
import secrets
from pathlib import Path

from memnet.errors import InputError

_BYTES = 32
"""Of randomness in a token: none can be guessed, so that a fast digest is enough."""
_MAX_FILE = 1000
"""Bytes."""


def make_token(path: Path) -> str:
    """Make a token and write its SHA-256 as hex into a new file; returns the token.

    Raises:
        InputError: the file is there already, or can't be written.
    """
    token = secrets.token_urlsafe(_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(
            f"{path} is there already, and servers that use it know its token; remove it first, "
            "or name another file"
        ) from None
    except OSError as error:
        raise InputError(f"{path} can't be written ({error.strerror}); name another") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(hashlib.sha256(token.encode()).hexdigest() + "\n")
    return token


def read_token_file(path: Path) -> str:
    """The digest in a token file; ``ServerSettings`` checks it.

    Raises:
        InputError: the file can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE).decode("ascii", "replace").strip()
    except OSError as error:
        raise InputError(
            f"{path} can't be read ({error.strerror}); make it with 'memnet serve --new-token FILE'"
        ) from error
