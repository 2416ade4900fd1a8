"""Where a store is: in a folder, or on PostgreSQL."""

import os
import re
from pathlib import Path
from typing import TypeAlias

from memnet.errors import InputError
from memnet.storage.postgres.address import Address, is_address

DATABASE = "memory.sqlite3"  # the file that every store in a folder has
# A folder, or the address of a store on PostgreSQL, which is a text: a path has no "//".
StorePlace: TypeAlias = Path | str
_ADDRESS_AS_PATH = re.compile(r"postgres(ql)?:[/\\]", re.IGNORECASE)
# Of two characters or more: one is a drive of Windows.
_OTHER_SCHEME = re.compile(r"\A[a-z][a-z0-9+.-]{1,30}://", re.IGNORECASE)


def store_place(given: str | os.PathLike[str]) -> StorePlace:
    """The place that a path or a text names; nothing need be there.

    Raises:
        InputError: an address can't be used, or was made a path.
    """
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
        return str(Address.parse(place))
    except InputError:
        return "an address of PostgreSQL that can't be used"


def files_folder(place: StorePlace) -> Path:
    """The folder of the files of a store, or of those beside its database, which may not exist."""
    return Address.parse(place).cache_folder() if is_address(place) else Path(place)
