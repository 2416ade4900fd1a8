"""Cut connections, killed servers and clients: what was done is known, and nothing is half-done."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest
from numpy.typing import NDArray

pytest.importorskip("psycopg")

import psycopg

from memnet import Engine
from memnet.config import Config
from memnet.errors import StoreBusyError, StoreError
from memnet.storage import MemoryStore
from memnet.storage.postgres.backend import ServerIndex
from memnet.storage.postgres.session import Session
from memnet.storage.tables import sources
from tests import killed
from tests.postgres_server import Server
from tests.postgres_stores import address, cache_folder
from tests.processes.test_concurrency import (
    _in_child,
    close_while_others_read,
    put_round,
    read_round,
)
from tests.processes.test_crash import longest
from tests.toy import ToyEncoder, passage, source
from tests.unit.test_store import encode, open_store

__all__ = ["address", "cache_folder"]

_CUT = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE application_name = '{}'
"""


@pytest.fixture
def cut(postgres: Server, address: str) -> Callable[[], None]:
    """Ends all connections to the store, as a restart of the server does."""
    return lambda: postgres.execute(_CUT.format(address.partition("schema=")[2]))


@pytest.fixture
def store(address: str) -> Iterator[MemoryStore]:
    with closing(killed.open_store(address)) as opened:
        put_round(opened, 0)
        assert read_round(opened) == 0
        yield opened


@contextmanager
def lost(kept: str) -> Iterator[None]:
    """The block ends with an error of one line that says what was kept."""
    with pytest.raises(StoreError, match=f"the connection to postgresql://.* was lost.*{kept}") as (
        raised
    ):
        yield
    assert "\n" not in str(raised.value)


def _round(store: MemoryStore) -> int:
    """The round that the sources of ``put_round`` are of, whatever else is stored."""
    texts = [slot.text for slot in store.last_passages(100) if slot.source.startswith("part")]
    (number,) = {text.split()[2] for text in texts}
    return int(number)


def test_reads_go_on_over_a_new_connection(store: MemoryStore, cut: Callable[[], None]) -> None:
    for _ in range(3):
        cut()
        assert read_round(store) == 0
        cut()
        assert store.counts().slots == 4
    cut()
    with lost("try again"), store.reading():
        assert read_round(store) == 0
        cut()
        read_round(store)
    assert read_round(store) == 0


def test_a_transaction_whose_connection_is_lost_leaves_nothing(
    store: MemoryStore, cut: Callable[[], None]
) -> None:
    cut()  # before it begins, nothing is lost
    store.append(killed.statement("first", "ann"), killed.encode)
    with lost("nothing of it was kept: run it again"), store.changing():
        put_round(store, 1)
        cut()
        store.append(killed.statement("second", "ann"), killed.encode)
    assert _round(store) == 0
    with lost(""), store.writing():
        cut()
        # The lock went with the connection, and another may have it by now.
        store.append(killed.statement("third", "ann"), killed.encode)
    store.append(killed.statement("fourth", "ann"), killed.encode)
    put_round(store, 2)
    assert _round(store) == 2
    told = store.statements.told(store.statements.ids().tolist())
    assert [one.text for one in told] == ["first", "fourth"]
    assert store.verify() == []


def test_a_put_and_a_delete_are_made_again(
    store: MemoryStore, cut: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = Counter[str]()

    def cut_within(name: str) -> None:
        real = getattr(sources, name)

        def cutting(*arguments: Any) -> Any:
            done = real(*arguments)
            cuts[name] += 1
            if cuts[name] < 3:
                cut()
            return done

        monkeypatch.setattr(sources, name, cutting)

    def cut_and_encode(texts: Sequence[str]) -> NDArray[Any]:
        cut()
        return killed.encode(texts)

    for name in ("put_all", "add_shared", "delete"):
        cut_within(name)
    document = killed.document("document 1", 1)
    assert store.put([document], cut_and_encode) == (1, 0, 0)
    assert store.delete([f"part {part}" for part in range(4)]) == 4
    assert cuts == {"put_all": 3, "add_shared": 3, "delete": 3}
    killed.check(store, [killed.Model({"document 1": 1})])


@pytest.mark.parametrize("kept", [False, True])
def test_a_connection_that_is_lost_with_the_commit(
    store: MemoryStore, cut: Callable[[], None], monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """Whether the server committed is not known, to whoever asked it to."""
    real, losses = Session.command, list[str]()

    def command(session: Session, statements: str) -> None:
        if "commit_id" in statements and not losses:
            losses.append(statements)
            if kept:
                real(session, statements)
            cut()
            if kept:
                raise psycopg.OperationalError("connection reset by peer")
        real(session, statements)

    monkeypatch.setattr(Session, "command", command)
    store.put([killed.document("document 1", 1)], killed.encode)
    assert len(losses) == 1
    assert store.counts().sources == 5
    losses.clear()
    with lost("whether this step was kept is not known: run it again"):
        store.append(killed.statement("storm", "ann"), killed.encode)
    assert len(store.statements.ids()) == kept
    losses.clear()
    store.delete([f"part {part}" for part in range(4)])
    told = {"storm": ("ann", True)} if kept else {}
    killed.check(store, [killed.Model({"document 1": 1}, told)])


@pytest.mark.parametrize("statement", [1, 4, 9, 12])
def test_an_interrupted_statement_leaves_nothing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, statement: int
) -> None:
    """Control-C comes while the server is waited for."""
    left, real = [statement], Session.rows

    def fetch(session: Session, sql: str, parameters: Sequence[Any]) -> list[Any]:
        left[0] -= 1
        if not left[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            real(session, "SELECT pg_sleep(60)", ())
        return real(session, sql, parameters)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(Session, "rows", fetch)
            with pytest.raises(KeyboardInterrupt):
                put_round(store, 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert read_round(store) == 0
    put_round(store, 2)
    assert read_round(store) == 2
    assert store.verify() == []


def test_killed_clients_leave_nothing_half_written(address: str) -> None:
    kill_clients(address, 4)


def kill_clients(address: str, count: int) -> None:
    """Kill writers of a store, one after the other; it holds what each acknowledged."""
    chance, model, seen = random.Random(0), killed.Model(), Counter[str]()
    for _ in range(count):
        seen["killed"] += 1
        kill = killed.kill_one(address, model, chance, 3 * longest(seen))
        model = kill.held
        seen["acknowledged"] += kill.acknowledged
        seen[str(kill.in_doubt)] += 1
    # Otherwise the kills came when there was nothing to lose.
    assert seen["acknowledged"]
    assert seen["False"] + seen["True"] > 0


def test_a_forked_child_has_connections_of_its_own(store: MemoryStore) -> None:
    def read_and_write() -> None:
        assert read_round(store) == 0
        put_round(store, 1)
        store.close()

    _in_child(read_and_write)
    assert read_round(store) == 1

    def leave() -> None:
        with pytest.raises(StoreBusyError, match="another process or thread is writing"):
            store.append(killed.statement("storm", "ann"), killed.encode)
        assert read_round(store) == 1

    index = store._process.index
    assert isinstance(index, ServerIndex)
    with store.writing(), index._guard:
        _in_child(leave)
        store.append(killed.statement("lamp", "ann"), killed.encode)
    for text, leave_by in (("boat", KeyboardInterrupt), ("rope", None)):
        child = -1
        try:
            with store.changing():
                store.append(killed.statement(text, "ann"), killed.encode)
                child = os.fork()
                if child:
                    assert os.waitpid(child, 0)[1] == 0
                elif leave_by is not None:
                    raise leave_by
        except BaseException as error:
            if child:
                raise
            # The block is its parent's, and goes on there.
            os._exit(not isinstance(error, leave_by or StoreError))
        if not child:
            os._exit(2)
    assert len(store.statements.ids()) == 3
    assert store.verify() == []


def test_coroutines_and_threads_use_one_store(address: str) -> None:
    encoder = ToyEncoder()
    rows = open_store(address)
    with Engine(rows, encoder, Config(), answerer="untrained", reader="sentences") as engine:

        async def live() -> str | None:
            # In the loop's own thread, as in a notebook, and in others.
            engine.tell("Ann lives in Paris.")
            with engine.store.changing():
                engine.store.put([source("a", passage("The ferry calls at Kestle."))], encode)
            await asyncio.gather(
                *(asyncio.to_thread(engine.search, "ferry") for _ in range(8)),
                *(
                    asyncio.to_thread(rows.put, [source(f"b{one}", passage(f"boat {one}"))], encode)
                    for one in range(8)
                ),
            )
            with pytest.raises(KeyError), rows.reading():
                raise KeyError
            return engine.ask("Where does the ferry call?").answer

        assert asyncio.run(live()) == "The ferry calls at Kestle."
        assert rows.counts().sources == 10
        assert rows.verify() == []


def test_closing_while_others_read_tells_them(address: str) -> None:
    close_while_others_read(address)
