"""Addresses of stores on PostgreSQL: what they state, and that their passwords stay hidden."""

import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg")

from memnet.errors import DependencyError, InputError, StoreError
from memnet.storage.place import Address, hide_passwords, is_address
from memnet.storage.postgres.session import Session

MARK = "Zq9"
"""Of generated passwords, and in no other part."""


def stated(**parameters: str) -> dict[str, str]:
    return {"dbname": "d", **parameters}


@pytest.mark.parametrize(
    ("text", "parameters", "others"),
    [
        (
            "postgresql://ann:s%40fe@db.example:5433/notes?schema=my%20notes&index=exact"
            "&sslmode=verify-full&sslrootcert=/etc/ca.pem",
            {"user": "ann", "password": "s@fe", "host": "db.example", "port": "5433",
             "dbname": "notes", "sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"},
            ("my notes", "exact"),
        ),
        ("postgres://h/d", stated(host="h"), ("memnet", "hnsw")),
        ("POSTGRESQL://h/d", stated(host="h"), ("memnet", "hnsw")),
        ("postgresql:///d", stated(), ("memnet", "hnsw")),
        ("postgresql://[::1]:5433/d", stated(host="::1", port="5433"), ("memnet", "hnsw")),
        ("postgresql:///d?host=/run/pg&port=5433", stated(host="/run/pg", port="5433"),
         ("memnet", "hnsw")),
        ("postgresql://h/d?user=ann&password=pw", stated(host="h", user="ann", password="pw"),  # noqa: S106
         ("memnet", "hnsw")),
        ("postgresql://g,h:1/d?target_session_attrs=prefer-standby",
         stated(host="g,h", port=",1", target_session_attrs="prefer-standby"), ("memnet", "hnsw")),
        # As people type it; whatever is before the last @ is no host.
        ("postgresql://ann:p@w@h/d", stated(host="h", user="ann", password="p@w"),  # noqa: S106
         ("memnet", "hnsw")),
        # A plus is no space in an address of PostgreSQL.
        ("postgresql://h/d?schema=a+b", stated(host="h"), ("a+b", "hnsw")),
        ("postgresql://h/d?schema=%C3%9Cbung", stated(host="h"), ("Übung", "hnsw")),
        (f"postgresql://h/d?schema={'x' * 63}", stated(host="h"), ("x" * 63, "hnsw")),
    ],
)  # fmt: skip
def test_addresses_state(text: str, parameters: dict[str, str], others: tuple[str, str]) -> None:
    assert is_address(text)
    address = Address.parse(text)
    assert address.parameters == parameters
    assert (address.schema, address.index) == others
    again = Address.parse(address.shown)
    assert again.shown == address.shown
    assert {**again.parameters, "password": ""} == {**parameters, "password": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory", "expected postgresql://HOST/DATABASE"),
        ("postgresql://h", "names no database"),
        ("postgresql://h/?schema=a", "names no database"),
        ("postgresql://h/d?schemas=a", 'invalid URI query parameter: "schemas"'),
        ("postgresql://h/d?schema=a&schema=b", "two values"),
        ("postgresql://h/d?schema", "schema=NAME"),
        ("postgresql://h/d?schema=", "schema=NAME"),
        ("postgresql://h:0/d", "malformed port"),
        ("postgresql://h:65536/d", "malformed port"),
        ("postgresql://h:x/d", "malformed port"),
        ("postgresql://h:٣/d", "malformed port"),
        ("postgresql://[::1/d", "can't be read"),
        ("postgresql://h/d?index=flat", "index 'flat'; expected hnsw or exact"),
        (f"postgresql://h/d?schema={'x' * 64}", "more than 63 bytes"),
        (f"postgresql://h/d?schema={'%C3%BC' * 32}", "more than 63 bytes"),
        ("postgresql://h/d?schema=pg_notes", "PostgreSQL's own"),
        ("postgresql://h/d?schema=information_schema", "PostgreSQL's own"),
        ("postgresql://h/d?schema=a%00b", "unprintable schema"),
        ("postgresql://h/a%0Ab", "a control character"),
        ("postgresql://h/%80", "UTF-8"),
        ("postgresql://h/\udc80", "UTF-8"),
        ("postgresql://h/d#a", "write @ as %40"),
        ("postgresql://u:a/b@h/d", "write @ as %40"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        Address.parse(text)
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@given(
    password=st.builds(f"{{}}{MARK}{{}}".format, st.text(max_size=5), st.text(max_size=5)),
    name=st.sampled_from(["password", "sslpassword", "pass%77ord"]),
)
def test_passwords_are_in_no_text(password: str, name: str) -> None:
    escaped = quote(password.replace("\0", ""), safe="", errors="replace")
    for text in (f"postgresql://ann:{escaped}@h/d", f"postgresql://h/d?{name}={escaped}&schema=s"):
        try:
            shown: Any = Address.parse(text)
        except InputError as error:
            shown = error
        assert MARK not in f"{shown} {shown!r} {[shown]}"


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
    with pytest.raises(InputError) as raised:
        Address.parse(f"postgresql://h/d?password=a&{MARK}=b")
    assert MARK not in str(raised.value)


def test_folders_are_no_addresses() -> None:
    for place in ("memory", "/postgresql://h/d", "postgresql:/h/d", "mysql://h/d", Path("a"), None):
        assert not is_address(place)


def test_schemas_are_quoted() -> None:
    address = Address.parse("postgresql://h/d?schema=a%22;%20DROP%20TABLE%20slot;%20--")
    assert address.quoted_schema == '"a""; DROP TABLE slot; --"'


def test_files_of_a_store_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)

    def folder(rest: str) -> Path:
        return Address.parse(f"postgresql://{rest}").cache_folder()

    plain = folder("h/d")
    assert plain.is_relative_to(tmp_path / "memnet")
    assert not plain.exists()
    same = ["ann:pw@h/d", "h:5432/d", "H/d", "h/d?index=exact&sslmode=require"]
    assert {folder(one) for one in same} == {plain}
    others = ["h/d?schema=notes", "h/e", "g/d", "h:5433/d", "/d"]
    assert len({folder(one) for one in others} | {plain}) == 6
    monkeypatch.setenv("PGHOST", "h")
    assert folder("/d") == plain
    monkeypatch.setenv("PGPORT", "5433")
    assert folder("h/d") == folder("h:5433/d")


def test_a_server_is_told_all_and_its_error_has_no_password() -> None:
    """Against a server that takes a login, asks for a password, and refuses it."""
    said: dict[str, str] = {}
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        peer, _ = listener.accept()
        with peer, peer.makefile("rb") as given:
            (length,) = struct.unpack("!i", given.read(4))
            *start, _, _ = given.read(length - 4)[4:].split(b"\0")
            texts = [part.decode() for part in start]
            said.update(zip(texts[::2], texts[1::2], strict=True))
            peer.sendall(b"R" + struct.pack("!ii", 8, 3))  # in clear text
            _, length = struct.unpack("!ci", given.read(5))
            said["password"] = given.read(length - 4)[:-1].decode()
            fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
            peer.sendall(b"E" + struct.pack("!i", len(fields) + 4) + fields)

    thread = threading.Thread(target=refuse)
    thread.start()
    port = listener.getsockname()[1]
    text = f"postgresql://ann:{MARK}%40@127.0.0.1:{port}/my%20notes?sslmode=disable&schema=a%20%5C"
    with pytest.raises(StoreError, match="refuses the user ann") as raised:
        Session(Address.parse(text), 5)
    thread.join()
    listener.close()
    assert MARK not in f"{raised.value} {raised.value!r}"
    assert said["password"] == f"{MARK}@"
    assert (said["user"], said["database"]) == ("ann", "my notes")
    assert said["application_name"] == "memnet"
    assert '-c search_path="a\\ \\\\",\\ public' in said["options"]


def test_without_psycopg_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DependencyError, match=r"pip install 'memnet-qa\[postgres\]'"):
        Address.parse("postgresql://h/d")
