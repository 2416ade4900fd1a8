"""Archives: zip, tar and gzip files are read as folders, each file in them by its own loader.

Nothing is unpacked to the disk. A zip file that is a document, such as .docx, is read as one.
"""

import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from gzip import GzipFile
from io import BytesIO
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import BinaryIO, cast

from memnet.errors import EMPTY, InputError, Problem, first_line
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import (
    HEAD,
    SourceFile,
    find_format,
    format_by_name,
    recognise,
    skip_reason,
)
from memnet.loaders.package import BROKEN, ENCRYPTED
from memnet.loaders.reading import read_source

# Files of an archive: those of the largest folders. Each costs memory besides its content.
_MAX_MEMBERS = 100_000
_MAX_DEPTH = 2  # of archives in archives: an export with an archive for each year
# What the libraries raise of damaged archives and unknown compressions.
_BROKEN = (*BROKEN, tarfile.TarError, LookupError, AssertionError)
_LEFT_OUT = frozenset({"__MACOSX"})  # folders of an archiver's own, besides the hidden ones
_UTF_8 = 0x800  # flag of a member of a zip file
# Formats of Office files by the folder that holds the document.
_OOXML = {"word/": "docx", "ppt/": "pptx", "xl/": "sheets"}
_OPENDOCUMENT = "application/vnd.oasis.opendocument."
# Formats by what their files say that they are.
_MIMETYPES = {
    "application/epub+zip": "epub",
    f"{_OPENDOCUMENT}spreadsheet": "sheets",
    _OPENDOCUMENT: "opendocument",
}
_SIBLINGS = 16  # files that are kept at hand for others, such as the names of an export's users


@dataclass(frozen=True)
class _Member:
    """A file in an archive."""

    name: str  # path within the archive, with slashes
    open: Callable[[], BinaryIO]
    is_encrypted: bool = False


class _Budget:
    """Bytes that may still be unpacked."""

    def __init__(self, left: int) -> None:
        self._limit = self._left = left

    def content(self, member: _Member, most: int | None = None) -> bytes:
        """The content of a member, or no more than its first bytes."""
        limit = self._left + 1
        try:
            with member.open() as stream:
                data = stream.read(limit if most is None else min(most, limit))
        except _BROKEN as error:
            raise InputError(f"can't be unpacked ({first_line(error)}); pack it again") from error
        self._left -= len(data)
        if self._left < 0:
            raise _TooMuchError(
                f"unpacks to more than {self._limit:,} bytes, the limit; unpack it, and leave out "
                "what is not to be read"
            )
        return data


class _TooMuchError(InputError):
    """Nothing more of the archive may be read."""


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The documents of all files in an archive."""
    yield from _load(file, _Budget(file.max_unpacked), 1)


def _load(file: SourceFile, budget: _Budget, depth: int) -> Iterator[ParsedDocument | Problem]:
    content = recognise(file.data[:HEAD])
    kind = content.name if content else ""
    data = file.data
    if kind == "gzip":
        unpacked = cast(BinaryIO, GzipFile(fileobj=BytesIO(data)))
        data = budget.content(_Member("", lambda: unpacked))
        content = recognise(data[:HEAD])
        if content is None or content.name != "tar":
            name = PurePosixPath(file.name.replace("\\", "/")).name
            inner = name[: -len(".gz")] if name.lower().endswith(".gz") else name
            yield from _documents([_Member(inner, lambda: BytesIO(data))], file, budget, depth)
            return
        kind = "tar"
    if kind == "zip":
        with _complete("zip"):
            archive = zipfile.ZipFile(BytesIO(data))
        package = _package_format(archive)
        if package:
            yield from format_by_name(package).loader()(file)
            return
        members = _zip_members(archive)
    elif kind == "tar":
        members = _tar_members(data)
    else:
        raise InputError(
            "is not a zip, tar or gzip file; expected an archive: give it the suffix of what it is"
        )
    if len(members) > _MAX_MEMBERS:
        raise InputError(
            f"holds {len(members):,} files, the limit is {_MAX_MEMBERS:,}; unpack it, and name its "
            "folder"
        )
    yield from _documents(members, file, budget, depth)


def _documents(
    members: list[_Member], file: SourceFile, budget: _Budget, depth: int
) -> Iterator[ParsedDocument | Problem]:
    """The documents of the members of an archive, in the order of their names."""
    by_name = {member.name: member for member in members}  # the last of a name, as unpackers do
    read = _sibling_reader(by_name, budget)
    locked = 0
    for name, member in sorted(by_name.items()):
        where = f"{file.name}/{name}"
        parts = name.split("/")
        if any((part.startswith(".") and part != "..") or part in _LEFT_OUT for part in parts):
            continue
        if member.is_encrypted:
            locked += 1
            continue
        try:
            if name.startswith(("/", "../")) or name[1:2] == ":":
                raise InputError("has a path that leads out of the archive; it is not read")
            yield from _member_documents(member, where, file, read, budget, depth)
        except _TooMuchError as error:
            yield Problem(file.name, str(error))
            return
        except InputError as error:
            yield Problem(where, str(error), error.reason)
    if locked:
        yield Problem(
            file.name,
            f"holds {locked:,} of {len(by_name):,} files under a password; unpack it with that",
        )


def _member_documents(
    member: _Member,
    where: str,
    archive: SourceFile,
    read: Callable[[str], bytes | None],
    budget: _Budget,
    depth: int,
) -> Iterator[ParsedDocument | Problem]:
    suffix = PurePosixPath(member.name).suffix
    head = budget.content(member, HEAD)
    if not head:
        raise InputError("is empty; there is nothing to remember in it", EMPTY)
    found = find_format(member.name, head)
    if found is None:
        raise InputError(f"is of the unknown kind {suffix!r}", skip_reason(suffix))
    data = head if len(head) < HEAD else budget.content(member)

    def sibling(path: str) -> bytes | None:
        return read(normpath(join(PurePosixPath(member.name).parent, path)))

    inner = replace(archive, name=where, data=data, sibling=sibling)
    if found.name != "archive":
        if archive.begin(where):
            yield from read_source(found, inner)
    elif depth < _MAX_DEPTH:
        yield from _load(inner, budget, depth + 1)
    else:
        raise InputError("is an archive in an archive in an archive; unpack the outermost")


def _sibling_reader(members: dict[str, _Member], budget: _Budget) -> Callable[[str], bytes | None]:
    @lru_cache(_SIBLINGS)
    def read(name: str) -> bytes | None:
        member = members.get(name)
        try:
            return None if member is None or member.is_encrypted else budget.content(member)
        except _TooMuchError:
            raise
        except InputError:
            return None

    return read


@contextmanager
def _complete(kind: str) -> Iterator[None]:
    """Refuse what the libraries can't read."""
    try:
        yield
    except _BROKEN as error:
        raise InputError(
            f"is not a complete {kind} file ({first_line(error)}); fetch or pack it again"
        ) from error


def _package_format(archive: zipfile.ZipFile) -> str | None:
    """The format of a zip file that is a document."""
    names = set(archive.namelist())
    if "[Content_Types].xml" in names:
        for folder, found in _OOXML.items():
            if any(name.startswith(folder) for name in names):
                return found
    kind = ""
    if "mimetype" in names:
        with suppress(*_BROKEN), archive.open("mimetype") as stream:
            kind = stream.read(100).decode("ascii", "replace").strip()
    return next((found for start, found in _MIMETYPES.items() if kind.startswith(start)), None)


def _zip_members(archive: zipfile.ZipFile) -> list[_Member]:
    members: list[_Member] = []
    for info in archive.infolist():
        # ``info.is_dir`` fails on an empty name.
        if not info.filename.endswith("/") and not stat.S_ISLNK(info.external_attr >> 16):
            opened = cast(Callable[[], BinaryIO], partial(archive.open, info))
            encrypted = bool(info.flag_bits & ENCRYPTED)
            name = info.filename
            if not info.flag_bits & _UTF_8:  # macOS writes UTF-8 without the flag
                with suppress(UnicodeError):
                    name = name.encode("cp437").decode()
            members.append(_Member(_clean(name), opened, encrypted))
    return members


def _tar_members(data: bytes) -> list[_Member]:
    members: list[_Member] = []
    with _complete("tar"):
        archive = tarfile.TarFile(fileobj=BytesIO(data))
        for info in archive:
            if info.isfile():
                opened = cast(Callable[[], BinaryIO], partial(archive.extractfile, info))
                members.append(_Member(_clean(info.name), opened))
            if len(members) > _MAX_MEMBERS:
                break
    return members


def _clean(name: str) -> str:
    """A path with slashes, without "." and with ".." only at its start."""
    return normpath(name.replace("\\", "/").replace("\0", ""))
