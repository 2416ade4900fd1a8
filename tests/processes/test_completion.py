"""The scripts that complete a command line, in the shells themselves."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from memnet import Document, Engine
from memnet.checkpoints import shipped_models
from memnet.cli.main import memnet
from memnet.loaders.formats import FORMATS
from tests.waiting import completed


@pytest.fixture
def store(toy_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy_engine.ingest(
        *(
            Document(id=name, text=f"A lamp: {name}.")
            for name in ("notes/kestle.md", "notes/orre light.md", "it's", "tower")
        )
    )
    toy_engine.ingest(Document(id="notes/apart.md", text="A boat."), namespace="harbour")
    monkeypatch.setenv("MEMNET_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)
    return tmp_path / "store"


def completions(*words: str) -> list[str]:
    """What is completed for the last of the words."""
    *before, last = words
    found = ShellComplete(memnet, {}, "memnet", "_MEMNET_COMPLETE").get_completions(before, last)
    return [item.value for item in found]


@pytest.mark.usefixtures("store")
def test_values_come_from_the_store() -> None:
    assert completions("forget", "notes/") == ["notes/kestle.md", "notes/orre light.md"]
    assert completions("forget", "notes/kestle.md", "") == ["it's", "notes/orre light.md", "tower"]
    assert completions("forget", "--namespace", "harbour", "") == ["notes/apart.md"]
    assert completions("ask", "--namespace", "h") == ["harbour"]
    assert completions("ask", "--namespace", "x") == []


def test_values_of_the_store_that_is_named(store: Path, tmp_path: Path) -> None:
    assert completions("forget", "--store", str(tmp_path / "none"), "") == []
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "memory.sqlite3").write_bytes(b"no database" * 100)
    assert completions("forget", "--store", str(tmp_path / "damaged"), "") == []
    os.environ["MEMNET_STORE"] = str(tmp_path / "none")
    assert completions("forget", "--store", str(store), "tow") == ["tower"]
    assert completions("forget", "tow") == []


@pytest.mark.usefixtures("store")
def test_the_store_of_the_settings_file(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMNET_STORE")
    config = tmp_path / "config" / "memnet" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"store = {str(store)!r}\n")
    assert completions("forget", "tow") == ["tower"]
    config.write_text("no such key = 1")
    assert completions("forget", "tow") == []


def test_models_formats_and_choices() -> None:
    assert completions("ask", "--model", "") == list(shipped_models())
    assert {"text", "babi"} <= set(shipped_models())
    assert completions("ingest", "--as", "") == [known.name for known in FORMATS]
    assert completions("ask", "--index", "p") == ["pq"]
    assert completions("completion", "") == ["bash", "zsh", "fish"]
    assert "--top-k" in completions("ask", "--t")


def test_completing_loads_neither_torch_nor_faiss(store: Path) -> None:
    code = (
        "import sys; from click.shell_completion import ShellComplete\n"
        "from memnet.cli.main import memnet\n"
        "complete = ShellComplete(memnet, {}, 'memnet', 'X').get_completions\n"
        "for words in (['forget'], ['ask', '--namespace'], ['ask', '--model'], []):\n"
        "    assert complete(words, '')\n"
        "heavy = {'torch', 'faiss', 'onnxruntime', 'transformers', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    completed([sys.executable, "-c", code], env={**os.environ, "MEMNET_STORE": str(store)})


@pytest.fixture
def shell_path(tmp_path: Path) -> str:
    """A search path with a command "memnet" of this environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "memnet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memnet "$@"\n')
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def in_shell(shell: str, script: str, path: str) -> list[str]:
    program = shutil.which(shell)
    if program is None or os.name != "posix":
        pytest.skip(f"{shell} is not installed")
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = {"zsh": ["-f"], "fish": ["--no-config"], "bash": ["--norc"]}[shell]
    return completed([program, *arguments, "-c", script], env=environment).stdout.splitlines()


_BASH = """
source <(memnet completion bash)
complete -p memnet
COMP_WORDS=({words}); COMP_CWORD={last}
_memnet_completion memnet
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_bash(store: Path, shell_path: str) -> None:
    registered, *found = in_shell(
        "bash", _BASH.format(words="memnet forget not", last=2), shell_path
    )
    assert registered.endswith("-F _memnet_completion memnet")
    # Bash puts what it is given into the command line: a space would end the word.
    assert found == ["notes/kestle.md", "'notes/orre light.md'"]
    _, *found = in_shell("bash", _BASH.format(words="memnet comp", last=1), shell_path)
    assert found == ["completion"]
    _, *found = in_shell("bash", _BASH.format(words="memnet forget it", last=2), shell_path)
    unquoted = completed(["bash", "-c", f"printf %s {found[0]}"]).stdout
    assert unquoted == "it's"


def test_zsh(store: Path, shell_path: str) -> None:
    script = """
    compdef() { print -r "$@" }
    _describe() { local name=${@[-1]}; print -rl -- "${(@P)name}" }
    compadd() { local name=${@[-1]}; print -rl -- "${(@P)name}" }
    source <(memnet completion zsh)
    words=(memnet forget notes/); CURRENT=3
    _memnet_completion
    """
    registered, *found = in_shell("zsh", script, shell_path)
    assert registered == "_memnet_completion memnet"
    assert found == ["notes/kestle.md", "notes/orre light.md"]


def test_fish(store: Path, shell_path: str) -> None:
    script = "memnet completion fish | source; complete -C 'memnet forget notes/'"
    assert in_shell("fish", script, shell_path) == ["notes/kestle.md", "notes/orre light.md"]
