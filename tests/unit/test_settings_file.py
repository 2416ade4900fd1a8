"""Options from the environment and from the settings file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from memnet.cli.main import memnet, run
from memnet.cli.options import device_name, store_path
from memnet.cli.settings import (
    add_variables,
    commands,
    list_settings,
    load_settings,
    options_of,
    read_settings,
    unknown_variables,
)
from memnet.errors import InputError

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)
    for name in ("MEMNET_STORE", "MEMNET_DEVICE", "MEMNET_INDEX", "MEMNET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command line, and gives the values that the command was called with."""
    taken: dict[str, Any] = {}

    def takes(**values: Any) -> None:
        taken.update(values)

    for _, command in commands(memnet):
        if not isinstance(command, click.Group):
            monkeypatch.setattr(command, "callback", takes)

    def ask(*arguments: str) -> dict[str, Any]:
        taken.clear()
        done = CliRunner().invoke(memnet, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return dict(taken)

    return ask


def test_option_before_environment_before_file_before_default(
    asked: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config" / "memnet" / "config.toml"
    line = ("ask", "Who?")
    assert asked(*line)["top_k"] is None
    file.parent.mkdir(parents=True)
    file.write_text("[ask]\ntop-k = 2\nexplain = true\n")
    assert asked(*line)["top_k"] == 2
    assert asked(*line)["explain"] is True
    monkeypatch.setenv("MEMNET_ASK_TOP_K", "3")
    assert asked(*line)["top_k"] == 3
    assert asked(*line, "--top-k", "4")["top_k"] == 4
    monkeypatch.setenv("MEMNET_ASK_TOP_K", "")  # as if it were not there
    assert asked(*line)["top_k"] == 2


def test_shared_options_are_for_all_commands_that_have_them(
    asked: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('store = "/all"\nindex = "flat"\n[ask]\nstore = "/ask"\n')
    config = ("--config", str(file))
    assert asked(*config, "ask", "Who?")["store"] == Path("/ask")
    assert asked(*config, "sources")["store"] == Path("/all")
    assert "index" not in asked(*config, "sources")
    assert asked(*config, "train", "text")["store"] == Path("/all")
    monkeypatch.setenv("MEMNET_STORE", "/env")
    assert asked(*config, "sources")["store"] == Path("/env")
    assert asked(*config, "ask", "Who?")["store"] == Path("/env")
    monkeypatch.setenv("MEMNET_ASK_STORE", "/env-ask")
    assert asked(*config, "ask", "Who?")["store"] == Path("/env-ask")
    assert asked(*config, "sources")["store"] == Path("/env")


def test_what_is_shared_holds_for_commands_without_the_option(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('device = "cpu"\nstore = "elsewhere"\n')
    found: list[object] = []

    @click.group()
    @click.option(
        "--config", type=click.Path(path_type=Path), is_eager=True, callback=load_settings
    )
    def group(config: Path) -> None: ...

    @group.command()
    def command() -> None:
        found.extend([device_name(None), store_path(None), device_name("cuda")])

    _ = command
    done = CliRunner().invoke(group, ["--config", str(file), "command"], catch_exceptions=False)
    assert "unknown key 'device'" not in done.output
    assert found == ["cpu", Path("elsewhere"), "cuda"]
    assert device_name(None) == "auto"


def test_every_option_has_a_variable_named_as_it_is_typed() -> None:
    seen: set[str] = set()
    for path, command in commands(memnet):
        for name, option in options_of(command).items():
            own = "_".join(("MEMNET", *path, name)).upper().replace("-", "_")
            assert isinstance(option.envvar, list)
            assert option.envvar[0] == own
            assert own not in seen
            seen.add(own)
    assert {"MEMNET_ASK_JSON", "MEMNET_INGEST_AS", "MEMNET_TRAIN_FACTS_OUT", "MEMNET_QUIET"} <= seen
    kept = {variable for _, c in commands(memnet) for o in options_of(c).values()
            for variable in o.envvar or ()}  # fmt: skip
    assert {"MEMNET_STORE", "MEMNET_DEVICE", "MEMNET_INDEX", "MEMNET_MESSAGE_CAPACITY"} <= kept


def test_values_of_every_kind(asked: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[ask]\nas-of = 2026-01-12\nwhere = ["year=1990", "by=Ann"]\nmodel = "babi"\n'
        '[ingest]\nlearn = false\nexclude = "drafts/"\n[tell]\ncapacity = 7\n'
    )
    config = ("--config", str(file))
    values = asked(*config, "ask", "Who?")
    assert (values["as_of"], values["model"]) == ("2026-01-12", "babi")
    assert values["where"] == {"year": ["1990", 1990], "by": ["Ann"]}
    values = asked(*config, "ingest", "notes")
    assert (values["learn"], values["exclude"]) == (False, ("drafts/",))
    assert asked(*config, "tell", "A.")["capacity"] == 7
    monkeypatch.setenv("MEMNET_INGEST_LEARN", "yes")
    monkeypatch.setenv("MEMNET_TELL_CAPACITY", "8")
    assert asked(*config, "ingest", "notes")["learn"] is True
    assert asked(*config, "tell", "A.")["capacity"] == 8


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[ask]\ntopk = 3", "unknown key 'ask.topk'; did you mean 'top-k'?"),
        ("colour = 3", "unknown key 'colour'; known are"),
        ("[aks]\nhops = 3", "unknown key 'aks'; did you mean 'ask'?"),
        ("[train.fact]\nseed = 3", "unknown key 'train.fact'; did you mean 'facts'?"),
        ("[ask]\nquestion = 'Who?'", "unknown key 'ask.question'"),
        ("config = 'x'", "unknown key 'config'"),
        ("ask = 3", "ask is a value of type int; expected a table, [ask]"),
        ("[store]\na = 1", "store is a table; expected a value"),
        ("[ask]\nhops = 0", "ask.hops: 0 is not in the range 1<=x<=10"),
        ("[ask]\nhops = 'many'", "ask.hops: 'many' is not a valid integer range"),
        ("[ask]\nhops = true", "ask.hops is true or false; that is no value of --hops"),
        ("[ask]\nhops = [1]", "ask.hops is a list; that is no value of --hops"),
        ("[ask]\nwhere = ['x']", "ask.where: 'x' is no condition"),
        ("[ask]\nhops = 2.5", "ask.hops: '2.5' is not a valid integer range"),
        ("index = 'tree'", "index: 'tree' is not one of 'auto', 'flat', 'pq'"),
        ("[ask", "is not valid TOML: "),
        ("a = " + "[" * 5000, "is not valid TOML: "),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert run(["--config", str(file), "sources"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert said.count("\n") == 1
    assert str(file) in said
    assert complaint in said


def test_a_number_is_no_open_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("store = 987654")
    assert run(["--config", str(file), "sources"]) == 1
    assert capsys.readouterr().err == (
        "Error: there is no memnet store at 987654; make one with 'memnet ingest'\n"
    )


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--config", str(tmp_path / "none.toml"), "sources"]) == 1
    assert "none.toml can't be read (No such file or directory)" in capsys.readouterr().err
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert run(["--config", str(tmp_path / "binary.toml"), "sources"]) == 1
    assert "binary.toml is not valid TOML" in capsys.readouterr().err
    assert run(["--help", "--config", str(tmp_path / "none.toml")]) == 0


def test_origins_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[ask]\nhops = 2\ntop-k = 5\n[train.facts]\nseed = 3\n")
    monkeypatch.setenv("MEMNET_ASK_TOP_K", "6")
    monkeypatch.setenv("MEMNET_STORE", "s")
    monkeypatch.setenv("MEMNET_TOPK", "6")
    default_map, _ = read_settings(file, memnet)
    found = set(map(tuple, list_settings(memnet, default_map, file)))
    assert found == {
        ("ask", "hops", "2", str(file)),
        ("ask", "top-k", "6", "$MEMNET_ASK_TOP_K"),
        ("train facts", "seed", "3", str(file)),
        ("", "store", "s", "$MEMNET_STORE"),
    }
    assert "MEMNET_TOPK" in unknown_variables(memnet)
    assert "MEMNET_STORE" not in unknown_variables(memnet)


def test_names_are_made_once() -> None:
    @click.group()
    def group() -> None: ...

    @group.command()
    @click.option("--as", "read_as", envvar="OLD")
    @click.option("--store")
    def one(read_as: str, store: str) -> None:
        click.echo(json.dumps([read_as, store]))

    add_variables(group)
    add_variables(group)
    assert [option.envvar for option in one.params] == [
        ["MEMNET_ONE_AS", "OLD"], ["MEMNET_ONE_STORE", "MEMNET_STORE"],
    ]  # fmt: skip
    said = CliRunner().invoke(group, ["one"], env={"OLD": "a", "MEMNET_ONE_STORE": "b"})
    assert json.loads(said.output) == ["a", "b"]


def test_a_file_of_another_kind_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_settings(tmp_path, memnet)
