"""Folders that are followed: what changes in them is stored soon after."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from memnet import Engine, WatchReport, watch
from memnet.errors import InputError, Problem
from memnet.ingest import watching
from tests.toy import toy_memory, toy_store
from tests.waiting import PATIENCE, until


class Follower:
    """Follows folders on a thread of its own."""

    def __init__(self, engine: Engine, *folders: Path, **options: Any) -> None:
        self.engine = engine
        self.problems: list[Problem] = []
        self._reports: Queue[WatchReport | Exception] = Queue()
        self._stop = threading.Event()
        self._updates = watch(
            engine, *folders, stop=self._stop, on_problem=self.problems.append, **options
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.first = self.next()  # of all that is there

    def _run(self) -> None:
        try:
            for report in self._updates:
                self._reports.put(report)
        except Exception as error:
            self._reports.put(error)

    def next(self, wait: float = PATIENCE) -> WatchReport:
        report = self._reports.get(timeout=wait)
        if isinstance(report, Exception):
            raise report
        return report

    def texts(self) -> set[str]:
        return {
            slot.text for slot in self.engine.store.fetch(range(1, 500)) if slot.kind != "reverse"
        }

    def close(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


Follow = Callable[..., Follower]


@pytest.fixture
def follow(toy_engine: Engine) -> Iterator[Follow]:
    followers: list[Follower] = []

    def start(*folders: Path, **options: Any) -> Follower:
        followers.append(Follower(toy_engine, *folders, **options))
        return followers[-1]

    yield start
    for follower in followers:
        follower.close()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("First.")
    return folder


def test_files_that_come_change_and_go_are_followed(follow: Follow, notes: Path) -> None:
    follower = follow(notes)
    assert (follower.first.added, follower.first.paths) == (1, ())
    (notes / "b.txt").write_text("Second.")
    report = follower.next()
    assert (report.added, report.paths, report.slots) == (1, (str(notes / "b.txt"),), 2)
    (notes / "a.txt").write_text("Changed.")
    assert follower.next().updated == 1
    (notes / "b.txt").unlink()
    assert follower.next().removed == 1
    assert follower.texts() == {"Changed."}


def test_whole_folders_come_move_and_go(follow: Follow, notes: Path, tmp_path: Path) -> None:
    follower = follow(notes)
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "deep" / "c.txt").write_text("Third.")
    (tmp_path / "other" / "d.txt").write_text("Fourth.")
    (tmp_path / "other").rename(notes / "in")
    until(lambda: follower.texts() == {"First.", "Third.", "Fourth."})
    (notes / "in").rename(notes / "moved")
    until(lambda: str(notes / "moved" / "deep" / "c.txt") in follower.engine)
    until(lambda: str(notes / "in" / "deep" / "c.txt") not in follower.engine)
    (notes / "moved" / "deep" / "e.txt").write_text("Fifth.")
    until(lambda: "Fifth." in follower.texts())
    (notes / "moved").rename(tmp_path / "away")
    until(lambda: follower.texts() == {"First."})


def test_an_editor_that_writes_by_renaming_leaves_nothing_behind(
    follow: Follow, notes: Path
) -> None:
    follower = follow(notes)
    for number in range(3):
        (notes / "a.txt~").write_text("Backup.")
        (notes / "4913").write_text("")
        (notes / "4913").unlink()
        (notes / ".a.txt.swp").write_text("Swap.")
        (notes / "a.txt.tmp").write_text(f"Version {number}.")
        (notes / "a.txt.tmp").replace(notes / "a.txt")
        (notes / "a.txt~").unlink()
        wanted = {f"Version {number}."}
        until(lambda wanted=wanted: follower.texts() == wanted)  # type: ignore[misc]
    assert follower.engine.info().sources == 1
    assert not follower.problems


def test_what_is_left_out_is_not_followed(follow: Follow, notes: Path) -> None:
    (notes / "memory").mkdir()
    other = toy_store(notes / "memory")
    follower = follow(notes, exclude=["drafts/", "*.bak"])
    for name in (".hidden/x.txt", "drafts/x.txt", "x.bak", "memory/x.txt", "~$x.txt"):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / name).write_text("Never.")
    (notes / "seen.txt").write_text("Seen.")
    assert follower.next().paths == (str(notes / "seen.txt"),)
    (notes / "seen.txt").rename(notes / "seen.bak")
    assert follower.next().removed == 1
    assert follower.texts() == {"First."}
    other.close()


def test_a_memory_in_its_own_folder_does_not_follow_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("First.")
    runs: list[object] = []

    class Counted(Engine):
        def ingest(self, *inputs: Any, **options: Any) -> Any:
            runs.append(inputs)
            return super().ingest(*inputs, **options)

    with toy_memory(tmp_path / "store", kind=Counted) as engine:
        follower = Follower(engine, tmp_path)
        (tmp_path / "b.txt").write_text("Second.")
        follower.next()
        time.sleep(1)
        follower.close()
        assert len(runs) == 2


def test_a_bad_file_ends_nothing(follow: Follow, notes: Path) -> None:
    follower = follow(notes)
    (notes / "bad.tsv").write_text("one\ttwo")
    report = follower.next()
    assert (report.skipped, report.skipped_by_reason) == (1, {"errors": 1})
    assert [problem.where for problem in follower.problems] == [f"{notes / 'bad.tsv'}, line 1"]
    (notes / "away.txt").symlink_to(notes.parent / "nowhere")
    assert follower.next().skipped == 1
    (notes / "bad.tsv").write_text("one\ttwo\tthree")
    assert follower.next().added == 1


def test_a_file_that_is_touched_is_no_news(follow: Follow, notes: Path) -> None:
    follower = follow(notes)
    os.utime(notes / "a.txt")
    with pytest.raises(Empty):
        follower.next(wait=1)


def test_another_writer_is_waited_for(tmp_path: Path, notes: Path) -> None:
    with toy_memory(tmp_path / "store", lock_seconds=0.01) as engine:
        follower = Follower(engine, notes)
        with engine.store.writing():
            (notes / "b.txt").write_text("Second.")
            with pytest.raises(Empty):
                follower.next(wait=0.7)
        assert follower.next().paths == (str(notes / "b.txt"),)
        assert not follower.problems
        follower.close()


def test_very_many_changes_are_found_by_comparing(
    follow: Follow, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_MOST_CHANGES", 5)
    follower = follow(notes)
    for number in range(20):
        (notes / f"{number}.txt").write_text(f"Text {number}.")
    (notes / "a.txt").unlink()
    until(lambda: follower.texts() == {f"Text {number}." for number in range(20)})


@pytest.mark.parametrize("why", ["the system's limit", "another machine"])
def test_without_word_from_the_system_the_folder_is_polled(
    follow: Follow, notes: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    import watchfiles

    asked: list[object] = []
    real = watchfiles.watch

    def limited(*paths: Path, **options: Any) -> Any:
        asked.append(options["force_polling"])
        if not options["force_polling"]:
            raise OSError("OS file watch limit reached")
        return real(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", limited)
    if why == "another machine":
        monkeypatch.setattr(watching, "_is_remote", lambda _: True)
    follower = follow(notes)
    (notes / "b.txt").write_text("Second.")
    assert follower.next().added == 1
    assert asked == ([True] if why == "another machine" else [None, True])


@pytest.mark.parametrize(
    ("mounts", "remote"),
    [
        ("/dev/sda / ext4 rw 0 0\nserver:/x {} nfs4 rw 0 0\n", True),
        ("/dev/sda / ext4 rw 0 0\nserver:/x {}/deeper nfs4 rw 0 0\n", False),
        ("server:/ / nfs4 rw 0 0\n/dev/sda {} ext4 rw 0 0\n", False),
        ("you@host:/x {} fuse.sshfs rw 0 0\n", True),
        ("", False),
    ],
)
def test_folders_of_other_machines_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str, remote: bool
) -> None:
    folder = tmp_path / "with a space"
    text = mounts.replace("{}", str(folder).replace(" ", r"\040"))
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_options: text)
    assert watching._is_remote(folder) is remote


def test_a_folder_that_was_given_by_a_link_keeps_its_name(
    follow: Follow, notes: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(notes)
    follower = follow(link)
    (notes / "b.txt").write_text("Second.")
    assert follower.next().paths == (str(link / "b.txt"),)
    assert str(link / "b.txt") in follower.engine


def test_a_folder_that_is_gone_ends_it_and_forgets_nothing(follow: Follow, notes: Path) -> None:
    follower = follow(notes)
    notes.rename(notes.parent / "elsewhere")
    with pytest.raises(InputError, match="notes: the folder is gone; what is stored of it stays"):
        follower.next()
    assert follower.texts() == {"First."}


def test_only_folders_are_watched(toy_engine: Engine, notes: Path) -> None:
    with pytest.raises(InputError, match=r"a\.txt: not a folder; only folders can be watched"):
        watch(toy_engine, notes / "a.txt")
    with pytest.raises(InputError, match="no folder to watch"):
        watch(toy_engine)
    with pytest.raises(InputError, match="can't be used"):
        watch(toy_engine, notes, exclude=["!"])


def test_nobody_is_kept_from_writing_meanwhile(
    follow: Follow, notes: Path, toy_engine: Engine
) -> None:
    follow(notes)
    with toy_engine.store.writing(wait=0):
        pass
    toy_engine.tell("Ann lives in Rome.")
    assert toy_engine.ask("Where does Ann live?").evidence
