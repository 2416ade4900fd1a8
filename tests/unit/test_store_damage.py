"""Each check of a store finds its damage; what can't be done is an error that leaves no trace."""

import logging
import os
import resource
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from memnet.config import IndexConfig
from memnet.errors import DependencyError, StoreError
from memnet.storage import MemoryStore, NewSource, export_bundle, import_bundle
from memnet.storage.sqlite.connection import SqliteConnection
from memnet.storage.vectors.file import read_header, read_index
from memnet.storage.vectors.index import VectorIndex
from memnet.storage.vectors.search import import_faiss
from tests.toy import DIMENSION, fact, passage, source, told
from tests.unit.test_store import encode, open_store
from tests.unit.test_vector_index import save, vectors
from tests.waiting import in_thread

_TEXTS = [f"boat number {number}" for number in range(40)]
_PQ = IndexConfig(kind="pq", min_pq=16, max_gather=10)
_import = partial(import_bundle, fingerprint="toy/64", dimension=DIMENSION)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with a passage, a fact and two statements, one of them superseded."""
    with closing(open_store(tmp_path / "store")) as store:
        store.put([source("a", passage("a light", "Orre")), source("b", fact("x", "in", "y"))],
                  encode)  # fmt: skip
        for number in (1, 2):
            slot = told(f"moved {number}", "ann", float(number))
            digest = number.to_bytes(16)
            store.append(NewSource(f"told/{number}", digest, [slot], kind="statement"), encode)
        with store.changing():
            store.statements.end(
                [slot.id for slot in store.statements.told(store.statements.ids_about(["ann"]))][
                    :1
                ],
                5.0,
            )
    return tmp_path / "store"


def _change(path: Path, statement: str, *parameters: object) -> None:
    with closing(sqlite3.connect(path / "memory.sqlite3")) as database, database:
        database.execute(statement, parameters)


def _filled(path: Path, config: IndexConfig) -> MemoryStore:
    """A store whose vector index is of the kind that the settings say."""
    store = open_store(path, config)
    store.put([source(text, passage(text)) for text in _TEXTS], encode)
    return store


def _found(store: MemoryStore, text: str) -> str:
    hits = store.search_dense(encode([f"\n{text}"])[0], 1)
    return store.fetch(hits.ids.tolist())[0].text


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE vector SET data = x'00' WHERE id = 1", "1 vectors have another width than 64"),
        ("UPDATE slot SET valid_until = 0.5 WHERE valid_until = 5", "ended before they began"),
        ("DELETE FROM statement", "slots are statements without a structure"),
        ("DELETE FROM statement_name", "can't be found by what they are about"),
        ("UPDATE statement SET namespace = 'other'", "can't be found by what they are about"),
        ("UPDATE statement SET aliases = 'Ann'", "holds values that memnet does not write"),
        ("UPDATE statement SET \"values\" = '[1]'", "holds values that memnet does not write"),
        ("UPDATE statement SET \"values\" = '{}'", "holds values that memnet does not write"),
        ("UPDATE statement SET certainty = 'never'", "holds values that memnet does not write"),
        ("UPDATE statement SET change = 'undone'", "holds values that memnet does not write"),
        ("UPDATE statement SET told_at = 9e999", "holds values that memnet does not write"),
        ("UPDATE statement SET changed_by = 77", "refers to a missing row of slot"),
        ("UPDATE sqlite_sequence SET seq = 99 WHERE name = 'slot'", "the last commit is not the"),
        ("DELETE FROM link", "1 facts can't be followed"),
        ("DELETE FROM symbol", "refers to a missing row of symbol"),
        ("UPDATE slot_text_data SET block = x'00' WHERE id > 10", "text search: does not agree"),
    ],
)
def test_each_damage_of_the_rows_is_reported(path: Path, statement: str, problem: str) -> None:
    with closing(open_store(path, create=False)) as store:
        assert store.verify() == []
        _change(path, statement)
        assert any(problem in found for found in store.verify())


def test_a_vector_that_is_no_number_is_refused(path: Path) -> None:
    (path / "vectors.faiss").unlink()
    data = np.full(DIMENSION, np.nan, "<f4").tobytes()
    _change(path, "UPDATE vector SET data = ? WHERE id = 1", data)
    with (
        closing(open_store(path, create=False)) as store,
        pytest.raises(StoreError, match="a vector"),
    ):
        store.search_dense(encode(["light"])[0], 1)


def test_a_page_that_cannot_be_read_ends_an_export_without_a_file(
    path: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(path / "memory.sqlite3")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = "SELECT rootpage FROM sqlite_master WHERE name = 'vector'"
        (page,) = database.execute(root).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with (path / "memory.sqlite3").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    with (
        closing(open_store(path, create=False)) as store,
        pytest.raises(StoreError, match=r"could not be read .*restore it from a copy"),
    ):
        export_bundle(store, tmp_path / "out.zip")
    assert not list(tmp_path.glob("*out.zip*"))


def test_a_read_of_closed_rows_says_so(path: Path) -> None:
    connection = SqliteConnection(path / "memory.sqlite3")
    connection.close()
    with pytest.raises(StoreError, match="was closed while it was read; open it again"):
        connection.property("encoder")


def test_a_process_without_free_descriptors_is_told(path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(path, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"could not be opened .*; check free space"):
            open_store(path, create=False)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    open_store(path, create=False).close()


def test_folders_that_cannot_be_made_are_named(path: Path, tmp_path: Path) -> None:
    with closing(open_store(path)) as store:
        export_bundle(store, tmp_path / "bundle.zip")
    (tmp_path / "file").write_text("x")
    for make in (open_store, lambda folder: _import(tmp_path / "bundle.zip", folder)):
        with pytest.raises(StoreError, match="file/store can't be made"):
            make(tmp_path / "file" / "store")
    # A link that leads nowhere holds the place where the imported store should go.
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(StoreError, match="link can't be put in its place"):
        _import(tmp_path / "bundle.zip", tmp_path / "link")
    assert not list(tmp_path.glob(".*"))


def test_a_writer_that_cannot_lock_lets_other_threads_write(path: Path) -> None:
    with closing(open_store(path)) as store:
        (path / "writer.lock").unlink(missing_ok=True)
        (path / "writer.lock").mkdir()
        with pytest.raises(OSError, match=r"writer\.lock"):
            store.put([source("c", passage("one"))], encode)
        (path / "writer.lock").rmdir()
        assert in_thread(lambda: store.put([source("c", passage("one"))], encode)) == (1, 0, 0)


def test_a_copy_in_a_folder_that_is_read_only_is_checked_and_read(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, broken = (shutil.copytree(path, tmp_path / name) for name in ("copy", "broken"))
    _change(broken, "UPDATE vector SET data = x'00' WHERE id = 1")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for _ in range(2):  # nothing remembers the first check
        with closing(open_store(copy, create=False)) as store:
            assert _found(store, "a light") == "a light"
        with pytest.raises(StoreError, match=r"is damaged .*copy it again when nothing does"):
            open_store(broken, create=False)


def test_a_search_within_a_change_sees_it_and_one_after_its_failure_does_not(path: Path) -> None:
    with closing(open_store(path)) as store:

        def change() -> None:
            with store.changing():
                store.put([source("w", passage("a whale"))], encode)
                assert _found(store, "a whale") == "a whale"
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            change()
        assert _found(store, "a whale") != "a whale"
        assert store.verify() == []


def test_a_restricted_pq_search_finds_the_best_of_them(tmp_path: Path) -> None:
    config = IndexConfig(kind="pq", min_pq=16, max_gather=10, rerank=100, target_recall=0)
    rows = vectors(4000)
    index = VectorIndex.empty(DIMENSION, config).add(np.arange(1, 4001), rows)
    index = save(index, tmp_path / "index", lambda ids: rows[ids - 1])
    even = np.arange(2, 4001, 2)
    for number in even[::200].tolist():
        hits = index.search(rows[number - 1], 3, even)
        assert hits.ids[0] == number
        assert hits.scores[0] == pytest.approx(1, abs=1e-3)
        assert np.isin(hits.ids[hits.mask], even).all()
        other = index.search(rows[number], 3, even)  # its own id is not among them
        assert np.isin(other.ids[other.mask], even).all()


def test_an_index_file_that_lacks_rows_is_reported_and_replaced(path: Path) -> None:
    with closing(open_store(path)) as store:
        file = path / "vectors.faiss"
        header, arrays = read_index(file)
        index = VectorIndex.empty(DIMENSION, IndexConfig())
        index = index.add(arrays["ids"][1:], arrays["vectors"][1:])
        index.save(file, header.commit_id, header.fingerprint)
        assert store.verify() == ["vector index: does not hold the ids of the rows"]
        store.rebuild()
        assert store.verify() == []


@pytest.mark.parametrize("by", ["reader", "writer"])
def test_a_damaged_file_is_made_again_from_the_rows(path: Path, by: str) -> None:
    file = path / "vectors.faiss"
    more = [f"more {number}" for number in range(400)]
    with closing(open_store(path)) as store:
        store.put([source(text, passage(text)) for text in more], encode)
    content = bytearray(file.read_bytes())
    content[-10_000] ^= 1  # among the vectors
    file.write_bytes(content)
    with closing(open_store(path)) as store:
        if by == "writer":
            store.put([source("last", passage("last"))], encode)
        else:
            assert any("damaged" in problem for problem in store.verify())
        for _ in range(2):
            assert _found(store, more[7]) == more[7]
        assert store.verify() == []


def test_codes_are_of_the_vectors_of_the_rows(tmp_path: Path) -> None:
    with closing(_filled(tmp_path / "store", _PQ)) as store:
        file = tmp_path / "store" / "vectors.faiss"
        header, arrays = read_index(file)
        assert arrays.keys() == {"ids", "codebook", "codes"}
        ids = store.passage_ids()
        rows = np.stack([encode([slot.key_text])[0] for slot in map(passage, _TEXTS)])
        for query in rows[::50]:
            hits = store.search_dense(query, 3)
            np.testing.assert_allclose(hits.scores, np.sort(rows @ query)[:-4:-1], atol=1e-6)
        # Of other vectors, as of a version before they were replaced.
        other = VectorIndex.empty(DIMENSION, _PQ).add(ids, rows[::-1])
        other.save(file, header.commit_id, header.fingerprint)
        assert store.verify() == ["vector index: does not hold the vectors of the rows"]
        store.rebuild()
        assert store.verify() == []


def test_a_reader_goes_on_with_codes_while_vectors_are_replaced(tmp_path: Path) -> None:
    with closing(_filled(tmp_path / "store", _PQ)) as store:
        [query] = encode([f"\n{_TEXTS[9]}"])
        with closing(open_store(tmp_path / "store", _PQ)) as other:
            with other.reading():
                before = other.search_dense(query, 5)
                store.delete([_TEXTS[9]])
                store.put([source(f"new {text}", passage(f"new {text}")) for text in _TEXTS],
                          encode)  # fmt: skip
                again = other.search_dense(query, 5)
                np.testing.assert_array_equal(before.ids, again.ids)
                np.testing.assert_array_equal(before.scores, again.scores)
            assert _found(other, _TEXTS[9]) != _TEXTS[9]
            assert other.verify() == []


def test_the_next_write_makes_the_kind_of_index_that_is_wanted(tmp_path: Path) -> None:
    with closing(_filled(tmp_path / "store", IndexConfig(kind="flat"))):
        pass
    (tmp_path / "store" / "vectors.faiss").unlink()
    for config, has_codes in ((IndexConfig(kind="flat"), False), (_PQ, True)):
        with closing(open_store(tmp_path / "store", config)) as store:
            store.put([source("one more", passage(repr(config)))], encode)
        header = read_header(tmp_path / "store" / "vectors.faiss")
        assert header is not None
        assert (header.code_size > 0) == has_codes


@pytest.fixture
def large_store(tmp_path: Path) -> Iterator[MemoryStore]:
    """A store whose index is written in a thread of its own."""
    config = IndexConfig(max_flat=20, min_pq=16)
    with closing(_filled(tmp_path / "store", config)) as store:
        yield store


def test_one_process_at_a_time_writes_the_index(large_store: MemoryStore) -> None:
    large_store.close()
    file = large_store.path / "vectors.faiss"
    before = file.read_bytes()
    with FileLock(large_store.path / "index.lock"):
        with closing(_filled(large_store.path, IndexConfig(max_flat=20, min_pq=16))) as store:
            store.put([source(f"new {text}", passage(f"new {text}")) for text in _TEXTS], encode)
        assert file.read_bytes() == before
    with closing(_filled(large_store.path, IndexConfig(max_flat=20, min_pq=16))) as store:
        assert _found(store, f"new {_TEXTS[3]}") == f"new {_TEXTS[3]}"
        store.put([source("last", passage("last"))], encode)
    assert file.read_bytes() != before
    with closing(open_store(large_store.path)) as store:
        assert store.verify() == []


def test_a_write_goes_on_while_another_process_writes_the_index(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = path / "vectors.faiss"
    before = file.read_bytes()
    with FileLock(path / "index.lock"), closing(open_store(path)) as store:
        store.put([source(text, passage(text)) for text in _TEXTS], encode)
        assert _found(store, _TEXTS[7]) == _TEXTS[7]
        assert file.read_bytes() == before
    assert not caplog.records
    with closing(open_store(path)) as store:
        assert _found(store, _TEXTS[7]) == _TEXTS[7]
        assert store.verify() == []
    assert file.read_bytes() != before


def test_an_index_in_the_background_that_cannot_be_written_is_a_warning(
    large_store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "memnet"):
        patch.setattr(os, "fsync", failing)
        large_store.put([source(f"new {text}", passage(f"new {text}")) for text in _TEXTS], encode)
        large_store.close()  # waits for the thread
    assert "No space left on device" in caplog.text
    assert "readers make up for it from the rows" in caplog.text
    with closing(open_store(large_store.path)) as store:
        assert _found(store, f"new {_TEXTS[3]}") == f"new {_TEXTS[3]}"


def test_without_faiss_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(DependencyError, match=r"pip install .*faiss-cpu"):
        import_faiss()
