"""Reading a file with its loader."""

import pytest

from memnet.errors import Problem
from memnet.loaders.document import DocumentBuilder
from memnet.loaders.formats import Format, SourceFile
from memnet.loaders.reading import read_source


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
