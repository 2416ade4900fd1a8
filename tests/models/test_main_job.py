"""The main job from end to end, as the command line does it: ingest, ask, verify."""

import json
from pathlib import Path
from typing import Any

import pytest

from memnet.cli.main import run
from tests.conftest import EXAMPLES


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_STORE", str(tmp_path / "store"))


def test_ingest_ask_and_verify(capsys: pytest.CaptureFixture[str]) -> None:
    def result(*arguments: object, code: int = 0) -> Any:
        capsys.readouterr()
        assert run([*map(str, arguments), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    first = result("ingest", EXAMPLES / "memory")
    assert (first["updated"], first["removed"]) == (0, 0)
    again = result("ingest", EXAMPLES / "memory")
    assert (again["added"], again["unchanged"]) == (0, first["added"])

    answer = result("ask", "In which town was the builder of the Orre Light born?")
    assert (answer["short"], answer["abstained"]) == ("Kestle", False)
    assert "Kestle" in answer["evidence"][0]["text"]
    unknown = result("ask", "What is the capital of Portugal?")
    assert (unknown["answer"], unknown["abstained"]) == (None, True)

    assert result("info")["documents"] > 80
    assert run(["verify"]) == 0
