"""Options from the environment and from the settings file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from memnet.cli.doctor import list_settings
from memnet.cli.main import memnet, run
from memnet.cli.options import (
    add_variables,
    commands,
    device_name,
    load_settings,
    options_of,
    store_path,
)

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
    assert (asked(*line)["top_k"], asked(*line)["explain"]) == (2, True)
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

    def stores() -> list[object]:
        commands = (("ask", "Who?"), ("sources",), ("train", "text"))
        return [asked("--config", str(file), *one)["store"] for one in commands]

    assert stores() == [Path("/ask"), Path("/all"), Path("/all")]
    assert "index" not in asked("--config", str(file), "sources")
    monkeypatch.setenv("MEMNET_STORE", "/env")
    assert stores() == [Path("/env")] * 3
    monkeypatch.setenv("MEMNET_ASK_STORE", "/env-ask")
    assert stores() == [Path("/env-ask"), Path("/env"), Path("/env")]


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
    CliRunner().invoke(group, ["--config", str(file), "command"], catch_exceptions=False)
    assert found == ["cpu", Path("elsewhere"), "cuda"]
    assert device_name(None) == "auto"


def test_every_option_has_a_variable_named_as_it_is_typed() -> None:
    add_variables(memnet)  # again: names are made once
    seen: set[str] = set()
    kept: set[str] = set()
    for path, command in commands(memnet):
        for name, option in options_of(command).items():
            own = "_".join(("MEMNET", *path, name)).upper().replace("-", "_")
            assert isinstance(option.envvar, list)
            assert option.envvar[0] == own
            assert own not in seen
            assert len(set(option.envvar)) == len(option.envvar)
            seen.add(own)
            kept.update(option.envvar)
    assert {"MEMNET_ASK_JSON", "MEMNET_INGEST_AS", "MEMNET_TRAIN_FACTS_OUT", "MEMNET_QUIET"} <= seen
    assert {"MEMNET_STORE", "MEMNET_DEVICE", "MEMNET_INDEX", "MEMNET_MESSAGE_CAPACITY"} <= kept


def test_values_of_every_kind(asked: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'quiet = 1\n[ask]\nas-of = 2026-01-12\nwhere = ["year=1990", "by=Ann"]\nmodel = "babi"\n'
        '[ingest]\nlearn = true\nexclude = "drafts/"\n[tell]\ncapacity = 7\n'
    )
    config = ("--config", str(file))
    values = asked(*config, "ask", "Who?")
    assert (values["as_of"], values["model"]) == ("2026-01-12", "babi")
    assert values["where"] == {"year": ["1990", 1990], "by": ["Ann"]}
    values = asked(*config, "ingest", "notes")
    assert (values["learn"], values["exclude"]) == (True, ("drafts/",))
    assert asked(*config, "tell", "A.")["capacity"] == 7
    monkeypatch.setenv("MEMNET_INGEST_LEARN", "no")
    monkeypatch.setenv("MEMNET_TELL_CAPACITY", "8")
    assert asked(*config, "ingest", "notes")["learn"] is False
    assert asked(*config, "tell", "A.")["capacity"] == 8


@pytest.mark.parametrize(
    ("text", "code", "complaint"),
    [
        ("[ask]\ntopk = 3", 1, "unknown key 'ask.topk'; did you mean 'top-k'?"),
        ("colour = 3", 1, "unknown key 'colour'; expected"),
        ("top-k = 3", 1, "unknown key 'top-k'; put it below [ask] or [search]"),
        ("[aks]\nhops = 3", 1, "unknown key 'aks'; did you mean 'ask'?"),
        ("[train.fact]\nseed = 3", 1, "unknown key 'train.fact'; did you mean 'facts'?"),
        ("[ask]\nquestion = 'Who?'", 1, "unknown key 'ask.question'"),
        ("config = 'x'", 1, "unknown key 'config'"),
        ("ask = 3", 1, "invalid value of 'ask'; expected a table, [ask]"),
        ("[ask.hops]\na = 1", 1, "invalid value of 'ask.hops'"),
        ("[ask", 1, "is not valid TOML: "),
        ("a = " + "[" * 5000, 1, "is not valid TOML: "),
        ("\xff\xfe", 1, "is not valid TOML: "),
        ("[ask]\nhops = 0", 2, "0 is not in the range 1<=x<=10"),
        ("[ask]\nhops = 'many'", 2, "'many' is not a valid integer range"),
        ("[ask]\nhops = true", 2, "'True' is not a valid integer range"),
        ("[ask]\nhops = [1]", 2, "'[1]' is not a valid integer range"),
        ("[ask]\nhops = 2.5", 2, "'2.5' is not a valid integer range"),
        ("[ask]\nwhere = ['x']", 2, "invalid condition 'x'"),
        ("[ask]\nindex = 'tree'", 2, "'tree' is not one of 'auto', 'flat', 'pq'"),
    ],
)
def test_mistakes_are_named_with_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, complaint: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="latin-1")
    assert run(["--config", str(file), "ask", "Who?"]) == code
    said = capsys.readouterr().err
    assert str(file) in said
    assert complaint in said
    assert code == 2 or (said.startswith("Error: ") and said.count("\n") == 1)


def test_a_number_is_not_an_open_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("store = 987654")
    assert run(["--config", str(file), "sources"]) == 1
    assert "no memnet store at 987654" in capsys.readouterr().err


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        assert run(["--config", str(path), "sources"]) in (1, 2)
        assert str(path) in capsys.readouterr().err
    assert run(["--help", "--config", str(tmp_path / "none.toml")]) == 0


def test_origins_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_ASK_TOP_K", "6")
    monkeypatch.setenv("MEMNET_STORE", "s")
    file = tmp_path / "mine.toml"
    defaults = {"ask": {"hops": "2", "top_k": "5"}, "train": {"facts": {"seed": "3"}}}
    found = {tuple(one.values()) for one in list_settings(memnet, defaults, file)}
    assert found == {
        ("ask", "hops", "2", str(file)),
        ("ask", "top-k", "6", "$MEMNET_ASK_TOP_K"),
        ("train facts", "seed", "3", str(file)),
        ("", "store", "s", "$MEMNET_STORE"),
    }
