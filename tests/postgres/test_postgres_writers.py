"""Many writers of one store on PostgreSQL: nothing is lost, and every reader follows."""

import random
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("psycopg")

from memnet import Document, Fact
from memnet.errors import StoreBusyError
from memnet.storage import MemoryStore, NewSource
from memnet.storage.tables import slots
from tests import killed
from tests.postgres_server import Server
from tests.postgres_stores import address, cache_folder, printed
from tests.processes.test_concurrency import put_round, read_round, read_until_told, stop_readers
from tests.quick import birds, open_quick, stored_vectors
from tests.toy import ToyEncoder, passage, source
from tests.unit.test_store import encode, open_store
from tests.waiting import PATIENCE, ended, hear, until

__all__ = ["address", "cache_folder"]

_SHARED = [f"document {number}" for number in range(6)]
_WRITERS = 4
_STEPS = 12


Processes = Sequence[tuple[BaseProcess, Connection]]


def let_go(processes: Processes) -> None:
    """Let processes go on at once, when each has opened the store."""
    assert [hear(ours) for _, ours in processes] == ["open"] * len(processes)
    for _, ours in processes:
        ours.send("go")


def heard(processes: Processes) -> list[Any]:
    """What each process says last."""
    said = [hear(ours) for _, ours in processes]
    for process, _ in processes:
        ended(process)
    return said


def in_thread(target: Callable[..., object], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def joined(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def own_names(writer: int) -> list[str]:
    """The sources that nobody but one writer puts and deletes."""
    return [f"document {6 + writer}"]


def change_at_random(store: MemoryStore, writer: int) -> dict[str, int]:
    """Put and delete sources that others put and delete too, and some of one's own.

    Returns:
        The versions of the writer's own sources that are stored.
    """
    chance, own = random.Random(writer), dict[str, int]()
    for version in range(_STEPS):
        names = [*chance.sample(_SHARED, 2), *own_names(writer)]
        if chance.random() < 0.3:
            store.delete(names)
            own.clear()
        else:
            # Not in one order: who waits for another must not wait for ever.
            chance.shuffle(names)
            store.put([killed.document(name, version) for name in names], killed.encode)
            own = dict.fromkeys(own_names(writer), version)
        if chance.random() < 0.3:
            hits = store.search_dense(killed.encode(["storm"])[0], 5)
            store.fetch(hits.ids[hits.mask].tolist())
    return own


def change_in_process(place: str, writer: int, says: Connection) -> None:
    with closing(killed.open_store(place, create=False)) as store:
        says.send("open")
        says.recv()
        says.send(change_at_random(store, writer))


def test_writers_of_the_same_sources_lose_nothing(address: str) -> None:
    with closing(killed.open_store(address)) as store:
        kept: list[dict[str, int]] = []
        threads = range(2)
        processes = [killed.started(change_in_process, address, one) for one in range(2, _WRITERS)]
        let_go(processes)
        joined(*(in_thread(lambda one=one: kept.append(change_at_random(store, one)))
                 for one in threads))  # fmt: skip
        kept += heard(processes)
        assert len(kept) == _WRITERS
        states = store.sources.states(_SHARED)
        by_digest = {
            killed.document(name, version).digest: version
            for name in _SHARED
            for version in range(_STEPS)
        }
        model = killed.Model({name: by_digest[state.digest] for name, state in states.items()})
        for own in kept:
            model.documents.update(own)
        # Each source is whole: all slots, words, vectors and names are those of its version.
        killed.check(store, [model])
        assert store.count_unused() == (0, 0)


def test_writers_of_one_source_wait_for_each_other_and_no_one_else(
    postgres: Server, address: str
) -> None:
    def version(name: str, number: int) -> NewSource:
        return source(name, passage(f"{name} in version {number}"))

    with closing(open_store(address)) as store:
        store.put([version("a", 0)], encode)
        with store.changing():
            store.put([version("a", 1), version("new", 1)], encode)
            waiting = [
                in_thread(store.put, [version("a", 2)], encode),
                in_thread(store.put, [version("new", 2)], encode),
                in_thread(store.delete, ["a"], "elsewhere"),
            ]
            joined(waiting.pop())
            locked = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                f"AND application_name = '{address.partition('schema=')[2]}'"
            )
            until(lambda: printed(postgres, locked) == "2", "nobody waits")
            joined(in_thread(store.put, [version("b", 0)], encode))
            assert store.sources.states(["b"]).keys() == {"b"}
        joined(*waiting)
        texts = {slot.source: slot.text for slot in store.fetch(range(1, 20))}
        assert texts == {
            name: f"{name} in version {number}" for name, number in [("a", 2), ("new", 2), ("b", 0)]
        }
        assert store.verify() == []


def tell_in_turns(place: str, count: int, says: Connection) -> None:
    """Note how many statements there are, in a statement, some times."""
    with closing(killed.open_store(place, create=False)) as store:
        says.send("open")
        says.recv()
        for _ in range(count):
            with store.changing():
                text = f"after {len(store.statements.ids())} others"
                store.append(killed.statement(text, "ann"), killed.encode)
    says.send("done")


def test_tells_of_several_processes_follow_each_other(address: str) -> None:
    with closing(killed.open_store(address)) as store:
        processes = [killed.started(tell_in_turns, address, 10) for _ in range(3)]
        let_go(processes)
        assert heard(processes) == ["done"] * 3
        told = store.statements.told(store.statements.ids().tolist())
        assert [one.text for one in told] == [f"after {number} others" for number in range(30)]
        assert store.verify() == []


def ingest_folder(place: str, folder: str, says: Connection) -> None:
    with open_quick(place) as memory:
        says.send("open")
        says.recv()
        report = memory.ingest(folder)
        says.send((report.added, memory.ingest(folder).unchanged))


def test_ingests_of_two_folders_run_side_by_side(address: str, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        for number in range(30):
            (folder / f"{number}.md").write_text(f"# Bird {number}\n\nIn {folder.name} it nests.")
    with open_quick(address) as memory:
        processes = [killed.started(ingest_folder, address, str(folder)) for folder in folders]
        let_go(processes)
        assert heard(processes) == [(30, 30)] * 2
        assert memory.info().sources == 60
        (folders[0] / "7.md").unlink()
        assert memory.ingest(folders[0]).removed == 1
        assert memory.info().sources == 59
        assert memory.verify().problems == ()
        assert memory.store.count_unused() == (0, 0)


def test_who_holds_the_lock_keeps_out_all_but_writers_of_sources(address: str) -> None:
    first, second = (killed.open_store(address) for _ in range(2))
    with closing(first), closing(second):
        with first.writing():
            with pytest.raises(StoreBusyError, match="another process or thread is writing to"):
                second.append(killed.statement("storm", "ann"), killed.encode)
            with pytest.raises(StoreBusyError), second.writing(0.05):
                pass
            put_round(second, 1)
            assert read_round(first) == 1
        second.append(killed.statement("storm", "ann"), killed.encode)
        assert len(first.statements.ids()) == 1


def test_readers_see_one_commit_each(address: str) -> None:
    with closing(killed.open_store(address, unsaved_share=0.5)) as store:
        put_round(store, 0)
        processes = [killed.started(read_until_told, address) for _ in range(2)]
        assert [hear(ours) for _, ours in processes] == ["reading"] * 2
        with store.reading():
            assert read_round(store) == 0
            other = killed.open_store(address)
            for number in range(1, 25):
                put_round(other, number)
            other.close()
            assert read_round(store) == 0
        assert read_round(store) == 24
        stop_readers(processes)


def _is_exact(store: MemoryStore) -> bool:
    """Whether a search by vectors gives what a comparison with all rows gives."""
    connection = store.connection
    ids = slots.dense_ids(connection).tolist()
    keys = slots.keys(connection, ids, store.dimension)
    for query in ("storm", "light boat", "The heron", "colour"):
        vector = (killed.encode if store.dimension == killed.DIMENSION else encode)([query])[0]
        scores = dict(zip(keys.ids.tolist(), (keys.vectors @ vector).tolist(), strict=True))
        hits = store.search_dense(vector, len(ids) + 5)
        found = dict(zip(hits.ids[hits.mask].tolist(), hits.scores.tolist(), strict=False))
        if found.keys() != scores.keys() or not np.allclose(
            [found[slot] for slot in ids], [scores[slot] for slot in ids], atol=1e-5
        ):
            return False
    return True


def test_an_index_follows_what_others_write(address: str) -> None:
    def put(*names: int, version: int) -> None:
        documents = [killed.document(f"document {number}", version) for number in names]
        with closing(killed.open_store(address, create=False)) as other:
            other.put(documents, killed.encode)

    with closing(killed.open_store(address)) as store:
        put(0, 1, 2, version=0)
        assert _is_exact(store)
        put(1, 3, 4, version=1)
        assert _is_exact(store)
        store.delete(["document 0", "document 3"])
        assert _is_exact(store)
        assert store.verify() == []


def test_an_index_follows_full_vectors_of_others(address: str) -> None:
    relation = "built by"
    with open_quick(address) as memory, open_quick(address) as other:
        memory.ingest([*birds(), Document(id="r", text=relation)], full=False)
        assert all(map(_is_exact, (memory.store, other.store)))
        other.ingest(Fact(subject="Pier", relation=relation, object="Una Thale"), full=False)
        np.testing.assert_allclose(
            stored_vectors(memory)["r"], ToyEncoder().encode([relation])[0], atol=1e-6
        )
        assert _is_exact(memory.store)
        other.encode_full(most=5)
        assert _is_exact(memory.store)
        other.encode_full()
        assert _is_exact(memory.store)
        assert memory.info().vectors_full == memory.info().vectors


def test_the_planner_knows_of_many_new_rows(postgres: Server, address: str) -> None:
    with closing(open_store(address)) as store:
        store.put([source("a", *(passage(f"light {n}", start=99 * n) for n in range(600)))], encode)
        known = (
            f"SELECT reltuples FROM pg_class WHERE oid = '{address.partition('schema=')[2]}.slot'"
        )
        assert printed(postgres, f"{known}::regclass") == "600"


def test_a_vector_may_go_while_a_source_is_put_that_shares_it(address: str) -> None:
    """Between a look at what is stored and the transaction."""
    shared = passage("the same light", mentions=["orre"])
    with closing(open_store(address)) as store, closing(open_store(address)) as other:
        store.put([source("a", shared)], encode)

        def encode_slowly(texts: Sequence[str]) -> NDArray[np.float32]:
            other.delete(["a"])
            assert other.counts().slots == 0
            return encode(texts)

        new = source("b", shared, passage("another boat", start=20))
        assert store.put([new], encode_slowly) == (1, 0, 0)
        assert sorted(slot.text for slot in store.fetch(range(1, 20))) == [
            "another boat", "the same light",
        ]  # fmt: skip
        assert store.search_mentions(["orre"], 5).keys() == {"orre"}
        assert store.verify() == []
        assert store.count_unused() == (0, 0)


def test_an_error_of_the_callers_is_his_and_leaves_nothing(address: str) -> None:
    def fail(_: Sequence[str]) -> NDArray[np.float32]:
        raise OSError("the model can't be read")

    with closing(open_store(address)) as store:
        for write in (store.put, lambda new, encode: store.append(new[0], encode)):
            with pytest.raises(OSError, match=r"^the model can't be read$"):
                write([source("a", passage("a light"))], fail)
        assert store.counts()[:3] == (0, 0, 0)
        with pytest.raises(OSError, match=r"^the model can't be read$"), store.reading():
            fail([])
        store.put([source("a", passage("a light"))], encode)
        assert store.verify() == []
