"""The schema of a database file is brought up to date step by step; what is unknown is refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memnet.errors import StoreError
from memnet.storage.sqlite import connection as connection_module
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.sqlite.schema import MIGRATIONS
from memnet.storage.tables.connection import SCHEMA_VERSION
from tests import killed

_NEXT = SCHEMA_VERSION + 1
_STEP = "ALTER TABLE slot ADD COLUMN colour TEXT NOT NULL DEFAULT '';"


def _made(folder: Path) -> Path:
    """The database of a store."""
    killed.open_store(folder).close()
    return folder / "memory.sqlite3"


def _version(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return version


def _with_step(patched: pytest.MonkeyPatch, step: str) -> None:
    patched.setattr(connection_module, "SCHEMA_VERSION", _NEXT)
    patched.setattr("memnet.storage.tables.connection.SCHEMA_VERSION", _NEXT)
    patched.setattr("memnet.storage.store.SCHEMA_VERSION", _NEXT)
    patched.setitem(MIGRATIONS, _NEXT, step)


def test_a_step_is_made_once_by_two_openers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = _made(tmp_path / "store")
    _with_step(monkeypatch, _STEP)
    first, second = (SqliteConnection(database) for _ in range(2))
    for connection in (first, second):
        connection.migrate()
        assert connection.schema_version == _version(database) == _NEXT
        assert connection.rows("SELECT colour FROM slot") == []
        connection.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = _made(tmp_path / "store")
    with monkeypatch.context() as patched:
        _with_step(patched, f"{_STEP} SELECT nothing FROM nowhere;")
        with pytest.raises(StoreError, match="nothing of this step was kept"):
            killed.open_store(tmp_path / "store", create=False)
    assert _version(database) == SCHEMA_VERSION
    with closing(killed.open_store(tmp_path / "store", create=False)) as store:
        assert store.verify() == []


@pytest.mark.parametrize(
    ("pragma", "complaint"),
    [
        (f"user_version = {_NEXT}", f"schema {_NEXT}, .*upgrade"),
        # As versions before 0.1.0 left it.
        ("application_id = 0", "a version of memnet before 0.1.0 .*ingest into a new store"),
        ("user_version = -1", "ingest into a new store"),
        ("user_version = 0", "ingest into a new store"),
    ],
)
def test_another_version_is_refused_and_left_alone(
    tmp_path: Path, pragma: str, complaint: str
) -> None:
    database = _made(tmp_path / "store")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    before = database.read_bytes()
    with pytest.raises(StoreError, match=complaint):
        killed.open_store(tmp_path / "store", create=False)
    assert database.read_bytes() == before
