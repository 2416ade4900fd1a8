"""Reading a file's bytes: limits, and files that change meanwhile."""

import os
from pathlib import Path

import pytest

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder
from memnet.loaders.formats import Format, SourceFile
from memnet.loaders.reading import read_file, read_source


def test_a_file_that_changes_once_is_read_as_it_is_afterwards(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    real = os.fstat
    states: list[os.stat_result] = []

    def fstat(descriptor: int) -> os.stat_result:
        states.append(real(descriptor))
        if len(states) == 2:  # after its size was looked at
            with path.open("a") as other:
                other.write(" two")
        return states[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", fstat)
        assert read_file(path, 100) == b"one two"
    assert len(states) > 3  # it was read twice


def test_a_file_that_does_not_stop_changing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("one")
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        with path.open("a") as other:
            other.write("x")
        return real(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", fstat)
        with pytest.raises(InputError, match="changes while it is read"):
            read_file(path, 1000)


def test_the_limit_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no space
    with pytest.raises(InputError, match="holds 1,099,511,627,776 bytes, the limit is 1,000"):
        read_file(path, 1000)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="has no such files")
def test_files_without_a_size_are_read() -> None:
    assert read_file("/proc/version", 1000)
    with pytest.raises(InputError, match="changes while it is read"):
        read_file("/proc/version", 3)


def test_a_document_over_the_limit_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(file: SourceFile):  # type: ignore[no-untyped-def]
        for name, text in (("a#1", "x" * 10), ("a#2", "x" * 11)):
            builder = DocumentBuilder()
            builder.add("paragraph", text)
            yield builder.build(name, "")

    monkeypatch.setattr(Format, "loader", lambda _self: load)
    known = Format("some", "some files", (), "some")
    first, problem = read_source(known, SourceFile("a", b"x", max_characters=10))
    assert not isinstance(first, Problem)
    assert isinstance(problem, Problem)
    assert str(problem) == "a#2: holds 11 characters, the limit is 10; split it"
