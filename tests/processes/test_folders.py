"""What of a folder is read, and what is left out."""

import shutil
import subprocess
from pathlib import Path, PurePath

import pytest

from memnet import Engine
from memnet.errors import InputError, Problem
from memnet.ingest.selection import Exclusions, files_below
from memnet.loaders.formats import FORMATS, UNKNOWN, skip_reason

_GIT = shutil.which("git") or ""
_FILES = """
    a.txt b.md build/out.txt build/keep.md deep/build/out.txt deep/a.txt deep/er/a.txt deep/er/c.tmp
    docs/drafts/one.md docs/drafts/two.txt docs/one.md drafts.md foo[1].txt name.min.js
    notes/a.b.txt été.txt #lines.txt !odd.txt
""".split()
_PATTERNS = [
    ["*.txt"], ["build/"], ["/build"], ["deep/*.txt"], ["deep/**/a.txt"], ["**/drafts"], ["a.*"],
    ["*.txt", "!a.txt"], ["docs/", "!docs/one.md"], ["docs/*", "!docs/one.md"], ["foo[[]1].txt"],
    ["?.md"], ["**"], ["deep/**"], ["*.min.js", "", "# a remark", "  "], ["\\#lines.txt"],
    ["\\!odd.txt"], ["é*"], ["drafts"], ["*/er"], ["/*", "!/notes"], ["[a-c].*"], ["notes/a.?.txt"],
]  # fmt: skip


def _tree(folder: Path) -> Path:
    for name in _FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}.")
    return folder


def _read(folder: Path, *patterns: str) -> set[str]:
    found = list(files_below(folder, Exclusions(patterns)))
    assert not [item for item in found if isinstance(item, Problem)]
    return {path.relative_to(folder).as_posix() for path in found if isinstance(path, Path)}


@pytest.mark.skipif(not _GIT, reason="needs git")
@pytest.mark.parametrize("patterns", _PATTERNS, ids=repr)
def test_patterns_mean_what_they_do_to_git(tmp_path: Path, patterns: list[str]) -> None:
    folder = _tree(tmp_path)
    subprocess.run([_GIT, "init", "--quiet", str(folder)], check=True)
    (folder / ".gitignore").write_text("\n".join(patterns), encoding="utf-8")
    listed = subprocess.run(
        [_GIT, "-C", str(folder), "ls-files", "-z", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    kept = set(listed.strip("\0").split("\0")) - {".gitignore", ""}
    assert _read(folder, *patterns) == kept
    exclusions = Exclusions(patterns)
    assert {name for name in _FILES if not exclusions.cover(PurePath(name))} == kept


def test_what_is_excluded_is_removed(toy_engine: Engine, tmp_path: Path) -> None:
    folder = _tree(tmp_path / "in")
    assert toy_engine.ingest(folder, exclude=["*.md"], read_as="text").added == 13
    report = toy_engine.ingest(folder, exclude=["deep/", "*.md"], read_as="text")
    assert (report.removed, report.added) == (4, 0)
    assert str(folder / "deep" / "a.txt") not in toy_engine
    assert str(folder / "a.txt") in toy_engine
    report = toy_engine.ingest(folder, read_as="text")
    assert (report.removed, report.added) == (0, 9)


def test_a_pattern_that_means_nothing_is_an_error(toy_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a pattern to exclude can't be used: .*'!'"):
        toy_engine.ingest(_tree(tmp_path / "in"), exclude=["!"])
    with pytest.raises(InputError, match=r"exclude is the text '\*\.md', expected a list"):
        toy_engine.ingest(tmp_path / "in", exclude="*.md")
    assert len(toy_engine) == 0


def test_what_holds_no_text_is_counted_by_reason(
    without_ocr: None, toy_engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.png", "b.JPG", "c.woff2", "d.map", "e.map"):
        (folder / name).write_bytes(b"\x89PNG\0")
    (folder / "f.txt").touch()
    problems: list[Problem] = []
    with pytest.raises(InputError, match=r"all 6 inputs were skipped \(2 images, 2 of unknown"):
        toy_engine.ingest(folder, on_problem=problems.append)
    (folder / "g.tsv").write_text("one\ttwo")
    (folder / "h.txt").write_text("Text.")
    report = toy_engine.ingest(folder, on_problem=problems.append)
    assert (report.added, report.skipped) == (1, 7)
    assert report.skipped_by_reason == {
        "images": 2, UNKNOWN: 2, "fonts": 1, "empty": 1, "errors": 1,
    }  # fmt: skip
    assert [problem.where for problem in problems if not problem.reason] == [
        f"{folder / 'g.tsv'}, line 1"
    ]


def test_a_file_that_is_named_by_itself_is_missed(toy_engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "b.txt").write_text("Text.")
    problems: list[Problem] = []
    toy_engine.ingest(tmp_path / "a.png", tmp_path / "b.txt", on_problem=problems.append)
    assert [problem.reason for problem in problems] == [""]


def test_no_suffix_is_both_read_and_without_text() -> None:
    for known in FORMATS:
        if known.name == "picture":  # is read where the extra ocr is installed
            continue
        for suffix in known.suffixes:
            assert skip_reason(suffix) == UNKNOWN, suffix


def test_facts_are_made_of_tables(toy_engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "fares.csv").write_text("Route,Car\nKestle to Orre,14.50\nOrre to Fenna,9.00\n")
    (folder / "facts.tsv").write_text("Orre\tlies in\tSaltmere\n")
    (folder / "more.txt").write_text("Fenna|lies in|Saltmere\n")
    report = toy_engine.ingest(folder, facts=True)
    assert (report.added, report.skipped) == (3, 0)

    def facts() -> set[tuple[str, str, str | None]]:
        slots = toy_engine.store.fetch(range(1, 100))
        return {(slot.title, slot.relation, slot.value) for slot in slots if slot.kind == "fact"}

    lines = {("Orre", "lies in", "Saltmere"), ("Fenna", "lies in", "Saltmere")}
    cells = {("Kestle to Orre", "car", "14.50"), ("Orre to Fenna", "car", "9.00")}
    assert facts() == lines | cells
    # Another key makes other facts of the same file.
    assert toy_engine.ingest(folder / "fares.csv", facts=True, key="car").updated == 1
    assert facts() == lines | {(value, "route", title) for title, _, value in cells}
    with pytest.raises(InputError, match=r"has no column 'Ship', expected one of 'Route', 'Car'"):
        toy_engine.ingest(folder / "fares.csv", facts=True, key="Ship")
    with pytest.raises(InputError, match="a key column is for facts of tables"):
        toy_engine.ingest(folder, key="Car")
    # Read without facts it is a document again.
    assert toy_engine.ingest(folder / "fares.csv").updated == 1
    assert facts() == lines


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Orre\tlies in\tSaltmere\nFenna\tlies in\tSaltmere\n", "fact tables"),
        ("Orre\tlies in\tSaltmere\nFenna\tlies in\n", "fact tables"),
        ("Route\tCar\nKestle to Orre\t14.50\n", "tables"),
        ("Route\tCar\tBicycle\tDog\nKestle to Orre\t14.50\t1\tfree\n", "tables"),
    ],
)
def test_a_table_of_tabs_holds_facts_or_data(
    toy_engine: Engine, tmp_path: Path, content: str, kind: str
) -> None:
    (tmp_path / "a.tsv").write_text(content)
    report = toy_engine.ingest(tmp_path / "a.tsv", on_problem=lambda _: None)
    assert report.kinds == {kind: 1}
