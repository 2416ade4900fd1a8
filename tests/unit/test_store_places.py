"""Wherever a store is named, it may be a folder or an address on PostgreSQL."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from memnet import Document, Engine
from memnet.cli.doctor import list_settings
from memnet.cli.main import memnet, run
from memnet.cli.options import commands, options_of, store_path
from memnet.errors import InputError, StoreError
from memnet.storage.overview import list_namespaces, list_sources, overview, writer
from memnet.storage.place import (
    DATABASE,
    Address,
    StorePlace,
    files_folder,
    place_name,
    store_place,
)
from memnet.storage.sqlite.connection import SqliteConnection as Connection
from tests.waiting import completed

ADDRESS = "postgresql://ann:Zq9@h/d?schema=notes"
SHOWN = "postgresql://ann@h/d?schema=notes"
SECRET = "Zq9"  # noqa: S105
ALL_COMMANDS = [
    pytest.param(command, id=" ".join(path))
    for path, command in commands(memnet)
    if "store" in options_of(command)
]


@pytest.fixture(autouse=True)
def _nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("config", "cache", "data"):
        path = tmp_path / folder
        monkeypatch.setattr(f"platformdirs.user_{folder}_path", lambda name, path=path: path / name)
    for name in ("MEMNET_STORE", "PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[StorePlace]:
    """The stores that commands were called with."""
    taken: list[StorePlace] = []
    monkeypatch.setattr(
        memnet.commands["info"], "callback", lambda store, as_json: taken.append(store_path(store))
    )
    return taken


def test_store_places_are_folders_or_addresses(tmp_path: Path) -> None:
    assert store_place(ADDRESS) == ADDRESS
    assert store_place("a/b/") == Path("a/b")
    assert store_place(tmp_path) == tmp_path
    assert store_place("postgresql") == Path("postgresql")
    with pytest.raises(InputError, match="names no database"):
        store_place("postgresql://h")
    assert (place_name(ADDRESS), place_name(tmp_path)) == (SHOWN, str(tmp_path))
    assert place_name(f"postgresql://ann:{SECRET}/@h") == (
        "an address of PostgreSQL that can't be used"
    )
    assert files_folder(tmp_path) == tmp_path
    assert files_folder(ADDRESS) == Address.parse(ADDRESS).cache_folder()


def test_a_path_made_of_an_address_makes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (Path(ADDRESS), str(Path(ADDRESS))):
        with pytest.raises(InputError, match="give the address as text") as raised:
            Engine.open(given, create=True)
        assert SECRET not in str(raised.value)
        with pytest.raises(InputError, match="give the address as text"):
            Engine.import_bundle("memory.zip", given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["mysql", "sqlite", "postgres+psycopg", "file", "https"])
def test_addresses_of_anything_else_make_no_folder(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = f"{scheme}://ann:{SECRET}@h/d"
    done = CliRunner().invoke(memnet, ["info", "--store", given])
    assert done.exit_code == 2
    assert f"begins with {scheme}://; expected a folder, or postgresql://HOST/DATABASE" in " ".join(
        done.output.split()
    )
    assert SECRET not in done.output
    with pytest.raises(InputError, match="expected a folder"):
        Engine.open(given, create=True)
    assert list(tmp_path.iterdir()) == []
    assert store_place("C:/memory") == Path("C:/memory")


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_every_command_takes_both(command: click.Command, tmp_path: Path) -> None:
    option, context = options_of(command)["store"], click.Context(command)
    assert option.process_value(context, ADDRESS) == ADDRESS
    assert option.process_value(context, str(tmp_path)) == tmp_path
    with pytest.raises(click.BadParameter, match="names no database"):
        option.process_value(context, "postgresql://h")


def test_no_command_names_a_store_otherwise() -> None:
    assert len(ALL_COMMANDS) > 15
    others = [
        (path, parameter.name)
        for path, command in commands(memnet)
        for parameter in command.params
        if "store" in (parameter.name or "") and parameter is not options_of(command).get("store")
    ]
    assert others == []


def test_options_variables_and_settings_name_both(
    stores: list[StorePlace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config" / "memnet" / "config.toml"
    config.parent.mkdir(parents=True)
    for given, expected in ((ADDRESS, ADDRESS), (str(tmp_path), tmp_path)):
        stores.clear()
        assert run(["info", "--store", given]) == 0
        for name in ("MEMNET_STORE", "MEMNET_INFO_STORE"):
            with monkeypatch.context() as patched:
                patched.setenv(name, given)
                assert run(["info"]) == 0
        for line in (f"store = {given!r}", f"[info]\nstore = {given!r}"):
            config.write_text(line)
            assert run(["info"]) == 0
        config.unlink()
        assert stores == [expected] * 5


def test_what_is_shared_is_a_place_for_commands_without_the_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMNET_STORE", ADDRESS)
    assert store_path(None) == ADDRESS
    monkeypatch.setenv("MEMNET_STORE", "memory")
    assert store_path(None) == Path("memory")
    monkeypatch.setenv("MEMNET_STORE", "postgresql://h")
    with pytest.raises(InputError, match="names no database"):
        store_path(None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("postgresql://ann:Zq9@h", "names no database"),
        ("postgresql://ann:Zq9@h:x/d", "malformed port"),
        ("postgresql://ann:Z/Zq9@h/d", "write @ as %40, / as %2F"),
        ("postgresql://ann:Zq9@h/d?index=flat", "expected hnsw or exact"),
        ("postgresql://ann:Zq9@h/d?schema=pg_a", "PostgreSQL's own"),
        ("postgresql://ann:Zq9@h/d?shema=a", 'parameter: "shema"'),
        ("postgresql:/ann:Zq9@h/d", "give the address as text, with two slashes"),
    ],
)
def test_bad_addresses_are_one_line(
    given: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(f"store = {given!r}")
    for arguments, environment, where in (
        (["info", "--store", given], {}, "'--store'"),
        (["info"], {"MEMNET_STORE": given}, ""),
        (["--config", "config.toml", "info"], {}, ""),
    ):
        done = CliRunner().invoke(memnet, arguments, env=environment)
        assert done.exit_code == 2
        (line,) = [line for line in done.output.splitlines() if line.startswith("Error: ")]
        assert done.output.endswith(f"{line}\n")
        assert where in line
        assert message in line
        assert SECRET not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_an_address_in_the_wrong_place_keeps_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["info", ADDRESS]) == 2
    assert run(["--config", ADDRESS, "info"]) == 1
    shown = capsys.readouterr().err
    assert "unexpected extra argument (postgresql://ann:***@h/d?schema=notes)" in shown
    assert "the settings file postgresql:/ann:***@h/d?schema=notes" in shown
    assert SECRET not in shown


def test_the_settings_of_a_doctor_have_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_STORE", ADDRESS)
    defaults = {"info": {"store": f"postgresql://ann:{SECRET}@h"}}
    found = {one["origin"]: one["value"] for one in list_settings(memnet, defaults, tmp_path)}
    assert found == {"$MEMNET_STORE": SHOWN}
    monkeypatch.delenv("MEMNET_STORE")
    found = {one["origin"]: one["value"] for one in list_settings(memnet, defaults, tmp_path)}
    assert found == {str(tmp_path): "an address of PostgreSQL that can't be used"}


@contextmanager
def answering(found: Connection | Exception | None) -> Iterator[list[float]]:
    """Let a server answer with a connection, none, or an error; gives how long it might take."""
    waits: list[float] = []

    def connect(address: Address, timeout: float) -> Connection | None:
        assert address == Address.parse(ADDRESS)
        waits.append(timeout)
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memnet.storage.overview._connect_server", connect)
        yield waits


def test_looking_into_a_database_is_as_into_a_folder(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.ingest(Document(id="notes/a", text="A lamp."))
    toy_engine.ingest(Document(id="b", text="A boat."), namespace="harbour")
    folder = tmp_path / "store"
    looks: list[tuple[Any, ...]] = [(overview,), (list_sources, "notes/"), (list_namespaces,)]
    for look, *arguments in looks:
        connection = Connection(folder / DATABASE)
        with answering(connection):
            assert look(ADDRESS, *arguments) == look(folder, *arguments) != []
        with pytest.raises(StoreError, match="closed"):
            connection.rows("SELECT 1")
    with answering(None):
        assert (overview(ADDRESS), list_sources(ADDRESS, ""), list_namespaces(ADDRESS)) == (
            None, [], [],
        )  # fmt: skip
    assert writer(ADDRESS) is None


def completions(*words: str) -> list[str]:
    """What is completed for the last of the words."""
    *before, last = words
    found = ShellComplete(memnet, {}, "memnet", "_MEMNET_COMPLETE").get_completions(before, last)
    return [item.value for item in found]


def test_completion_asks_the_server_and_is_silent_without_one(
    toy_engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_engine.ingest(Document(id="lamp", text="A lamp."), namespace="harbour")
    store = ("--store", ADDRESS)
    database = tmp_path / "store" / DATABASE
    with answering(Connection(database)) as waits:
        assert completions("forget", *store, "--namespace", "harbour", "l") == ["lamp"]
    with answering(Connection(database)):
        assert completions("ask", *store, "--namespace", "h") == ["harbour"]
    with answering(StoreError("no server answers")) as failed:
        assert completions("forget", *store, "l") == []
        assert completions("ask", *store, "--namespace", "h") == []
    assert max(waits + failed) <= 1
    assert completions("forget", "--store", "postgresql://h", "l") == []
    assert capsys.readouterr() == ("", "")


def examined(capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[dict[str, Any], str]:
    """What the doctor says of the address: as JSON, and to people."""
    assert run(["doctor", "--store", ADDRESS, "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    assert run(["doctor", "--store", ADDRESS]) == code
    lines = capsys.readouterr().out
    assert SECRET not in lines + json.dumps(report)
    return report, lines


def test_the_doctor_looks_into_a_database(
    toy_engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_engine.ingest(Document(id="a", text="A lamp."))
    with answering(Connection(tmp_path / "store" / DATABASE)):
        assert run(["doctor", "--store", ADDRESS, "--json"]) == 1  # of a toy's encoder
    found = capsys.readouterr().out
    assert json.loads(found)["store"]["counts"]["slots"] == 1
    assert f"the store {SHOWN} was made with the encoder 'toy" in found
    with answering(None):
        report, lines = examined(capsys)
    assert report["store"].items() >= {"path": SHOWN, "exists": False}.items()
    assert f"{SHOWN} (missing)" in lines
    assert str(files_folder(ADDRESS)) in lines
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "psycopg", None)
        assert run(["doctor", "--store", ADDRESS]) == 1
        assert "pip install 'memnet-qa[postgres]'" in capsys.readouterr().err
    refusal = StoreError(f"the server of {SHOWN} does not answer")
    with answering(refusal):
        report, lines = examined(capsys, 1)
    assert report["problems"] == [str(refusal)]
    assert str(refusal) in lines


def test_servers_of_a_protocol_open_the_address_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[StorePlace] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memnet.cli.options.open_engine", lambda place, **_: opened.append(place))
    monkeypatch.setattr("memnet.mcp.serve_stdio", lambda open_engine, **_: open_engine())
    assert run(["mcp", "--store", ADDRESS]) == 0
    assert run(["mcp", "--store", "memory"]) == 0
    assert opened == [ADDRESS, tmp_path / "memory"]


@pytest.mark.parametrize(
    "arguments",
    [["doctor", "--store", "memory"], ["tell", "Ann likes tea.", "--store", "memory"]],
    ids=lambda arguments: arguments[0],
)
def test_who_has_no_server_loads_nothing_for_one(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "memnet", *arguments]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = completed(command, cwd=tmp_path, env=environment)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in loaded
    assert "psycopg" not in loaded
