"""Loaders of other packages: found by entry points, run in the process with limits."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from memnet.errors import InputError, Problem
from memnet.loaders import formats
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import find_format, format_by_name
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits
from tests.unit.loaders.parsed import kinds, only

LIMITS = LoadLimits(1 << 20, 100_000, 1000, 2 << 30, 20.0)
CODE = """
import os

def page(data, name):
    return f"<h1>Page of {name}</h1><p>{data.decode()} in {os.getpid()}</p><ul><li>one</li></ul>"

def pieces(data, name):
    yield "heading", "Ferries", "", 1
    yield "paragraph", data.decode(), "p. 8"
    yield "header", "Trip\\tPrice"
    yield "row", "day\\t$4", "p. 9"

def wrong(data, name):
    yield "title", "no such kind"

def odd(data, name):
    yield 7

def fails(data, name):
    raise ValueError("is of version 3\\nof the format")

def crashes(data, name):
    os._exit(3)
"""
ENTRIES = """[memnet.loaders]
ferry = ferry_loader:page
boat = ferry_loader:pieces
wrong = ferry_loader:wrong
odd = ferry_loader:odd
fails = ferry_loader:fails
crashes = ferry_loader:crashes
gone = ferry_loader_gone:load
pdf = ferry_loader:page
"""


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with loaders."""
    folder = tmp_path / "site"
    about = folder / "ferry_loader-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "ferry_loader.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ferry-loader\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    invalidate_caches()
    formats.other_loaders.cache_clear()
    yield
    formats.other_loaders.cache_clear()


def load(tmp_path: Path, suffix: str) -> list[ParsedDocument | Problem]:
    path = tmp_path / f"some-file.{suffix}"
    path.write_text("The Swan sails")
    found = find_format(path.name)
    assert found is not None
    with LoaderProcess(LIMITS) as process:
        return list(process.load(FileToLoad(str(path), path.name, found.name)))


def test_html_becomes_blocks_in_another_process(tmp_path: Path) -> None:
    document = only(load(tmp_path, "ferry"))
    assert document.title == "Page of some-file.ferry"
    assert [block.kind for block in document.blocks] == ["heading", "paragraph", "item"]
    assert "The Swan sails in " in document.text
    assert "ferry_loader" not in sys.modules


def test_blocks_keep_their_places(tmp_path: Path) -> None:
    document = only(load(tmp_path, "boat"))
    assert document.title == "Ferries"
    assert kinds(document) == [
        ("heading", "Ferries"), ("paragraph", "The Swan sails"), ("header", "Trip | Price"),
        ("row", "day | $4"),
    ]  # fmt: skip
    assert [block.place for block in document.blocks] == ["", "p. 8", "", "p. 9"]
    assert [cell.header for cell in document.blocks[3].cells] == ["Trip", "Price"]


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        ("wrong", "kind 'title'; expected one of heading"),
        ("odd", "gives 'int'; expected tuples"),
        ("fails", "ValueError: is of version 3)"),
        ("crashes", "status 3"),
        ("gone", "can't be imported"),
    ],
)
def test_what_a_loader_does_wrong_is_one_line(suffix: str, message: str, tmp_path: Path) -> None:
    (problem,) = load(tmp_path, suffix)
    assert isinstance(problem, Problem)
    assert message in problem.what
    assert "\n" not in problem.what


def test_formats_of_memnet_come_first_and_names_can_be_given() -> None:
    known = find_format("a.pdf")
    assert known is not None
    assert known.module == "pdf"
    assert format_by_name("ferry").suffixes == (".ferry",)
    with pytest.raises(InputError, match="there is no format 'nothing'"):
        format_by_name("nothing")
