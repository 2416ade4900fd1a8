"""Full disks, failing writes, damaged files: nothing acknowledged is lost, errors are a line."""

import errno
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memnet.errors import StoreError
from memnet.storage import MemoryStore
from memnet.text.english import query_terms
from tests import killed
from tests.waiting import ended, hear


@contextmanager
def _one_line() -> Iterator[list[str]]:
    """Pass over an error of the store that is one line long, and list it."""
    errors: list[str] = []
    try:
        yield errors
    except StoreError as error:
        errors.append(str(error))
    assert not any("\n" in error for error in errors)


def change(store: MemoryStore, model: killed.Model, chance: random.Random, steps: int) -> int:
    """Change store and model alike; gives how many changes the store refused."""
    refused = 0
    for _ in range(steps):
        step = killed.random_step(model, chance)
        with _one_line() as errors:
            killed.take(store, step)
            after = model.after(step)
            model.documents, model.told = after.documents, after.told
        refused += len(errors)
    return refused


def test_a_full_database_refuses_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, model = random.Random(1), killed.Model()
    opened: dict[str, sqlite3.Connection] = {}
    connect = sqlite3.connect

    def noted(address: str, **options: Any) -> sqlite3.Connection:
        opened[address] = connect(address, **options)
        return opened[address]

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", noted)
        store = killed.open_store(tmp_path / "store")
    # The limit is one of a connection.
    (connection,) = (opened[address] for address in opened if address.startswith("file:"))
    with closing(store):
        assert not change(store, model, chance, 10)
        for extra in range(4):
            connection.execute("VACUUM")
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + extra}")
            assert change(store, model, chance, 30)
            killed.check(store, [model])
            connection.execute("PRAGMA max_page_count = 1000000")
            assert not change(store, model, chance, 5)
        killed.check(store, [model])
    with closing(killed.open_store(tmp_path / "store", create=False)) as store:
        killed.check(store, [model])


def _fill(path: Path, seed: int, said: object) -> None:
    """Write with a limit on the size of files that comes and goes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    killed.vacuum_always()
    chance, model = random.Random(seed), killed.Model()
    refused = 0
    with closing(killed.open_store(path, unsaved_share=1e-6)) as store:
        for _ in range(12):
            largest = max(file.stat().st_size for file in path.iterdir())
            limit = chance.choice([500, 40_000, largest + chance.randint(0, 40_000)])
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            refused += change(store, model, chance, 5)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            assert not change(store, model, chance, 2)
            killed.check(store, [model])
    said.send((refused, model))  # type: ignore[attr-defined]


def test_files_that_may_not_grow_lose_nothing(tmp_path: Path) -> None:
    for seed in range(3):
        process, ours = killed.started(_fill, tmp_path / str(seed), seed)
        refused, model = hear(ours)
        ended(process)
        assert refused
        with closing(killed.open_store(tmp_path / str(seed), create=False)) as store:
            killed.check(store, [model])


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_index_that_cannot_be_saved_is_no_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    call: str,
    code: int,
) -> None:
    def failing(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    model = killed.Model({"document 1": 1, "document 2": 1})
    with closing(killed.open_store(tmp_path / "store")) as store:
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "memnet"):
            patch.setattr(os, call, failing)
            killed.take(store, ("put", model.documents))
            assert "index could not be saved" in caplog.text
            assert os.strerror(code) in caplog.text
            hits = store.search_dense(killed.encode(["storm"])[0], 5)
            assert hits.mask.any()
            with pytest.raises(StoreError, match=r"could not be saved .*; the rows are safe"):
                store.rebuild()
        with closing(killed.open_store(tmp_path / "store", create=False)) as other:
            killed.check(other, [model])
        killed.take(store, ("put", {"document 3": 1}))
        killed.check(store, [model.after(("put", {"document 3": 1}))])
    assert not list((tmp_path / "store").glob("*.part"))


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _blank(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data))
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    path.write_bytes(data)


@pytest.fixture(scope="module")
def left_by_a_kill(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[killed.Model]]:
    """A store as a killed process leaves it, and all that it held since it was made."""
    path = tmp_path_factory.mktemp("killed") / "store"
    history = [killed.Model()]
    chance = random.Random(5)
    for _ in range(40):
        history.append(history[-1].after(killed.random_step(history[-1], chance)))
    process = killed.START.Process(target=_change_and_die, args=(path, 5, 40))
    process.start()
    ended(process)
    return path, history


def _change_and_die(path: Path, seed: int, steps: int) -> None:
    store = killed.open_store(path)
    change(store, killed.Model(), random.Random(seed), steps)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("damage", [_flip, _cut, _blank])
@pytest.mark.parametrize("file", ["vectors.faiss", "memory.sqlite3-wal"])
def test_a_damaged_index_changes_no_result_and_a_damaged_log_leaves_an_earlier_commit(
    tmp_path: Path,
    left_by_a_kill: tuple[Path, list[killed.Model]],
    file: str,
    damage: Callable[[Path, random.Random], None],
) -> None:
    left, history = left_by_a_kill
    for seed in range(8):
        path = shutil.copytree(left, tmp_path / str(seed))
        damage(path / file, random.Random(seed))
        with closing(killed.open_store(path)) as store:
            killed.check(store, history[-1:] if file == "vectors.faiss" else history)


@pytest.mark.parametrize("damage", [_flip, _cut, _blank])
def test_a_damaged_database_is_an_error_of_one_line(
    tmp_path: Path,
    left_by_a_kill: tuple[Path, list[killed.Model]],
    damage: Callable[[Path, random.Random], None],
) -> None:
    whole = shutil.copytree(left_by_a_kill[0], tmp_path / "whole")
    with sqlite3.connect(whole / "memory.sqlite3") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    for seed in range(12):
        path = shutil.copytree(whole, tmp_path / str(seed))
        damage(path / "memory.sqlite3", random.Random(seed))
        with _one_line(), closing(killed.open_store(path, create=False)) as store:
            store.verify()
            store.search_dense(killed.encode(["storm"])[0], 5)
            store.search_lexical(query_terms("storm"), 5)
            killed.take(store, ("put", {"document 1": 99}))
