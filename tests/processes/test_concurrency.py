"""One writer, many readers: threads and processes, forked and spawned, see whole commits."""

import gc
import json
import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from memnet.errors import StoreBusyError, StoreError
from memnet.storage import MemoryStore, NewSlot, NewSource
from memnet.storage.place import StorePlace
from memnet.storage.vectors.cache import IndexCache
from memnet.text.english import query_terms
from tests import killed
from tests.waiting import PATIENCE, completed, ended, ended_fork, hear, in_thread

_PARTS = 4


def put_round(store: MemoryStore, number: int) -> None:
    """Replace all parts at once: each commit holds one round and nothing else."""
    store.put(
        [
            NewSource(
                f"part {part}",
                f"{number}".encode(),
                [NewSlot("passage", "", text, 0, len(text), text)],
            )
            for part in range(_PARTS)
            for text in [f"storm round {number} part {part}"]
        ],
        killed.encode,
    )


def read_round(store: MemoryStore) -> int:
    """The round that a reader sees; fails where rows, words and vectors are of different ones."""
    with store.reading():
        dense = store.search_dense(killed.encode(["storm"])[0], 10)
        words = store.search_lexical(query_terms("storm"), 10)
        slots = store.fetch(dense.ids[dense.mask].tolist())
        assert len(slots) == int(dense.mask.sum()) == _PARTS
        assert set(words.ids[words.mask].tolist()) == {slot.id for slot in slots}
        again = store.search_dense(killed.encode(["storm"])[0], 10)
        assert set(again.ids[again.mask].tolist()) == {slot.id for slot in slots}
    (number,) = {slot.text.split()[2] for slot in slots}
    return int(number)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with closing(killed.open_store(tmp_path / "store")) as opened:
        put_round(opened, 0)
        yield opened


def read_until_told(path: Path, said: Connection) -> None:
    """Read in several threads until something is said; say how often, and what went wrong."""
    done: list[int] = []
    wrong: list[str] = []
    stop = threading.Event()
    with closing(killed.open_store(path, create=False)) as store:

        def read() -> None:
            last = 0
            while not stop.is_set():
                try:
                    number = read_round(store)
                    assert number >= last, "went back"
                except Exception as error:
                    wrong.append(repr(error))
                    return
                last = number
                done.append(number)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        said.send("reading")
        said.recv()
        stop.set()
        for thread in threads:
            thread.join()
    said.send((len(done), len(set(done)), wrong))


def test_readers_in_threads_and_processes_see_one_commit_each(tmp_path: Path) -> None:
    with closing(killed.open_store(tmp_path / "store", unsaved_share=0.5)) as store:
        put_round(store, 0)
        readers = [killed.started(read_until_told, tmp_path / "store") for _ in range(2)]
        assert [hear(reader) for _, reader in readers] == ["reading"] * 2
        for number in range(1, 60):
            put_round(store, number)
            read_round(store)
        stop_readers(readers)


def stop_readers(readers: Sequence[tuple[BaseProcess, Connection]]) -> None:
    """End processes that ``read_until_told``, each of which has seen several commits."""
    for process, reader in readers:
        reader.send("stop")
        reads, rounds, wrong = hear(reader)
        assert wrong == []
        assert reads >= rounds > 1
        ended(process)


def test_old_reads_go_on_while_others_move_on(store: MemoryStore) -> None:
    """A long read keeps its commit though the index in memory has gone ahead, and back again."""
    turn = threading.Barrier(2, timeout=20)

    def read_long() -> list[int]:
        with store.reading():
            first = read_round(store)
            turn.wait()
            turn.wait()
            again = read_round(store)
        return [first, again, read_round(store)]

    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(read_long)
        turn.wait()
        for number in range(1, 4):
            put_round(store, number)
            assert read_round(store) == number
        turn.wait()
        assert seen.result() == [0, 0, 3]
    assert read_round(store) == 3
    assert store.verify() == []


def _in_child(what: Callable[[], None]) -> None:
    """Do something in a forked child; fails if the child does, or hangs."""
    child = os.fork()
    if not child:
        try:
            signal.alarm(20)
            what()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert ended_fork(child) == 0


def test_a_store_opened_before_a_fork_works_in_both(store: MemoryStore) -> None:
    assert read_round(store) == 0

    def read_and_write() -> None:
        assert read_round(store) == 0
        put_round(store, 1)
        store.close()

    _in_child(read_and_write)
    assert read_round(store) == 1
    put_round(store, 2)
    assert read_round(store) == 2

    def leave() -> None:
        # The parent is writing, and holds every lock there is.
        with pytest.raises(StoreBusyError, match="another process is writing"):
            put_round(store, 3)
        assert read_round(store) == 2

    index = store._process.index
    assert isinstance(index, IndexCache)
    with store.writing(), index._guard:
        _in_child(leave)
        put_round(store, 4)
        other = killed.open_store(store.path)
        with pytest.raises(StoreBusyError), other.writing(0.05):
            pass
        other.close()
    assert read_round(store) == 4
    assert store.verify() == []


def test_a_child_that_closes_at_once_leaves_its_parents_store_open(store: MemoryStore) -> None:
    _in_child(store.close)
    assert read_round(store) == 0
    put_round(store, 1)
    assert read_round(store) == 1


def test_a_child_that_leaves_its_parents_block_ends_nothing(store: MemoryStore) -> None:
    child = -1
    try:
        with store.changing():
            put_round(store, 1)
            child = os.fork()
            if not child:
                raise KeyboardInterrupt
            assert ended_fork(child) == 0
            put_round(store, 2)
    except KeyboardInterrupt:
        os._exit(0)
    assert read_round(store) == 2
    assert store.verify() == []


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_started_processes_read(store: MemoryStore, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    process, ours = killed.started(read_until_told, store.path, context=context)
    assert hear(ours) == "reading"
    put_round(store, 1)
    ours.send("stop")
    assert hear(ours)[2] == []
    ended(process)


def _read_on(store: MemoryStore, reading: threading.Barrier, ended: list[BaseException]) -> None:
    """Read until that ends, and say how it did."""
    read_round(store)
    reading.wait()
    try:
        while True:
            read_round(store)
    except BaseException as error:
        ended.append(error)


def test_closing_while_others_read_tells_them(tmp_path: Path) -> None:
    close_while_others_read(tmp_path / "store")


def close_while_others_read(place: StorePlace) -> None:
    """Close a store again and again that threads read; each of them and all later ones are told."""
    for _ in range(5):
        store = killed.open_store(place)
        put_round(store, 0)
        reading, ended = threading.Barrier(4, timeout=20), list[BaseException]()
        arguments = (store, reading, ended)
        threads = [threading.Thread(target=_read_on, args=arguments) for _ in range(3)]
        for thread in threads:
            thread.start()
        reading.wait()
        store.close()
        for thread in threads:
            thread.join(PATIENCE)
        assert len(ended) == 3
        for error in ended:
            assert isinstance(error, StoreError), repr(error)
            assert "open it again" in str(error)
        with pytest.raises(StoreError, match="is closed; open it again"):
            put_round(store, 1)


_DESCRIPTORS = Path("/proc/self/fd")
_counted = pytest.mark.skipif(
    not _DESCRIPTORS.exists(), reason="only Linux lists the files that a process has open"
)


def _open_files() -> int:
    return len(list(_DESCRIPTORS.iterdir()))


@_counted
def test_thousands_of_short_threads_leave_no_file_open(store: MemoryStore) -> None:

    def ask_in_threads(count: int) -> None:
        for _ in range(count):
            in_thread(store.counts)

    # While a connection reads, SQLite keeps one file of another for the next that opens it.
    ask_in_threads(5)
    gc.collect()  # what earlier tests left
    before = _open_files()
    ask_in_threads(2_000)
    assert _open_files() == before
    assert read_round(store) == 0


@_counted
def test_closing_closes_the_connections_of_threads_that_live(tmp_path: Path) -> None:
    at_first = _open_files()
    store = killed.open_store(tmp_path / "store")
    put_round(store, 0)
    read, ended = threading.Barrier(5, timeout=20), threading.Barrier(5, timeout=20)

    def live() -> None:
        read_round(store)
        read.wait()
        ended.wait()

    threads = [threading.Thread(target=live) for _ in range(4)]
    for thread in threads:
        thread.start()
    read.wait()
    assert _open_files() > at_first + 4
    store.close()
    assert _open_files() == at_first
    ended.wait()
    for thread in threads:
        thread.join()
    assert _open_files() == at_first


def test_a_thread_that_ends_in_a_forked_child_closes_none_of_its_parent(
    store: MemoryStore,
) -> None:
    reading, stop = threading.Barrier(2, timeout=20), threading.Event()
    wrong: list[BaseException] = []

    def read() -> None:
        try:
            with store.reading():
                assert read_round(store) == 0
                reading.wait()
                stop.wait(20)
                # By then the child has ended, in which this thread did not exist.
                assert read_round(store) == 0
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()

    def use_and_drop() -> None:
        for number in range(1, 4):
            in_thread(partial(put_round, store, number))
        store.close()
        gc.collect()

    _in_child(use_and_drop)
    _in_child(lambda: None)
    stop.set()
    thread.join()
    assert wrong == []
    assert read_round(store) == 3
    assert store.verify() == []


@_counted
@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("CREATE TABLE mine (a)", "that memnet did not make"),
        ("PRAGMA user_version = 99", "upgrade memnet"),
        ("UPDATE property SET value = 'x' WHERE name = 'encoder'", "was made with encoder x"),
        ("DROP TABLE property", "could not be read"),
    ],
)
def test_a_store_that_is_refused_leaves_no_file_open(
    tmp_path: Path, statement: str, complaint: str
) -> None:
    killed.open_store(tmp_path / "store").close()
    connection = sqlite3.connect(tmp_path / "store" / "memory.sqlite3")
    connection.executescript(statement)
    connection.close()
    before, errors = _open_files(), []
    for _ in range(3):
        # The errors are kept, and with them everything that their tracebacks refer to.
        with pytest.raises(StoreError, match=complaint) as caught:
            killed.open_store(tmp_path / "store", create=False)
        errors.append(caught)
    assert _open_files() == before


_WITH_THE_REAL_ENCODER = """
import json, os, sys
from memnet import Document, Engine
with Engine.open(sys.argv[1], create=True, answerer="untrained", reader="sentences") as memory:
    memory.ingest(Document(id="a", title="Orre Light", text="The Orre Light stands on Orre Head."))
    before = memory.ask("Where is the Orre Light?").evidence[0].source
    child = os.fork()
    if not child:
        memory.ask("Where is the Orre Light?")
        memory.ingest(Document(id="b", text="A ferry calls at Kestle."))
        memory.close()
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    after = memory.ask("Where does a ferry call?").evidence[0].source
print(json.dumps([code, before, after]))
"""


def test_encoder_and_index_work_in_a_forked_child(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WITH_THE_REAL_ENCODER, str(tmp_path / "store")]
    run = completed(command)
    assert json.loads(run.stdout) == [0, "a", "b"]
