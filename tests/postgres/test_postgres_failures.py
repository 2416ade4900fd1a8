"""What can't be done on a PostgreSQL server is an error of one line, and leaves nothing."""

import random
import string
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg")

from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage import MemoryStore, Scope
from memnet.text.english import query_terms
from tests.postgres_server import Server, programs, server_folder
from tests.postgres_stores import address, address_of, cache_folder, printed
from tests.toy import fact, passage, source
from tests.unit.test_store import encode, open_store
from tests.waiting import PATIENCE, until

__all__ = ["address", "cache_folder"]

PASSWORD = "Zq9-secret"  # noqa: S105


@contextmanager
def refused(complaint: str) -> Iterator[None]:
    """The block ends with an error of one line, without a password."""
    with pytest.raises(StoreError, match=complaint) as raised:
        yield
    assert "\n" not in str(raised.value)
    assert PASSWORD not in str(raised.value)


@contextmanager
def role(server: Server, name: str, *changes: str, login: str = "LOGIN") -> Iterator[str]:
    """A role of a server, for the length of the block, after some more statements."""
    server.execute(f"CREATE ROLE {name} {login}", *changes)
    try:
        yield name
    finally:
        server.execute(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def schema_of(place: str) -> str:
    return place.partition("schema=")[2]


def texts(store: MemoryStore) -> list[str]:
    return sorted(slot.text for slot in store.last_passages(100))


def test_what_is_not_there(postgres: Server, address: str, tmp_path: Path) -> None:
    nowhere = "postgresql://postgres@/postgres?host=%2Ftmp%2Fno-such-folder"
    with refused("can't be reached .* check that the server runs"):
        open_store(nowhere)
    with refused("can't be reached .* check that the server runs"):
        open_store("postgresql://postgres@127.0.0.1:1/postgres")
    with refused('database "elsewhere" does not exist; make the database with .createdb.'):
        open_store(address.replace("/postgres?", "/elsewhere?"))
    with refused("refuses the user nobody .* give the right user"):
        open_store(address_of(postgres, schema_of(address), "nobody"))
    with refused("there is no memnet store at .*; make one with 'memnet ingest'"):
        open_store(address, create=False)
    tables = f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema_of(address)}'"
    assert printed(postgres, tables) == "0"


_VERSION = "WHERE name = 'schema_version'"


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (f"UPDATE property SET value = '99' {_VERSION}", "has schema 99, .* upgrade"),
        (f"UPDATE property SET value = 'x' {_VERSION}", "that memnet did not write"),
        (f"UPDATE property SET name = 'schema', value = '8' {_VERSION}", "version .* before 0.1.0"),
        ("UPDATE property SET value = 'x/9' WHERE name = 'encoder'", "made with encoder x/9, not"),
        ("DROP TABLE source CASCADE", 'could not be read .*"source" does not exist'),
        ("DELETE FROM revision", "lacks its last commit; run 'memnet verify'"),
    ],
)
def test_what_is_no_store_of_this_version(
    postgres: Server, address: str, statement: str, complaint: str
) -> None:
    with closing(open_store(address)) as store:
        store.put([source("a", passage("a light"))], encode)
    postgres.execute(f"SET search_path = {schema_of(address)}; {statement}")
    with refused(complaint) as _, closing(open_store(address)) as store:
        store.sources.count()
        store.search_lexical(["light"], 3)
    if "x/9" in statement:
        with pytest.raises(EncoderMismatchError):
            open_store(address, create=False)


def test_a_wrong_password(postgres: Server, address: str) -> None:
    open_store(address).close()
    rules = postgres.data / "pg_hba.conf"
    before = rules.read_text()
    schema = schema_of(address)
    login = f"LOGIN SUPERUSER PASSWORD '{PASSWORD}'"
    with role(postgres, "guarded", login=login):
        rules.write_text(f"local all guarded scram-sha-256\n{before}")
        postgres.command("pg_ctl", "reload", "-D", postgres.data)
        try:
            right = address_of(postgres, schema, "guarded", PASSWORD)

            def is_guarded() -> bool:
                try:
                    open_store(address_of(postgres, schema, "guarded", "wrong")).close()
                except StoreError:
                    return True
                return False

            until(is_guarded, "the server takes any password")
            for password in ("", f"{PASSWORD}x"):
                with refused("refuses the user guarded .* the password in PGPASSWORD or ~/.pgpass"):
                    open_store(address_of(postgres, schema, "guarded", password))
            with closing(open_store(right, create=False)) as store:
                assert PASSWORD not in store.place
                assert store.counts().slots == 0
        finally:
            rules.write_text(before)
            postgres.command("pg_ctl", "reload", "-D", postgres.data)


def test_roles_with_few_rights(postgres: Server, address: str) -> None:
    schema = schema_of(address)
    with closing(open_store(address)) as store:
        store.put([source("a", passage("a light", "Orre"), fact("Orre", "in", "Kestle"))], encode)
    with role(postgres, "guest"):
        place = address_of(postgres, schema, "guest")
        with refused("permission denied for .*; give the role the rights on the schema"):
            open_store(place, create=False)
        for name, make in (
            ("schema_of_guest", '"CREATE SCHEMA schema_of_guest AUTHORIZATION guest"'),
            ("the guest's", """'CREATE SCHEMA "the guest'"'"'s" AUTHORIZATION guest'"""),
        ):
            line = f"the role guest may not make it .*: psql -d postgres -c {make}$"
            with refused(line):
                open_store(address_of(postgres, name, "guest"))
        postgres.execute(
            f"GRANT USAGE ON SCHEMA {schema} TO guest",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest",
        )
        with closing(open_store(place, create=False)) as store:
            assert texts(store) == ["a light"]
            assert store.search_dense(encode(["light"])[0], 3).mask.sum() == 1
            assert store.search_lexical(query_terms("light"), 3).mask.sum() == 1
            for write in (
                lambda: store.put([source("b", passage("a boat"))], encode),
                lambda: store.delete(["a"]),
                lambda: store.append(source("b", passage("a boat")), encode),
            ):
                with refused("permission denied.*nothing of this step was kept: give the role"):
                    write()
            assert store.verify() == []
        # Who may make tables there need not be one who may make schemas.
        postgres.execute("CREATE SCHEMA given AUTHORIZATION guest")
        with closing(open_store(address_of(postgres, "given", "guest"))) as store:
            store.put([source("b", passage("a boat"))], encode)
            assert store.verify() == []


def test_a_role_that_may_only_read(postgres: Server, address: str) -> None:
    with closing(open_store(address)) as store:
        store.put([source("a", passage("a light"))], encode)
    only_read = "ALTER ROLE reader SET default_transaction_read_only = on"
    with role(postgres, "reader", only_read, login="LOGIN SUPERUSER"):
        place = address_of(postgres, schema_of(address), "reader")
        with closing(open_store(place, create=False)) as store:
            assert store.search_dense(encode(["light"])[0], 3).mask.sum() == 1
            with refused("read-only transaction.*kept: use a role that may write"):
                store.put([source("b", passage("a boat"))], encode)
            assert texts(store) == ["a light"]


def test_a_new_store_for_a_role_that_may_only_read(postgres: Server, address: str) -> None:
    only_read = "ALTER ROLE reader SET default_transaction_read_only = on"
    with (
        role(postgres, "reader", only_read, login="LOGIN SUPERUSER"),
        refused("read-only transaction.*kept: use a role that may write"),
    ):
        open_store(address_of(postgres, "unmade", "reader"))


@contextmanager
def standby_of(server: Server) -> Iterator[Server]:
    """A server that copies another, and may only be read."""
    with server_folder() as folder:
        standby = Server(folder, programs())
        server.command(
            "pg_basebackup", "-D", standby.data, "-R", "-c", "fast", "-d", server.address()
        )
        standby.start()
        try:
            yield standby
        finally:
            standby.stop()


def test_a_standby_is_read_and_not_written(postgres: Server, address: str) -> None:
    with closing(open_store(address)) as store, standby_of(postgres) as standby:
        store.put([source("a", passage("a light"))], encode)
        place = address_of(standby, schema_of(address))
        copied = f"SELECT count(*) FROM {schema_of(address)}.source"
        until(lambda: printed(standby, copied) == "1", "the standby lags")
        with closing(open_store(place, create=False)) as copy:
            assert texts(copy) == ["a light"]
            assert copy.search_dense(encode(["light"])[0], 3).mask.sum() == 1
            store.put([source("b", passage("a boat"))], encode)
            until(lambda: texts(copy) == ["a boat", "a light"], "the standby lags")
            assert copy.search_dense(encode(["boat"])[0], 3).mask.sum() == 2
            for write in (
                lambda: copy.put([source("c", passage("a rope"))], encode),
                lambda: copy.append(source("c", passage("a rope")), encode),
            ):
                with refused("is a standby, which can't be written; name the primary server"):
                    write()
            # As an ingest begins, which makes a temporary table before it writes.
            with refused("is a standby"), copy.writing(sources_only=True):
                copy.sources.start_run()
            assert copy.verify() == []
        with refused("standby"):
            open_store(address_of(standby, "other"))
        # Several hosts: the first that is there and fits.
        hosts = f"/no-such-folder,{postgres.folder},{standby.folder}"
        several = f"postgresql://postgres@/postgres?host={hosts}&schema={schema_of(address)}"
        with closing(open_store(several, create=False)) as primary:
            primary.put([source("c", passage("a rope"))], encode)
        with (
            closing(open_store(f"{several}&target_session_attrs=prefer-standby")) as copy,
            refused("is a standby"),
        ):
            copy.put([source("d", passage("a bell"))], encode)


def test_a_statement_that_takes_too_long(postgres: Server, address: str) -> None:
    timeout = "ALTER ROLE hasty SET statement_timeout = '200ms'"
    with (
        closing(open_store(address)) as store,
        role(postgres, "hasty", timeout, login="LOGIN SUPERUSER"),
        closing(open_store(address_of(postgres, schema_of(address), "hasty"))) as hasty,
    ):
        store.put([source("a", passage("a light"))], encode)
        with store.changing():
            store.put([source("a", passage("a boat"))], encode)
            with refused("statement timeout.*nothing of this step was kept: raise statement_time"):
                hasty.put([source("a", passage("a rope"))], encode)
        assert texts(hasty) == ["a boat"]
        hasty.put([source("a", passage("a rope"))], encode)
        assert texts(store) == ["a rope"]
        assert store.verify() == []


def test_more_threads_than_connections(postgres: Server, address: str) -> None:
    open_store(address).close()
    with role(postgres, "few", f"GRANT ALL ON SCHEMA {schema_of(address)} TO few",
              f"GRANT ALL ON ALL TABLES IN SCHEMA {schema_of(address)} TO few",
              login="LOGIN CONNECTION LIMIT 3"):  # fmt: skip
        place = address_of(postgres, schema_of(address), "few")
        with closing(open_store(place, create=False)) as store:
            ended, wrong = threading.Barrier(6, timeout=PATIENCE), list[BaseException]()

            def count() -> None:
                try:
                    store.counts()
                except BaseException as error:
                    wrong.append(error)
                ended.wait()

            threads = [threading.Thread(target=count) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            assert len(wrong) == 4
            for error in wrong:
                with refused("has no free connection .* raise max_connections, or use fewer"):
                    raise error
            assert store.counts().slots == 0


def noise(chance: random.Random, length: int) -> str:
    return "".join(chance.choices(string.ascii_letters + string.digits, k=length))


HOSTILE = [
    "it's", 'a "b"', "back\\slash", "100% _like_", "$1 $$ ?", "'; DROP TABLE source; --",
    "\U0001f6a2 日本語 e\u0301", "tab\tline\nend\r", " ", "null", "{1,2}", "E'\\x00'",
]  # fmt: skip


def test_hostile_names_namespaces_and_texts_come_back(address: str) -> None:
    long_text = noise(random.Random(0), 1_000_000)
    with closing(open_store(address)) as store:
        sources = [
            source(
                text, passage(f"light {text}", text, [text], [text]), fact(text, text, text),
                namespace=text, origin=text, metadata={text: text},
            )
            for text in HOSTILE
        ]  # fmt: skip
        assert store.put(sources, encode, {text: text.encode() for text in HOSTILE}).added == 12
        store.put([source("long", passage(f"light {long_text} boat"))], encode)
    with closing(open_store(address, create=False)) as store:
        for text in HOSTILE:
            scope = Scope(text)
            (slot,) = store.last_passages(5, scope)
            assert (slot.source, slot.namespace, slot.title, slot.text, slot.metadata) == (
                text, text, text, f"light {text}", {text: text},
            )  # fmt: skip
            assert store.search_mentions([text], 5, scope) == {text: [slot.id]}
            assert slot.id in store.search_symbolic([text], 5, scope)[text]
            assert store.search_lexical(query_terms("light"), 5, scope).ids[0] == slot.id
            assert store.sources.get(text, text) is not None
            assert list(store.facts.subjects([text.casefold()])) == [text.casefold()]
        (long,) = store.last_passages(1, Scope(""))
        assert long.text == f"light {long_text} boat"
        assert store.search_lexical(query_terms("boat"), 5).mask.sum() == 1
        assert store.verify() == []
        for text in HOSTILE:
            assert store.delete([text], text) == 2
        assert store.counts()[:3] == (1, 1, 0)


@pytest.mark.parametrize("place", ["name", "namespace", "text", "title", "symbol", "metadata"])
def test_a_null_character_is_refused(address: str, place: str) -> None:
    def made(text: str) -> Any:
        given: Callable[[str], str] = lambda own: text if own == place else "a"  # noqa: E731
        slot = passage(given("text"), given("title"), mentions=[given("symbol")])
        return source(given("name"), slot, namespace=given("namespace"), origin="x")

    with closing(open_store(address)) as store:
        store.put([source("other", passage("a light"))], encode)
        if place == "metadata":
            new = source("a", passage("a\0b"), metadata={"k": "a\0b"})
        else:
            new = made("a\0b")
        with refused(r"remove the character U\+0000 from the text"):
            store.put([new], encode)
        assert texts(store) == ["a light"]
        store.put([made("ab")], encode)
        assert store.verify() == []


def test_names_that_are_too_long_for_an_index(address: str) -> None:
    long_text = noise(random.Random(0), 20_000)
    with closing(open_store(address)) as store:
        for new in (
            source(long_text, passage("a light")),
            source("a", passage("a light", mentions=[long_text])),
        ):
            with refused("nothing of this step was kept: use shorter names"):
                store.put([new], encode)
        assert store.counts()[:3] == (0, 0, 0)
        store.put(
            [source(long_text[:2000], passage("a light", mentions=[long_text[:2000]]))], encode
        )
        assert store.verify() == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            "INSERT INTO mention (symbol, slot) VALUES (999, 1)",
            "1 rows of mention refer to a missing row of symbol",
        ),
        (
            "INSERT INTO slot_key VALUES (1, 999)",
            "1 rows of slot_key refer to a missing row of slot",
        ),
        (
            'UPDATE slot SET "end" = "end" + 1 WHERE id = 1',
            "holds values that memnet does not write",
        ),
    ],
)
def test_damage_of_rows_is_found(postgres: Server, address: str, damage: str, problem: str) -> None:
    store = open_store(address)
    store.put([source("a", passage("old light", "Orre Light", ["orre light"], ["kestle"]))], encode)
    assert store.verify() == []
    postgres.execute(f"SET search_path TO {schema_of(address)}; {damage}")
    found = store.verify()
    store.close()
    assert any(problem in one for one in found), found
