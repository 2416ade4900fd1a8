"""Stores in folders that may be read and not written, some as a killed process left them."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from memnet.errors import StoreError
from tests import killed
from tests.waiting import ended, hear

_NOBODY = 65534
_MODEL = killed.Model({"document 1": 1, "document 2": 3})


def _write_and_die(path: Path) -> None:
    store = killed.open_store(path)
    killed.take(store, ("put", {"document 1": 2, "document 2": 3, "document 3": 1}))
    killed.take(store, ("delete", ["document 3"]))
    killed.take(store, ("put", {"document 1": 1}))
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def crashed() -> Iterator[Path]:
    """A store with all its commits in the log that a killed process left beside the database.

    Not in a folder of pytest's: each of its runs closes their root to others again.
    """
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        store = Path(folder) / "store"
        process = killed.START.Process(target=_write_and_die, args=(store,))
        process.start()
        ended(process)
        assert (store / "memory.sqlite3-wal").stat().st_size > 100_000
        yield store
        store.chmod(0o700)


def _read(path: Path, said: Connection) -> None:
    """Read as someone who may not write; root may always, so become nobody."""
    if os.geteuid() == 0:
        # What is loaded at the first use may be in a folder that only root may enter.
        copy = shutil.copytree(path, path.with_name("read by root"), dirs_exist_ok=True)
        with closing(killed.open_store(copy, create=False)) as store:
            killed.check(store, [_MODEL])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    try:
        with closing(killed.open_store(path, create=False)) as store:
            killed.check(store, [_MODEL])
            with pytest.raises(StoreError, match="is read-only; make its folder writable first"):
                killed.take(store, ("delete", ["document 1"]))
        said.send("read")
    except BaseException as error:
        said.send(f"{type(error).__name__}: {error}")


def read_only(path: Path) -> Any:
    """What reading says of a store when its folder and files can't be written."""
    for file in path.iterdir():
        file.chmod(0o444)
    path.chmod(0o555)
    process, ours = killed.started(_read, path)
    said = hear(ours)
    ended(process)
    return said


def test_the_log_that_a_kill_left_is_read(crashed: Path) -> None:
    assert read_only(crashed) == "read"


def test_a_closed_store_is_read(crashed: Path) -> None:
    killed.open_store(crashed).close()
    assert not (crashed / "memory.sqlite3-wal").exists()
    assert read_only(crashed) == "read"


def test_a_log_that_cannot_be_read_is_not_passed_over(crashed: Path) -> None:
    (crashed / "memory.sqlite3-shm").unlink()
    assert "read-only" in read_only(crashed)
    assert "open the store once where it can be written" in read_only(crashed)


def test_a_store_may_be_moved_and_copied(crashed: Path) -> None:
    moved = crashed.rename(crashed.with_name("moved"))
    with closing(killed.open_store(moved, create=False)) as store:
        killed.check(store, [_MODEL])
    shutil.copytree(moved, crashed)
    with closing(killed.open_store(crashed, create=False)) as store:
        killed.check(store, [_MODEL])
