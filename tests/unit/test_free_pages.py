"""Space of what was deleted is given back to the file system, and nothing else changes by it."""

import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from memnet.storage import MemoryStore
from memnet.storage.sqlite import connection as connection_module
from tests.toy import passage, source
from tests.unit.test_store import encode, open_store

_COUNT = 600
_KEPT = [f"boat {number}" for number in range(0, _COUNT, 50)]
_DELETED = [f"boat {number}" for number in range(_COUNT) if number % 50]
_DATABASE = "memory.sqlite3"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of sources that take a few pages each, and no words to speak of."""
    folder = tmp_path_factory.mktemp("filled")
    texts = [f"boat {number}" for number in range(_COUNT)]
    with closing(open_store(folder)) as store:
        store.put([source(text, passage(f"{text} {'-' * 12_000}")) for text in texts], encode)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "store")


def _pages(folder: Path, pragma: str) -> int:
    with closing(sqlite3.connect(folder / _DATABASE)) as database:
        return int(database.execute(f"PRAGMA {pragma}").fetchone()[0])


def _texts(store: MemoryStore) -> list[str]:
    return sorted(slot.text.rstrip("- ") for slot in store.fetch(range(1, _COUNT + 1)))


def test_space_of_what_is_deleted_is_given_back(folder: Path) -> None:
    full = (folder / _DATABASE).stat().st_size
    with closing(open_store(folder)) as store:
        store.delete(_DELETED)
        assert _texts(store) == sorted(_KEPT)
        assert store.verify() == []
    assert (folder / _DATABASE).stat().st_size < full / 10
    assert _pages(folder, "freelist_count") <= 64
    assert not (folder / f"{_DATABASE}-wal").exists()


def test_a_few_free_pages_are_kept_for_the_next_write(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        store.delete(_DELETED[:100])
    assert 300 <= _pages(folder, "freelist_count") <= connection_module._MIN_FREE_PAGES


def test_space_is_given_back_while_another_reads(folder: Path) -> None:
    with closing(open_store(folder)) as store, ThreadPoolExecutor(1) as pool:
        begun, deleted = Event(), Event()

        def read() -> list[str]:
            with store.reading():
                first = _texts(store)[:1]
                begun.set()
                assert deleted.wait(60)
                return first + _texts(store)

        found = pool.submit(read)
        assert begun.wait(60)
        store.delete(_DELETED)
        deleted.set()
        before = sorted(_KEPT + _DELETED)
        assert found.result() == before[:1] + before
        assert _texts(store) == sorted(_KEPT)
    assert _pages(folder, "page_count") < 500


def test_a_reader_opens_while_another_writes(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store, store.changing():
        store.put([source("boat", passage("a boat"))], encode)
        started = time.monotonic()
        with closing(open_store(tmp_path, create=False)) as reader:
            assert reader.counts().slots == 0
        # SQLite gives up on a lock after ten.
        assert time.monotonic() - started < 5


def test_a_database_made_without_vacuum_keeps_its_pages(folder: Path) -> None:
    with closing(sqlite3.connect(folder / _DATABASE)) as database:
        database.execute("PRAGMA auto_vacuum = NONE")
        database.execute("VACUUM")
    before = _pages(folder, "page_count")
    with closing(open_store(folder)) as store:
        store.delete(_DELETED)
        assert _texts(store) == sorted(_KEPT)
        assert store.verify() == []
    assert _pages(folder, "page_count") == before


def test_what_was_written_is_kept_if_space_can_not_be_given_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Any statement that fails; full disks are tried in test_faults.
    monkeypatch.setattr(connection_module, "_VACUUMED_PAGES", "no number")
    with closing(open_store(folder)) as store:
        store.delete(_DELETED)
        assert _texts(store) == sorted(_KEPT)
    assert _pages(folder, "freelist_count") > 1_000
