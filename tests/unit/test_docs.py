"""Documents: pages regenerate, paths lead somewhere, and the first example runs."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from docs import api, commands, decisions
from memnet import Document, Engine

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize(
    ("name", "page"),
    [("api", api.page), ("commands", commands.page), ("decisions/README", decisions.page)],
)
def test_pages_are_current(name: str, page: Callable[[], str]) -> None:
    assert (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") == page()


def test_every_public_name_is_in_the_page() -> None:
    page = api.page()
    for name in ("memnet.protocols", "memnet.aio", "Engine", "Scope", "HopConfig", "Extractor"):
        assert f"`{name}`\n" in page
    assert "    where: Mapping[str, Any] | None = None,\n" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:memnet|tests|benchmarks|docs|examples)/[\w./-]*[\w/])`", text)
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    missing += [path for path in linked if not (page.parent / path).exists()]
    assert missing == []


def test_the_readme_is_short_and_shows_what_is_small() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    assert (ROOT / "docs" / "page.png").stat().st_size < 150_000


def test_the_example_of_the_first_steps_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "old.md").write_text("# Kestle\n\nA town on a quay.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(example, {})  # noqa: S102
    assert capsys.readouterr().out == "Built by Una Thale. Una Thale value ['a']\n"


def test_the_store_format_names_every_table_column_and_file(toy_engine: Engine) -> None:
    page = (ROOT / "docs" / "store-format.md").read_text(encoding="utf-8")
    toy_engine.ingest(Document(id="a", text="A text."))
    folder = Path(toy_engine.info().path)
    for file in folder.iterdir():
        assert f"`{file.name.removeprefix('memory.sqlite3')}`" in page or file.name in page
    connection = sqlite3.connect(folder / "memory.sqlite3")
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND name NOT LIKE 'slot_text_%'"
    ).fetchall()
    for (table,) in tables:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{table}` |")]
        for column in connection.execute(f"PRAGMA table_info({table})"):
            assert f"`{column[1]}`" in row, (table, column[1])
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    assert f"is the schema version, {version}." in page
    connection.close()
