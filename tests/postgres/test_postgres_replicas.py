"""Reads at replicas of a store on PostgreSQL: what they may lack, and what happens without them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("asyncpg")

import asyncpg

from memnet.errors import StoreError
from memnet.storage import MemoryStore
from memnet.storage.postgres import readers, session
from tests.postgres_server import Server, new_schema, programs, running_server, server_folder
from tests.toy import DIMENSION, ToyEncoder, passage, source
from tests.waiting import until

_encode = ToyEncoder().encode
_PORT = 5432


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """A server and its streaming replica."""
    with running_server() as primary, server_folder() as folder:
        replica = Server(folder, programs())
        replica.command(
            "pg_basebackup", "-R", "-D", replica.data, "-d", primary.address(), "-c", "fast"
        )
        replica.start(max_standby_streaming_delay="0")
        try:
            yield primary, replica
        finally:
            replica.stop()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_DOWN_SECONDS", 0.0)


@pytest.fixture
def address(servers: tuple[Server, Server]) -> Iterator[str]:
    """Of an empty schema, with the replica as reader."""
    primary, replica = servers
    with new_schema(primary) as schema:
        yield f"{schema.address}&schema={schema.name}&readers={quote(str(replica.folder))}:{_PORT}"
    replica.execute("SELECT pg_wal_replay_resume()")


@contextmanager
def opened(address: str, *, create: bool = False) -> Iterator[MemoryStore]:
    store = MemoryStore(
        address, fingerprint=ToyEncoder.fingerprint, dimension=DIMENSION, create=create
    )
    try:
        yield store
    finally:
        store.close()


@contextmanager
def statements_by_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[bool, str]]]:
    """What is read while the block runs: whether at a replica, and the statement."""
    seen: list[tuple[bool, str]] = []
    run = session.Session.rows

    def rows(self: session.Session, statement: str, parameters: Any) -> Any:
        at_replica = run(self, "SELECT pg_is_in_recovery()", ())[0][0]
        seen.append((at_replica, statement))
        return run(self, statement, parameters)

    with monkeypatch.context() as patch:
        patch.setattr(session.Session, "rows", rows)
        yield seen


def put(store: MemoryStore, name: str, text: str) -> None:
    store.put([source(name, passage(text, name, [name]))], _encode)


def texts(store: MemoryStore, text: str) -> list[str]:
    """The texts of the passages that vector search finds, the nearest first."""
    with store.reading():
        hits = store.search_dense(_encode([text])[0], 5)
        return [slot.text for slot in store.fetch_existing(hits.ids[hits.mask].tolist())]


def caught_up(primary: Server, replica: Server) -> None:
    """Wait until the replica has all that the primary has."""
    reached = "SELECT pg_current_wal_insert_lsn() - '0/0'"
    replayed = "SELECT pg_last_wal_replay_lsn() - '0/0'"
    position = int(primary.command("psql", "-XAtc", reached, primary.address()))
    until(
        lambda: int(replica.command("psql", "-XAtc", replayed, replica.address())) >= position,
        "the replica lags",
    )


def test_reads_are_at_the_replica_and_writes_see_the_primary(
    servers: tuple[Server, Server], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(address, create=True) as store:
        put(store, "one", "the lamp of the heron")
        caught_up(*servers)
        with statements_by_server(monkeypatch) as seen:
            assert texts(store, "lamp") == ["the lamp of the heron"]
            assert store.search_symbolic(["one"], 5) != {}
            assert store.counts().slots == 1
        # After a write the primary is asked once how far its log is, and nothing else.
        assert [statement for replica, statement in seen if not replica] == [readers.POSITION]
        assert len(seen) > 5
        with statements_by_server(monkeypatch) as seen, store.writing(sources_only=True):
            assert store.counts().slots == 1
            put(store, "two", "another lamp")
        assert not any(replica for replica, _ in seen)


def test_a_process_sees_what_it_wrote_while_the_replica_lags(
    servers: tuple[Server, Server], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, replica = servers
    with opened(address, create=True) as writer, opened(address) as reader:
        put(writer, "one", "the lamp of the heron")
        caught_up(primary, replica)
        assert texts(reader, "lamp") == texts(writer, "lamp") == ["the lamp of the heron"]
        replica.execute("SELECT pg_wal_replay_pause()")
        put(writer, "two", "a boat at the quay")
        assert sorted(texts(writer, "lamp")) == ["a boat at the quay", "the lamp of the heron"]
        assert writer.counts().slots == 2
        # Another process may lag with the replica.
        assert texts(reader, "lamp") == ["the lamp of the heron"]
        replica.execute("SELECT pg_wal_replay_resume()")
        until(lambda: len(texts(reader, "lamp")) == 2, "the replica goes on lagging")
        caught_up(primary, replica)
        with statements_by_server(monkeypatch) as seen:
            assert len(texts(writer, "lamp")) == 2
        assert all(at_replica for at_replica, _ in seen)


def test_an_older_commit_than_was_seen_is_not_read(
    servers: tuple[Server, Server], address: str
) -> None:
    primary, replica = servers
    with opened(address, create=True) as store:
        put(store, "one", "the lamp of the heron")
        caught_up(primary, replica)
        assert len(texts(store, "lamp")) == 1
        replica.execute("SELECT pg_wal_replay_pause()")
        with opened(address) as other:
            put(other, "two", "a boat at the quay")
        assert len(texts(store, "lamp")) == 1
        with store.writing(sources_only=True):
            assert len(texts(store, "lamp")) == 2
        assert len(texts(store, "lamp")) == 2


def test_a_replica_that_dies_and_comes_back(
    servers: tuple[Server, Server], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, replica = servers
    with opened(address, create=True) as store:
        put(store, "one", "the lamp of the heron")
        caught_up(primary, replica)
        assert len(texts(store, "lamp")) == 1
        replica.kill()
        assert len(texts(store, "lamp")) == 1
        assert store.counts().slots == 1
        put(store, "two", "a boat at the quay")
        assert len(texts(store, "lamp")) == 2
        replica.start(max_standby_streaming_delay="0")
        caught_up(primary, replica)
        with statements_by_server(monkeypatch) as seen:
            assert len(texts(store, "lamp")) == 2
        assert all(at_replica for at_replica, _ in seen)
        # In the middle of a block whoever began it has to begin again.
        with store.reading():
            store.counts()
            replica.kill()
            with pytest.raises(StoreError, match="read of a replica"):
                store.counts()
        replica.start(max_standby_streaming_delay="0")
    with opened(address) as store:
        assert len(texts(store, "lamp")) == 2


def test_a_conflict_with_recovery_is_read_again_at_the_primary(
    servers: tuple[Server, Server], address: str
) -> None:
    primary, replica = servers
    attempts: list[int] = []
    with opened(address, create=True) as store, opened(address) as writer:
        put(store, "one", "the lamp of the heron")
        caught_up(primary, replica)
        schema = address.partition("schema=")[2].partition("&")[0]

        def read() -> int:
            attempts.append(1)
            with store.reading():
                found = store.counts().slots
                if len(attempts) == 1:
                    # Rows that the snapshot sees are gone for good.
                    writer.delete(["one"])
                    primary.execute(f"VACUUM {schema}.slot", f"VACUUM {schema}.source")
                    caught_up(primary, replica)
                    store.counts()
                return found

        assert store.read(read) == 0
    assert len(attempts) == 2


def test_servers_that_are_no_replica_are_not_read_from(
    servers: tuple[Server, Server], address: str, caplog: pytest.LogCaptureFixture
) -> None:
    primary, _ = servers
    place = address.partition("&readers=")[0]
    with opened(f"{place}&readers={quote(str(primary.folder))}:{_PORT},/nowhere", create=True) as s:
        put(s, "one", "the lamp of the heron")
        assert texts(s, "lamp") == ["the lamp of the heron"]
    assert "is no replica" in caplog.text
    assert "the replica /nowhere is not read from now" in caplog.text


def test_one_replica_may_stand_for_another(servers: tuple[Server, Server], address: str) -> None:
    primary, replica = servers
    with opened(address.replace("readers=", "readers=/nowhere,"), create=True) as store:
        put(store, "one", "the lamp of the heron")
        caught_up(primary, replica)
        assert texts(store, "lamp") == ["the lamp of the heron"]
        with store.reading():
            assert store._connection.only("SELECT pg_is_in_recovery()")[0]
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            replica.execute("CREATE TABLE never (number int)")
