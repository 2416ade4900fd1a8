"""``memnet connect``: settings of other programs are written and taken back to the byte."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memnet

json5 = pytest.importorskip("json5")

# Where each program looks on Linux, and the keys that lead to its servers.
FILES = {
    "claude": (".claude.json", ("mcpServers",)),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", ("mcpServers",)),
    "codex": (".codex/config.toml", ("mcp_servers",)),
    "cursor": (".cursor/mcp.json", ("mcpServers",)),
    "openclaw": (".openclaw/openclaw.json", ("mcp", "servers")),
    "vscode": (".config/Code/User/mcp.json", ("servers",)),
}
JSON_PROGRAMS = [name for name in FILES if name != "codex"]
Connect = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, whose programs keep their settings at the usual places."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
                 "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "MEMNET_STORE"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def connect(home: Path, memnet: Memnet) -> Connect:
    """Run the command; gives what it printed, or its error where that is awaited."""
    return lambda *given, code=0: memnet("connect", *given, code=code)[code > 0]


def settings(home: Path, program: str, content: bytes | None) -> Path:
    """The settings file of a program with some content; None for no file."""
    file = home / FILES[program][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        file.write_bytes(content)
    return file


def servers(file: Path, program: str) -> Any:
    text = file.read_text(encoding="utf-8-sig")
    found = tomllib.loads(text) if file.suffix == ".toml" else json5.loads(text)
    for key in FILES[program][1]:
        found = found[key]
    return found


def nested(program: str, value: object) -> dict[str, Any]:
    for key in reversed(FILES[program][1]):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def json_forms(program: str) -> dict[str, bytes | None]:
    """Settings that a program may have, by what is peculiar about them."""
    other = {"files": {"command": "npx", "args": ["{", 'a"mcpServers": {']}}
    full = {"theme": 'dark { "x"', **nested(program, other), "last": [1, {"mcpServers": {}}]}
    text = json.dumps(full, indent=2)
    return {
        "missing": None,
        "empty": b"",
        "blank": b" \n",
        "braces": b"{}",
        "braces and a line": b"{\n}\n",
        "other settings": b'{"theme": "dark"}',
        "no servers": json.dumps({"a": 1, **nested(program, {})}, indent=4).encode() + b"\n",
        "another server": text.encode(),
        "another server, compact": json.dumps(full).encode(),
        "tabs and CRLF": json.dumps(full, indent="\t").replace("\n", "\r\n").encode() + b"\r\n\r\n",
        "a mark of UTF-8": b"\xef\xbb\xbf" + text.encode() + b"\n",
        "letters of all kinds": json.dumps({"näme": "Zoë ☃"}, ensure_ascii=False).encode(),
        "comments": f"// {{ mine\n/* {{}} */\n{text[:-2]},  // after\n}}\n".encode(),
        "an entry of another store": json.dumps(
            {**nested(program, {"memnet": {"command": "old"}, **other}), "b": 2}, indent=2
        ).encode(),
    }


TOML_FORMS: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "no end of line": b'model = "o"',
    "another server": b'# mine\n[mcp_servers.files]\ncommand = "npx"  # x\n\n[profiles.a]\nb = 1\n',
    "CRLF": b'model = "o"\r\n\r\n[mcp_servers.files]\r\ncommand = "npx"\r\n',
    "an entry of another store": (
        b'[mcp_servers.memnet]\ncommand = "old"\n[mcp_servers.memnet.env]\nA = "1"\n'
        b'# of b\n[b]\nx = """\n[mcp_servers.memnet]\n"""\n'
    ),
}


@pytest.mark.parametrize(
    ("program", "form"),
    [(name, form) for name in JSON_PROGRAMS for form in json_forms(name)]
    + [("codex", form) for form in TOML_FORMS],
)
def test_what_is_written_is_taken_back_to_the_byte(
    home: Path, connect: Connect, program: str, form: str
) -> None:
    before = (TOML_FORMS if program == "codex" else json_forms(program))[form]
    file = settings(home, program, before)
    others = {} if before is None else _others(file, program)
    connect(program, "--yes", "--store", "notes")
    entry = servers(file, program)["memnet"]
    assert entry["args"][-3:] == ["mcp", "--store", str(home / "notes")]
    assert Path(entry["command"]).is_absolute()
    assert os.access(entry["command"], os.X_OK)
    assert _others(file, program) == others
    written = file.read_bytes()
    assert (b"\r\n" in written) == (b"\r\n" in (before or b""))
    assert "already" in connect(program, "--yes", "--store", "notes")
    assert file.read_bytes() == written
    connect(program, "--yes", "--store", "elsewhere")  # replaces its own
    said = connect(program, "--remove", "--yes")
    assert (file.read_bytes() if file.exists() else None) == before
    assert f"{file} is {'removed' if before is None else 'written'};" in said


def _others(file: Path, program: str) -> dict[str, Any]:
    try:
        found = servers(file, program)
    except (KeyError, ValueError):
        return {}
    return {name: value for name, value in found.items() if name != "memnet"}


@pytest.mark.parametrize("program", FILES)
def test_other_changes_stay_when_it_is_taken_back(
    home: Path, connect: Connect, program: str
) -> None:
    file = settings(home, program, None)
    connect(program, "--yes")
    entry = servers(file, program)["memnet"]
    # As if the program had written its settings anew.
    if program == "codex":
        ours = f'mcp_servers.memnet]\ncommand = "{entry["command"]}"\nargs=["mcp"]\n'
        file.write_text(f'[mcp_servers.a]\ncommand = "b"\n\n[{ours}\n[z]\ny = 1\n')
    else:
        rest = {"a": {"command": "b"}, "memnet": entry, "c": {}}
        file.write_text(json.dumps({**nested(program, rest), "z": 1}, indent=4))
    connect(program, "--remove", "--yes")
    assert servers(file, program) == (
        {"a": {"command": "b"}} | ({"c": {}} if "json" in file.suffix else {})
    )
    assert "has no entry" in connect(program, "--remove", "--yes")


@pytest.mark.parametrize(
    ("program", "content"),
    [
        ("claude", b"{not JSON"), ("cursor", b"[1, 2]"), ("vscode", b'{"servers": []}'),
        ("codex", b"[a\n"), ("codex", b"mcp_servers = 3\n"), ("openclaw", b"\xff\xfe{}"),
        ("claude", b'{"mcpServers": "none"}'), ("cursor", b"[" * 100_000),
    ],
)  # fmt: skip
def test_settings_of_another_form_are_one_line_and_stay(
    home: Path, connect: Connect, program: str, content: bytes
) -> None:
    file = settings(home, program, content)
    for more in ((), ("--remove",)):
        error = connect(program, "--yes", *more, code=1)
        assert error.startswith(f"Error: {file}")
        assert (error.count("\n"), "nothing is written" in error) == (1, True)
    assert file.read_bytes() == content


def test_what_cannot_be_told_apart_is_left_alone(home: Path, connect: Connect) -> None:
    content = b'mcp_servers = {files = {command = "npx"}}\n'
    file = settings(home, "codex", content)
    assert "edit it by hand" in connect("codex", "--yes", code=1)
    assert file.read_bytes() == content


def test_links_and_rights_stay(home: Path, connect: Connect) -> None:
    kept = home / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    kept.chmod(0o640)
    (home / ".claude.json").symlink_to(kept)
    connect("claude", "--yes")
    assert (home / ".claude.json").is_symlink()
    assert "memnet" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert sorted(kept.parent.iterdir()) == [kept]


def test_nothing_is_written_unasked(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--yes" in connect("cursor", code=2)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda _: False)
    connect("cursor", code=1)
    assert not (home / ".cursor").exists()
    monkeypatch.setattr("click.confirm", lambda text: str(home / ".cursor/mcp.json") in text)
    shown = connect("cursor", "--store", "postgresql://ann:secret@db/notes")
    assert "+ mcpServers.memnet: " in shown
    assert "secret" not in shown
    assert "secret" in (home / ".cursor/mcp.json").read_text()

    def changed(_: str) -> bool:
        (home / ".cursor/mcp.json").write_text('{"theirs": 1}')
        return True

    monkeypatch.setattr("click.confirm", changed)
    assert "just now; try again" in connect("cursor", "--store", "x", code=1)
    assert json.loads((home / ".cursor/mcp.json").read_text()) == {"theirs": 1}


@pytest.mark.parametrize(
    ("program", "variable", "value", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "work", "work/.claude.json"),
        ("codex", "CODEX_HOME", "work", "work/config.toml"),
        ("openclaw", "OPENCLAW_STATE_DIR", "work", "work/openclaw.json"),
        ("openclaw", "OPENCLAW_CONFIG_PATH", "work/mine.json", "work/mine.json"),
        ("vscode", "XDG_CONFIG_HOME", "{home}/work", "work/Code/User/mcp.json"),
    ],
)
def test_variables_name_another_place(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch,
    program: str, variable: str, value: str, file: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(variable, value.format(home=home))
    connect(program, "--yes")
    assert servers(home / file, program)["memnet"]


@pytest.mark.parametrize(
    ("system", "program", "file"),
    [
        ("macos.MacOS", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("macos.MacOS", "claude-desktop",
         "Library/Application Support/Claude/claude_desktop_config.json"),
        ("windows.Windows", "vscode", "roaming/Code/User/mcp.json"),
        ("windows.Windows", "claude-desktop", "roaming/Claude/claude_desktop_config.json"),
    ],
)  # fmt: skip
def test_each_system_has_its_places(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch,
    system: str, program: str, file: str,
) -> None:  # fmt: skip
    import importlib

    module, name = system.split(".")
    folders = getattr(importlib.import_module(f"platformdirs.{module}"), name)
    monkeypatch.setattr("platformdirs.PlatformDirs", folders)
    monkeypatch.setattr(
        "platformdirs.windows.get_win_folder",
        lambda kind: str(home / ("roaming" if kind == "CSIDL_APPDATA" else "local")),
    )
    monkeypatch.setattr("platformdirs.user_state_path", lambda _: home / "state")
    connect(program, "--yes")
    assert servers(home / file, program)["memnet"]
