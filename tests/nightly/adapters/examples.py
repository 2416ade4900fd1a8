"""The examples of docs/adapters.md."""

import re
from pathlib import Path

import pytest

_PAGE = Path(__file__).parents[3] / "docs" / "adapters.md"


def printed(
    heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The lines that the example under a heading prints."""
    section = _PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(example, {})  # noqa: S102
    return capsys.readouterr().out.splitlines()
