"""Stores on PostgreSQL: many kills, a server that crashes, a full disk, an older server."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import pytest

pytest.importorskip("psycopg")

from benchmarks.postgres_load import run
from memnet.errors import StoreError
from tests import killed
from tests.postgres.test_postgres_failures import noise, refused, role, schema_of, texts
from tests.postgres.test_postgres_lost import kill_clients
from tests.postgres_server import Server, running_server
from tests.postgres_stores import address, address_of, cache_folder, new_address
from tests.processes.test_concurrency import put_round, read_round
from tests.toy import passage, source
from tests.unit.test_store import encode, open_store
from tests.waiting import repeating, until

__all__ = ["address", "cache_folder"]


def test_200_kills_of_writers_readers_and_the_server_lose_nothing() -> None:
    # Below the 300 s after which a test is taken to hang.
    result = run(minutes=3, writers=6, readers=4, kills=200)
    assert sum(result["killed"].values()) == 200
    assert result["events"]["done"] > 1000
    assert (result["wrong_reads"], result["lost_or_halved"], result["problems"]) == ([], [], [])


def test_killed_clients_leave_nothing_half_written(address: str) -> None:
    kill_clients(address, 40)


def test_a_server_of_an_earlier_version() -> None:
    with running_server(16) as server:
        place = address_of(server, "old")
        with closing(open_store(place)) as store:
            store.put([source("a", passage("a light")), source("b", passage("a boat"))], encode)
            store.delete(["b"])
            assert store.search_dense(encode(["light"])[0], 3).mask.sum() == 1
            assert store.search_lexical(["light"], 3).mask.sum() == 1
            assert store.verify() == []


def test_a_killed_server_is_waited_for() -> None:
    with running_server(durable=True) as server:
        place = address_of(server, "crash")
        with closing(killed.open_store(place, create=True)) as store:
            done = [0]
            put_round(store, 0)

            def reaches(count: int) -> bool:
                return len(done) >= count

            def read() -> None:
                before = done[-1]
                with _but_for_lost_ones():
                    assert read_round(store) >= before

            def write() -> None:
                put_round(store, done[-1] + 1)
                done.append(done[-1] + 1)

            with repeating(read, threads=1), repeating(write, threads=1):
                for crash in (True, False):
                    until(partial(reaches, len(done) + 3))
                    if crash:
                        server.kill()
                        server.start()
            # All that was acknowledged is there, and nothing half-done.
            assert read_round(store) == done[-1]
            assert store.verify() == []


@contextmanager
def _but_for_lost_ones() -> Iterator[None]:
    """What is read within one commit can't go on over another connection, and says so."""
    try:
        yield
    except StoreError as error:
        if "was lost" not in str(error):
            raise


def test_a_full_disk(postgres: Server) -> None:
    folder = postgres.folder / "small"
    folder.mkdir(exist_ok=True)
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder],  # noqa: S607
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may make a small disk")
    try:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(1 << 20))
        shutil.chown(folder, postgres.folder.owner())
        folder.chmod(0o700)
        postgres.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        tight = "ALTER ROLE tight SET default_tablespace = 'small'"
        with (
            role(postgres, "tight", tight, login="LOGIN SUPERUSER"),
            new_address(postgres) as address,
        ):
            place = address_of(postgres, schema_of(address), "tight")
            with closing(open_store(place)) as store:
                store.put([source("a", passage("a light"))], encode)
                chance, kept = random.Random(0), 0
                with refused("No space left on device.*kept: free space .*verify --repair"):
                    for kept in range(100):
                        store.put([source("big", passage(noise(chance, 200_000 + kept)))], encode)
                assert kept > 1
                held = {slot.source: len(slot.text) for slot in store.last_passages(9)}
                assert held == {"a": 7, "big": 200_000 + kept - 1}
                assert store.search_dense(encode(["light"])[0], 3).mask.sum() == 2
                ballast.unlink()
                store.delete(["big"])
                store.put([source("b", passage("a boat"))], encode)
                assert texts(store) == ["a boat", "a light"]
                assert store.verify() == []
        postgres.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", folder], check=True)  # noqa: S607
        folder.rmdir()
