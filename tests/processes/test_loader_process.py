"""The child process of the loaders: what breaks it, and that nothing else breaks."""

import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memnet.errors import Problem
from memnet.loaders import formats, process
from memnet.loaders.document import ParsedDocument
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits
from tests.unit.loaders import breaking

LIMITS = LoadLimits(file=1 << 20, characters=10_000, title=100, memory=1 << 30, seconds=1)
Make = Callable[[str], FileToLoad]


@pytest.fixture
def loaders(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoaderProcess]:
    monkeypatch.setitem(formats._BY_NAME, breaking.FORMAT.name, breaking.FORMAT)
    monkeypatch.setattr(process, "_START", breaking.START)
    with LoaderProcess(LIMITS) as started:
        yield started


@pytest.fixture
def made(tmp_path: Path) -> Make:
    def make(content: str) -> FileToLoad:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.breaking"
        path.write_text(content)
        return FileToLoad(str(path), str(path), "breaking")

    return make


def _texts(loaders: LoaderProcess, file: FileToLoad) -> list[str]:
    loaded = loaders.load(file)
    return [item.what if isinstance(item, Problem) else item.text for item in loaded]


def _pid(loaders: LoaderProcess) -> int:
    assert loaders._child is not None
    return loaders._child._process.pid


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("raise x", "(KeyError: 'x'); it may be damaged"),
        ("refuse is locked", "is locked"),
        ("exit 3", "ends the process that reads it (status 3)"),
        ("signal SIGSEGV", "crashes its parser (Segmentation fault)"),
        ("signal SIGKILL", "for want of memory"),
        ("sleep 9", "takes more than 1 s to read"),
        ("spin 9", "takes more than 1 s to read"),
        ("allocate 5000000000", "takes more than 1,024 MB of memory"),
        ("recurse", "is nested too deep"),
        ("outside", "invalid data"),
        ("rename another", "invalid data"),
        ("large 1000\nsay " + "x" * 2000, "too many parts"),
    ],
)
def test_a_file_that_breaks_its_loader_is_one_problem_and_the_next_is_read(
    loaders: LoaderProcess, made: Make, content: str, what: str
) -> None:
    broken, sound = made(f"say before\n{content}"), made("say after")
    before, *problems = loaders.load(broken)
    assert isinstance(before, ParsedDocument)
    assert (before.text, before.origin) == ("before", broken.path)
    (problem,) = problems
    assert isinstance(problem, Problem)
    assert problem.where == broken.name
    assert what in problem.what
    if "large" not in content:  # which changes a limit of the running child
        assert _texts(loaders, sound) == ["after"]


def test_one_process_reads_all_files_that_do_not_break_it(
    loaders: LoaderProcess, made: Make
) -> None:
    pids = set()
    for content in ("say a", "raise b", "refuse c", "problem d", "recurse"):
        list(loaders.load(made(content)))
        pids.add(_pid(loaders))
    assert len(pids) == 1


def test_no_process_starts_for_files_that_are_read_without_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.\n\nTwo.")
    with LoaderProcess(LIMITS) as loaders:
        (document,) = loaders.load(FileToLoad(str(tmp_path / "a.txt"), "a.txt", "text"))
        assert loaders._child is None
    assert isinstance(document, ParsedDocument)
    assert (document.name, document.origin) == ("a.txt", str(tmp_path / "a.txt"))


def test_large_files_of_any_format_are_read_in_the_process(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    limits = replace(LIMITS, characters=1_000_000)
    with LoaderProcess(limits) as loaders:
        for times, child in ((10, False), (10_000, True)):
            path.write_text("Some text. " * times)
            (document,) = loaders.load(FileToLoad(str(path), "a.txt", "text"))
            assert isinstance(document, ParsedDocument)
            assert document.text.count("Some") == times
            assert (loaders._child is not None) == child


def test_what_a_parser_prints_is_neither_shown_nor_taken_for_an_answer(
    loaders: LoaderProcess,
    made: Make,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert _texts(loaders, made("print hello\nsay b")) == ["b"]
    loaders.close()
    assert capfd.readouterr() == ("", "")


def _archive(path: Path, contents: list[str]) -> FileToLoad:
    with zipfile.ZipFile(path, "w") as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"{number:02}.breaking", content)
    return FileToLoad(str(path), "a.zip", "archive")


def test_a_file_in_an_archive_that_breaks_its_loader_is_one_problem(
    loaders: LoaderProcess, made: Make, tmp_path: Path
) -> None:
    broken = ["say b\nsignal SIGSEGV", "raise x", "allocate 5000000000", "outside", "refuse c"]
    file = _archive(tmp_path / "a.zip", ["say a", *broken, "say d"])
    after = made("say after")
    loaded = list(loaders.load(file))
    problems = [item for item in loaded if isinstance(item, Problem)]
    assert [problem.where for problem in problems] == [f"a.zip/0{n}.breaking" for n in range(1, 6)]
    documents = [item for item in loaded if isinstance(item, ParsedDocument)]
    assert [document.text for document in documents] == ["a", "b", "d"]
    assert {document.origin for document in documents} == {file.path}
    assert _texts(loaders, after) == ["after"]


def test_an_archive_that_breaks_its_parsers_again_and_again_is_given_up(
    loaders: LoaderProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "_MAX_CHILDREN", 3)
    file = _archive(tmp_path / "a.zip", ["say a"] + ["exit 1"] * 5)
    texts = _texts(loaders, file)
    assert texts[0] == "a"
    assert [text.split(";")[0] for text in texts[1:]] == [
        *["ends the process that reads it (status 1)"] * 3,
        "3 files in it break their parsers",
    ]


def test_a_file_that_is_not_read_to_its_end_leaves_nothing_behind(
    loaders: LoaderProcess, made: Make
) -> None:
    endless = "\n".join(["say " + "x" * 1000] * 1000)
    started = loaders.load(made(endless))
    assert isinstance(next(started), ParsedDocument)
    started.close()  # type: ignore[attr-defined]
    assert _texts(loaders, made("say after")) == ["after"]


def test_documents_come_one_by_one_and_the_limit_of_time_is_for_each(
    loaders: LoaderProcess, made: Make
) -> None:
    file = made("\n".join(["spin 0.2\nsay a"] * 10))  # twice the limit
    assert _texts(loaders, file) == ["a"] * 10


def test_neither_processes_nor_threads_nor_pipes_are_left(
    loaders: LoaderProcess, made: Make
) -> None:
    loaders.close()
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    for content in ("say a", "signal SIGSEGV", "outside"):
        list(loaders.load(made(content)))
        pid = _pid(loaders) if loaders._child else 0
        loaders.close()
        if pid:
            with pytest.raises(ProcessLookupError):  # a zombie could still be signalled
                os.kill(pid, 0)
    assert not [thread for thread in threading.enumerate() if thread.name == "loaders"]
    if descriptors.exists():
        assert len(list(descriptors.iterdir())) == before


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signal")
def test_the_child_ends_with_a_parent_that_is_killed(made: Make, tmp_path: Path) -> None:
    file = made("say a\n" + "\n".join(["say " + "x" * 1000] * 1000))
    program = f"""
from tests.unit.loaders import breaking
breaking.register()
from memnet.loaders import process
process._START = breaking.START
from tests.processes.test_loader_process import LIMITS
from memnet.loaders.reading import FileToLoad
loaders = process.LoaderProcess(LIMITS)
documents = loaders.load(FileToLoad({file.path!r}, "a", "breaking"))
next(documents)
print(loaders._child._process.pid, flush=True)
import time; time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert parent.stdout is not None
    with parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while _is_running(child):
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # Its new parent may not have taken note of its end yet.
        status = Path(f"/proc/{pid}/stat")
        return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
    except ProcessLookupError:
        return False


def test_a_path_that_is_not_unicode_is_read_and_its_name_is_made_so(
    loaders: LoaderProcess, tmp_path: Path
) -> None:
    path = os.fsdecode(os.fsencode(str(tmp_path)) + b"/caf\xe9.breaking")
    try:
        Path(path).write_text("say a")
    except OSError:
        pytest.skip("the file system takes Unicode alone")
    (document,) = loaders.load(FileToLoad(path, path, "breaking"))
    assert isinstance(document, ParsedDocument)
    assert document.name.endswith("caf\ufffd.breaking#0")
    assert document.origin == path


def test_unpaired_surrogates_become_marks_of_the_same_length(
    loaders: LoaderProcess, made: Make
) -> None:
    (document,) = loaders.load(made("surrogates"))
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.title) == ("a\ufffd\ufffdb", "\ufffd")
    assert document.names == ("\ufffd",)


def test_siblings_lie_beside_the_file_or_its_folder_and_nowhere_else(
    loaders: LoaderProcess, tmp_path: Path
) -> None:
    inner = tmp_path / "export" / "channel"
    inner.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "export" / "users").write_text("users")
    (inner / "near").write_text("near")
    (inner / "link").symlink_to(tmp_path / "secret")
    found = []
    outside = ["../../secret", str(tmp_path / "secret"), "link", "x", "a\0"]
    for wanted in ["near", "../users", *outside]:
        path = inner / "file.breaking"
        path.write_text(f"sibling {wanted}")
        found += _texts(loaders, FileToLoad(str(path), "f", "breaking"))
    assert found == ["near", "users", *["none"] * len(outside)]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda path: None, "can't be read (No such file or directory)"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: os.mkfifo(path), "is a pipe"),
        (lambda path: path.symlink_to(path), "can't be read (Too many levels of symbolic links)"),
        (
            lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 30),
            "1,073,741,824",
        ),
    ],
)
def test_what_is_no_file_to_read_is_a_problem(
    loaders: LoaderProcess, tmp_path: Path, make: Callable[[Path], Any], what: str
) -> None:
    path = tmp_path / "file.breaking"
    make(path)
    (problem,) = loaders.load(FileToLoad(str(path), "f", "breaking"))
    assert isinstance(problem, Problem)
    assert what in problem.what


def test_a_process_that_does_not_start_is_a_problem_of_each_file(
    loaders: LoaderProcess,
    made: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "does not start" in _texts(loaders, made("say a"))[0]
    assert "does not start" in _texts(loaders, made("say b"))[0]
