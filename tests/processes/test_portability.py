"""What other systems lack, simulated: macOS has no core affinity, Windows no maps to replace."""

import ast
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memnet import Config, Document, Engine
from memnet.io import open_file, read_text
from memnet.storage.vectors import file as index_file
from memnet.text import dates
from tests import killed
from tests.toy import passage, source

_ROOT = Path(__file__).parents[2]
_POSIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}
_POSIX_NAMES = {
    "os": {
        "sched_getaffinity", "O_NONBLOCK", "O_CLOEXEC", "fork", "register_at_fork", "waitpid",
        "geteuid", "getuid", "getgid", "fchmod", "fchown", "chown", "umask", "kill", "killpg",
        "setsid", "mkfifo", "uname", "statvfs", "pread", "pwrite", "posix_fadvise", "nice",
    },
    "signal": {"SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGXFSZ", "alarm", "setitimer"},
    "time": {"tzset", "clock_gettime"},
}  # fmt: skip
_WITH_A_REASON = {("config.py", "sched_getaffinity"), ("process.py", "resource")}
"""Uses that stand behind a question whether the system has it, with the reason beside them."""
_TEXT_FILES = {"read_text", "write_text"}


def _sources() -> Iterator[tuple[Path, ast.AST]]:
    for folder in ("memnet", "storage", "cli"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def _posix_only(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.attr in _POSIX_NAMES.get(node.value.id, ()) else None
    if isinstance(node, ast.Import):
        return next((name.name for name in node.names if name.name in _POSIX_MODULES), None)
    if isinstance(node, ast.ImportFrom):
        return node.module if node.module in _POSIX_MODULES else None
    return None


def test_nothing_is_used_that_only_posix_systems_have() -> None:
    found = {
        (path.name, name)
        for path, tree in _sources()
        for node in ast.walk(tree)
        if (name := _posix_only(node)) is not None
    }
    assert found == _WITH_A_REASON


def test_no_file_is_read_in_the_encoding_of_the_system() -> None:
    for path, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                method = isinstance(node.func, ast.Attribute)
                words = {word.arg for word in node.keywords}
                if method and name in _TEXT_FILES:
                    assert "encoding" in words, f"{path}:{node.lineno}"
                mode = ast.unparse(node.args[1]) if len(node.args) > 1 else "'r'"
                if not method and name == "open":
                    assert "b" in mode or "encoding" in words, f"{path}:{node.lineno}"


def test_the_cores_are_counted_where_nobody_tells_which_may_be_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert Config().cores() == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert Config().cores() == 1
    assert Config(threads=5).cores() == 5
    with Engine.open(tmp_path / "store", create=True, reader="sentences") as engine:
        engine.ingest(Document(id="a", text="A ferry calls at Kestle."))
        assert engine.ask("Where does a ferry call?").evidence[0].source == "a"


def test_files_are_read_where_opening_never_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = (
        "import os, sys, pathlib\n"
        "for name in ('O_NONBLOCK', 'O_CLOEXEC', 'sched_getaffinity', 'register_at_fork', 'fork',\n"
        "             'geteuid', 'fchmod'):\n"
        "    if hasattr(os, name): delattr(os, name)\n"
        "from memnet.io import read_text\n"
        "print(read_text(pathlib.Path(sys.argv[1]), 100), end='')\n"
    )
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("one\ntwo\n", "")
    with open_file(path) as file:
        assert not os.get_inheritable(file.fileno())
    assert read_text(path, 100) == "one\ntwo\n"


def test_an_index_that_may_not_be_mapped_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def mapped(*_: object, **__: object) -> None:
        raise AssertionError("a file was mapped")

    monkeypatch.setattr(index_file, "_WINDOWS", True)
    monkeypatch.setattr(mmap, "mmap", mapped)
    model = killed.Model({"document 1": 1, "document 2": 2})
    with closing(killed.open_store(tmp_path / "store", unsaved_share=1e-6)) as store:
        killed.take(store, ("put", model.documents))
        abandoned = store.path / "vectors.faiss.1.part"
        abandoned.write_bytes(b"left by a process that is gone")
        killed.take(store, ("put", {"document 3": 1}))
        assert not abandoned.exists()
        model = model.after(("put", {"document 3": 1}))
        killed.check(store, [model])
    with closing(killed.open_store(tmp_path / "store", create=False)) as store:
        killed.check(store, [model])
        assert store.verify() == []


def test_files_of_a_folder_are_known_by_the_separator_of_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    origins = [r"C:\notes\a.txt", r"C:\notes\old\b.txt", r"C:\notes]c.txt", r"C:\notes.txt"]
    with closing(killed.open_store(tmp_path / "store")) as store:
        store.put([source(one, passage(one), origin=one) for one in origins], killed.encode)
        store.sources.start_run()
        with monkeypatch.context() as patch:
            patch.setattr(os, "sep", "\\")
            found = store.sources.not_seen(r"C:\notes")
            drive = store.sources.not_seen("C:\\")
        assert set(found) == set(origins[:2])
        assert set(drive) == set(origins)


def test_what_a_console_can_not_show_is_escaped(tmp_path: Path) -> None:
    text = "Ann moved to \N{CJK UNIFIED IDEOGRAPH-6771}."
    told = subprocess.run(
        [sys.executable, "-m", "memnet", "tell", text, "--store", str(tmp_path / "store")],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert b"\\u6771" in told.stdout


class _NarrowClock(datetime):
    """As on Windows, whose local time ends in the year 3000."""

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: Any = None) -> Any:
        if timestamp > 32_536_850_399:
            raise OSError(22, "Invalid argument")
        return super().fromtimestamp(timestamp, tz)

    def astimezone(self, tz: Any = None) -> Any:
        raise OSError(22, "Invalid argument")


def test_a_time_without_a_local_time_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{dates.local_time(1e11):%Y-%m-%d}" == "5138-11-16"
    monkeypatch.setattr(dates, "datetime", _NarrowClock)
    assert f"{dates.local_time(1e11):%Y-%m-%d %H:%M:%S}" == "5138-11-16 09:46:40"
