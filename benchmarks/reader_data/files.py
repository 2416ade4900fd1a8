"""Files of JSON lines, plain and compressed, and a pack of them."""

import gzip
import io
import json
import random
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Example = dict[str, Any]
MAX_PACK = 60_000_000
"""Bytes: what a pack may have to be carried to another machine."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, compressed if its name ends in ``.gz``."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def drawn_of(examples: Sequence[Example], number: int, chance: random.Random) -> list[Example]:
    """So many of some examples by chance, or all where they are fewer."""
    return chance.sample(examples, min(number, len(examples)))


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in objects)


def write_pack(path: Path, files: Sequence[Path]) -> None:
    """Write files, each compressed by itself, into a tar file; the same files give the same bytes.

    Raises:
        SystemExit: it is larger than ``MAX_PACK``.
    """
    with tarfile.open(path, "w") as pack:
        for file in files:
            data = gzip.compress(file.read_bytes(), 9, mtime=0)
            entry = tarfile.TarInfo(f"{file.name}.gz")
            entry.size = len(data)
            pack.addfile(entry, io.BytesIO(data))
    size = path.stat().st_size
    if size > MAX_PACK:
        raise SystemExit(f"{path} has {size:,} bytes, more than {MAX_PACK:,}; lower some shares")
