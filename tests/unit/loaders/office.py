"""Packages of Office and OpenDocument made of their parts, and what a loader reads in them."""

import io
import zipfile
from collections.abc import Callable, Mapping
from types import ModuleType

import pytest

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from tests.unit.loaders.parsed import check

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:r="{OFFICE}" xmlns:m="urn:m" xmlns:mc="urn:mc" xmlns:wps="urn:wps" xmlns:v="urn:v" '
    'xmlns:dc="urn:dc" xmlns:c="urn:c" xmlns:dgm="urn:dgm" '
)


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip file of parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def edited(data: bytes, edit: Callable[[str], str], part: str = "") -> bytes:
    """A package of which one part is changed, or all."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    parts = {name: archive.read(name) for name in archive.namelist()}
    for name in [part] if part else parts:
        parts[name] = edit(parts[name].decode("latin-1")).encode("latin-1")
    return package(parts)


def relations(*entries: tuple[str, str, str]) -> str:
    """A part of relations: id, kind and target; a target with ":" is external."""
    mode = {"hyperlink": 'TargetMode="External"'}
    rows = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{to}" {mode.get(kind, "")}/>'
        for name, kind, to in entries
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{rows}</Relationships>'


def read(module: ModuleType, data: bytes, name: str = "my_file.docx") -> ParsedDocument:
    """The one document of a file, after checks that hold for each."""
    items = module.load(SourceFile(name, data))
    (document,) = [item for item in items if isinstance(item, ParsedDocument)]
    check(document, name)
    return document


def shown(document: ParsedDocument) -> list[str]:
    """Each block with its kind, and its level if it has one."""
    return [
        f"{block.kind}{block.level or ''}: {document.text[block.start : block.end]}"
        for block in document.blocks
    ]


def survives_damage(module: ModuleType, data: bytes) -> None:
    try:
        items = list(module.load(SourceFile("a", data)))
    except InputError:
        return
    assert any(isinstance(item, ParsedDocument) for item in items)


def refused(module: ModuleType, data: bytes, message: str) -> None:
    """Check that a file is refused with a message."""
    with pytest.raises(InputError, match=message):
        list(module.load(SourceFile("a", data)))
