"""What a new user types: words without quotes, folders to forget, settings with mistakes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Memnet

Typed = Callable[..., str]


@pytest.fixture
def typed(memnet: Memnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Run a command on a store of its own; gives its output, or its error where that is awaited."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)
    monkeypatch.setenv("MEMNET_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, code=0: memnet(*arguments, code=code)[code > 0]


def test_words_need_no_quotes(typed: Typed) -> None:
    typed("tell", "Ann", "moved", "to", "Paris.", "--at", "2026-01-10")
    assert json.loads(typed("history", "--json"))["history"][0]["text"] == "Ann moved to Paris."
    answer = json.loads(typed("ask", "where", "--json", "is", "Ann?"))
    assert (answer["question"], answer["short"]) == ("where is Ann?", "Paris")
    found = json.loads(typed("search", "Ann", "in", "Paris", "--json"))
    assert found["query"] == "Ann in Paris"
    assert "Missing argument 'QUERY'" in typed("search", code=2)
    assert "the question is empty" in typed("ask", "", code=1)


def test_a_mistyped_path_makes_no_memory(typed: Typed, tmp_path: Path) -> None:
    assert "nosuch: no such file or folder" in typed("ingest", "nosuch", code=1)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("variable", "value", "arguments", "named"),
    [
        ("MEMNET_ASK_TOP_K", "many", ("ask", "Who?"), "'--top-k' (from $MEMNET_ASK_TOP_K)"),
        ("MEMNET_INDEX", "tree", ("ask", "Who?"), "'--index' (from $MEMNET_INDEX)"),
        ("MEMNET_TELL_CAPACITY", "0", ("tell", "So."), "'--capacity' (from $MEMNET_TELL_CAPACITY)"),
        ("MEMNET_ASK_TOP_K", "many", ("ask", "Who?", "--top-k", "few"), "'--top-k':"),
    ],
)
def test_an_error_about_a_value_names_the_variable_that_it_comes_from(
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    arguments: tuple[str, ...],
    named: str,
) -> None:
    monkeypatch.setenv(variable, value)
    assert f"Invalid value for {named}" in typed(*arguments, code=2)


def test_a_folder_or_a_file_of_several_sources_is_forgotten_whole(typed: Typed) -> None:
    below = Path("notes/sub")
    below.mkdir(parents=True)
    Path("notes/a.md").write_text("The kettle is in the attic.")
    (below / "b.md").write_text("The ladder is in the shed.")
    Path("notes too").mkdir()
    Path("notes too/c.md").write_text("The saw is in the cellar.")
    Path("tools.jsonl").write_text('{"id": "x", "text": "Axe."}\n{"id": "notes", "text": "Rake."}')
    typed("ingest", "notes", "notes too", "tools.jsonl")

    def left() -> list[str]:
        found = json.loads(typed("sources", "--json"))["sources"]
        return sorted(Path(one["id"]).name for one in found)

    # A source of that very id comes before a folder of that name.
    assert typed("forget", "notes") == "1 forgotten, 1 slot removed.\n"
    assert left() == ["a.md", "b.md", "c.md", "x"]
    assert "no source 'none' is stored" in typed("forget", "notes", "none", code=1)
    assert typed("forget", "notes/sub/", "notes/a.md", "notes") == "2 forgotten, 2 slots removed.\n"
    assert left() == ["c.md", "x"]
    assert typed("forget", "tools.jsonl") == "1 forgotten, 1 slot removed.\n"
    assert "no source 'notes' is stored" in typed("forget", "notes", code=1)
    assert left() == ["c.md"]


def test_an_export_replaces_no_file_unasked(typed: Typed) -> None:
    typed("tell", "Ann likes tea.")
    bundle = Path("memory.zip")
    bundle.write_text("mine")
    assert "memory.zip already exists" in typed("export", "memory.zip", code=1)
    assert bundle.read_text() == "mine"
    typed("export", "memory.zip", "--force")
    typed("import", "memory.zip", "--store", "copy")
    assert "Ann likes tea." in typed("history", "--store", "copy")


def test_nothing_is_cut_where_output_is_no_terminal(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    name = f"{'long/' * 30}a.md"
    sentence = f"The kettle is {'not here and ' * 19}in the attic."
    path = Path(name)
    path.parent.mkdir(parents=True)
    path.write_text(sentence)
    typed("ingest", name)
    for arguments in (("ask", "Where is the kettle?"), ("search", "kettle")):
        shown = typed(*arguments)
        assert f"({name})" in shown
        assert sentence.split("in the attic")[0] in shown.replace("**", "")
    typed("tell", sentence)
    assert sentence in typed("history")
