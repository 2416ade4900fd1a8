"""Addresses of stores on PostgreSQL: what they state, and that their passwords stay hidden."""

import asyncio
import struct
import sys
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memnet.storage.postgres.driver import check_driver

from memnet.errors import DependencyError, InputError
from memnet.storage.postgres.address import Address, Server, hide_passwords, is_address

ALL = (
    "postgresql://ann:s%40fe@db.example:5433/notes?schema=my%20notes&index=hnsw"
    "&readers=one,two:5434,[::1]:5435,/run/pg:5436&sslmode=verify-full&sslrootcert=/etc/ca.pem"
)
ADDRESS = Address(
    database="notes",
    host="db.example",
    port=5433,
    user="ann",
    password="s@fe",  # noqa: S106
    schema="my notes",
    index="hnsw",
    readers=(Server("one"), Server("two", 5434), Server("::1", 5435), Server("/run/pg", 5436)),
    options=(("sslmode", "verify-full"), ("sslrootcert", "/etc/ca.pem")),
)
MARK = "Zq9"
"""Of generated passwords, and in no other part."""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (ALL, ADDRESS),
        ("postgres://h/d", Address("d", host="h")),
        ("POSTGRESQL://h/d", Address("d", host="h")),
        ("postgresql:///d", Address("d")),
        ("postgresql://:5433/d", Address("d", port=5433)),
        ("postgresql://@/d", Address("d")),
        ("postgresql://[::1]/d", Address("d", host="::1")),
        ("postgresql://[::1]:5433/d", Address("d", host="::1", port=5433)),
        ("postgresql://%2Frun%2Fpg/d", Address("d", host="/run/pg")),
        ("postgresql:///d?host=/run/pg&port=5433", Address("d", host="/run/pg", port=5433)),
        ("postgresql://h/d?user=ann&password=pw", Address("d", "h", None, "ann", "pw")),
        # As people type it; whatever is before the last @ is no host.
        ("postgresql://ann:p@w@h/d", Address("d", "h", None, "ann", "p@w")),
        ("postgresql://ann:a:b@h/d", Address("d", "h", None, "ann", "a:b")),
        ("postgresql://h/a%2Fb%20c", Address("a/b c", host="h")),
        # A plus is no space in an address of PostgreSQL.
        ("postgresql://h/d?schema=a+b", Address("d", host="h", schema="a+b")),
        ("postgresql://h/d?schema=%C3%9Cbung", Address("d", host="h", schema="Übung")),
        (f"postgresql://h/d?schema={'x' * 63}", Address("d", host="h", schema="x" * 63)),
    ],
)
def test_addresses_state(text: str, address: Address) -> None:
    assert is_address(text)
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory", "expected postgresql://HOST/DATABASE"),
        ("postgresql://h", "names no database"),
        ("postgresql://h/?schema=a", "names no database"),
        ("postgresql://h/d?schemas=a", "unknown parameter 'schemas'; expected schema, index,"),
        ("postgresql://h/d?application_name=a", "unknown parameter 'application_name'"),
        ("postgresql://h/d?schema=a&schema=b", "two values of schema"),
        ("postgresql://h/d?host=g", "two values of host"),
        ("postgresql://h:1/d?port=2", "two values of port"),
        ("postgresql://h/d?schema", "no value of schema"),
        ("postgresql://h/d?schema=", "no value of schema"),
        ("postgresql://h:0/d", "a port that is no number from 1 to 65535"),
        ("postgresql://h:65536/d", "a port that is no number"),
        ("postgresql://h:x/d", "a port that is no number"),
        ("postgresql://h:٣/d", "a port that is no number"),
        ("postgresql://h/d?readers=a:x", "a port that is no number"),
        ("postgresql://h/d?readers=a,,b", "a reader without a host"),
        ("postgresql://h/d?readers=:5433", "a reader without a host"),
        ("postgresql://g,h/d", "several hosts"),
        ("postgresql://[::1/d", "malformed IPv6 address"),
        ("postgresql://[::1]x/d", "malformed IPv6 address"),
        ("postgresql://h/d?index=flat", "index 'flat'; expected faiss, hnsw, exact"),
        ("postgresql://h/d?sslmode=on", "sslmode 'on'; expected disable, allow,"),
        (f"postgresql://h/d?schema={'x' * 64}", "more than 63 bytes"),
        (f"postgresql://h/d?schema={'%C3%BC' * 32}", "more than 63 bytes"),
        ("postgresql://h/d?schema=pg_notes", "PostgreSQL's own"),
        ("postgresql://h/d?schema=information_schema", "PostgreSQL's own"),
        ("postgresql://h/d?schema=a%00b", "a control character"),
        ("postgresql://h/a%0Ab", "a control character"),
        ("postgresql://h/%80", "not UTF-8"),
        ("postgresql://h/\udc80", "not UTF-8"),
        ("postgresql://h/d#a", "write @ as %40"),
        ("postgresql://u:a/b@h/d", "write @ as %40"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        Address.parse(text)
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


_NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=15)
_HOSTS = st.one_of(
    st.from_regex(r"[A-Za-z0-9.-]{1,20}", fullmatch=True),
    st.ip_addresses(v=6).map(str),
    st.from_regex(r"/[a-z./]{0,20}", fullmatch=True),
)
_PORTS = st.none() | st.integers(1, 65_535)
_ADDRESSES = st.builds(
    Address,
    database=_NAMES,
    host=st.just("") | _HOSTS,
    port=_PORTS,
    user=st.just("") | _NAMES,
    schema=_NAMES.filter(lambda name: not name.startswith("pg_")),
    index=st.sampled_from(("faiss", "hnsw", "exact")),
    readers=st.lists(st.builds(Server, _HOSTS, _PORTS), max_size=3).map(tuple),
    options=st.dictionaries(
        st.sampled_from(("sslmode", "sslcert", "passfile")), st.just("require"), max_size=3
    ).map(lambda options: tuple(sorted(options.items()))),
)


@given(address=_ADDRESSES)
def test_the_text_of_an_address_states_it_again(address: Address) -> None:
    assert is_address(str(address))
    assert Address.parse(str(address)) == address


@given(address=_ADDRESSES, before=st.text(max_size=5), after=st.text(max_size=5))
def test_passwords_are_in_no_text(address: Address, before: str, after: str) -> None:
    password = f"{before}{MARK}{after}"
    options = (*address.options, ("sslpassword", password))
    secret = replace(address, password=password, options=options)
    assert MARK not in f"{secret} {secret!r} {[secret]}"
    assert Address.parse(str(secret)) == address


@given(
    before=st.text("ab1/?#@:&=%[], ", max_size=6),
    after=st.text("ab1/?#@:&=%[], ", max_size=6),
    query=st.sampled_from(("", "?schema=a", "?sslpassword=a", "?nothing=a")),
)
def test_malformed_passwords_are_in_no_text(before: str, after: str, query: str) -> None:
    """Whatever of a password that was not escaped looks like a port, a path or a parameter."""
    text = f"postgresql://ann:{before}{MARK}{after}@h/d{query}"
    try:
        shown = repr(Address.parse(text))
    except InputError as error:
        shown = str(error)
    assert MARK not in shown
    assert MARK not in hide_passwords(f"unexpected argument ({text})")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://ann:pw@h/d", "postgresql://ann:***@h/d"),
        ("postgres:/ann:p/w@h/d: no such file", "postgres:/ann:***@h/d: no such file"),
        ("?password=a&sslpassword=b c", "?password=***&sslpassword=*** c"),
        ("postgresql://ann@h:5432/d", "postgresql://ann@h:5432/d"),
        ("ann@example: no such file", "ann@example: no such file"),
    ],
)
def test_passwords_in_messages_are_hidden(text: str, hidden: str) -> None:
    assert hide_passwords(text) == hidden


def test_a_password_with_an_ampersand_is_in_no_error() -> None:
    with pytest.raises(InputError, match="unknown parameter;") as raised:
        Address.parse(f"postgresql://h/d?password=a&{MARK}=b")
    assert MARK not in str(raised.value)


def test_folders_are_no_addresses() -> None:
    for place in ("memory", "/postgresql://h/d", "postgresql:/h/d", "mysql://h/d", Path("a"), None):
        assert not is_address(place)


def test_schemas_are_quoted() -> None:
    assert Address("d").quoted_schema == '"memnet"'
    assert Address("d", schema='a"; DROP TABLE slot; --').quoted_schema == (
        '"a""; DROP TABLE slot; --"'
    )


def test_files_of_a_store_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    plain = Address("d", host="h")
    folder = plain.cache_folder()
    assert folder.is_relative_to(tmp_path / "memnet")
    assert not folder.exists()
    same = [
        replace(plain, user="ann", password="pw"),  # noqa: S106
        replace(plain, port=5432),
        replace(plain, host="H"),
        replace(plain, index="hnsw", readers=(Server("r"),), options=(("sslmode", "require"),)),
    ]
    assert {one.cache_folder() for one in same} == {folder}
    others = [
        Address("d", host="h", schema="notes"),
        Address("e", host="h"),
        Address("d", host="g"),
        Address("d", host="h", port=5433),
        Address("d"),
    ]
    assert len({one.cache_folder() for one in others} | {folder}) == 6
    monkeypatch.setenv("PGHOST", "h")
    assert Address("d").cache_folder() == folder
    monkeypatch.setenv("PGPORT", "5433")
    assert plain.cache_folder() == others[3].cache_folder()


def test_asyncpg_is_told_all_and_its_error_has_no_password() -> None:
    """Against a server that takes a login, asks for a password, and refuses it."""
    said: dict[str, str] = {}

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!i", await reader.readexactly(4))
        *start, _, _ = (await reader.readexactly(length - 4))[4:].split(b"\0")
        texts = [part.decode() for part in start]
        said.update(zip(texts[::2], texts[1::2], strict=True))
        writer.write(b"R" + struct.pack("!ii", 8, 3))  # in clear text
        _, length = struct.unpack("!ci", await reader.readexactly(5))
        said["password"] = (await reader.readexactly(length - 4))[:-1].decode()
        fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
        writer.write(b"E" + struct.pack("!i", len(fields) + 4) + fields)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def log_in() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            text = f"postgresql://ann:{MARK}%40@127.0.0.1:{port}/my%20notes?sslmode=disable"
            address = Address.parse(text)
            reader = replace(address, host="unreachable.invalid", port=1)
            for arguments in (
                address.connect_arguments(),
                reader.connect_arguments(Server("127.0.0.1", port)),
                replace(address, host="unreachable.invalid").connect_arguments(Server("127.0.0.1")),
            ):
                said.clear()
                with pytest.raises(asyncpg.InvalidPasswordError) as raised:
                    await asyncpg.connect(**arguments)
                assert MARK not in f"{raised.value} {raised.value!r}"
                assert said["password"] == f"{MARK}@"
                assert (said["user"], said["database"]) == ("ann", "my notes")
                assert said["application_name"] == "memnet"

    asyncio.run(log_in())


def test_asyncpg_reads_the_files_of_an_address() -> None:
    """It is no use to name a certificate that is not looked at."""
    address = Address.parse("postgresql://h/d?sslmode=verify-full&sslrootcert=/no/such%20file")

    async def connect() -> None:
        await asyncpg.connect(**address.connect_arguments())

    with pytest.raises(FileNotFoundError):
        asyncio.run(connect())


def test_without_asyncpg_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DependencyError, match=r'pip install "memnet\[postgres\]"'):
        check_driver()
