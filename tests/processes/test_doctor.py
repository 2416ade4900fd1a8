"""``memnet doctor``."""

import json
import os
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memnet import Document, Engine
from memnet.checkpoints import MODEL, SHIPPED, save_checkpoint
from memnet.cli import doctor
from memnet.cli.main import run
from memnet.encoders.multilingual import MultilingualEncoder
from memnet.storage.overview import overview, writer
from memnet.storage.tables.connection import SCHEMA_VERSION
from tests.toy import ToyEncoder
from tests.waiting import completed


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)
    monkeypatch.setenv("MEMNET_STORE", str(tmp_path / "store"))


def examined(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert run(["doctor", "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["ok"] == (code == 0) == (not found["problems"])
    return found


def test_all_that_is_needed_is_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(Document(id="a", text="The lamp at Kestle burns seal oil."))
        fingerprint = engine.info().encoder
    found = examined(capsys)
    assert found["processor"]["cores"] >= 1
    assert found["arithmetic"]
    assert found["fts5"] is True
    assert all(found["libraries"][name] for name in ("numpy", "torch", "faiss"))
    store = found["store"]
    known = (True, SCHEMA_VERSION, fingerprint)
    assert (store["exists"], store["schema"], store["encoder"]) == known
    assert (store["counts"]["sources"], store["counts"]["slots"]) == (1, 1)
    assert store["writer"] is None
    assert store["free_bytes"] > 0
    models = {one["name"]: one["fingerprint"] for one in found["models"]}
    assert "minilm" in models
    assert fingerprint.startswith("all-MiniLM-L6-v2/")
    for name in ("text", "babi"):
        (weights,) = (SHIPPED / name).glob("model-*.safetensors")
        assert weights.stem == f"model-{models[name]}"
    assert run(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "Everything needed is there." in shown
    assert "1 sources, 1 slots" in shown


def test_a_store_that_is_not_there_is_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    store = examined(capsys)["store"]
    assert store["exists"] is False
    assert not Path(store["path"]).exists()  # looking makes nothing


def test_settings_with_their_origins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config" / "memnet" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[ask]\ntop-k = 3\n")
    monkeypatch.setenv("MEMNET_TOPK", "3")
    settings = examined(capsys)["settings"]
    assert (settings["file"], settings["exists"]) == (str(file), True)
    known = {"command": "ask", "option": "top-k", "value": "3", "origin": str(file)}
    assert known in settings["set"]
    assert any(one["origin"] == "$MEMNET_STORE" for one in settings["set"])
    assert "MEMNET_TOPK" in settings["unknown"]


def test_damage_is_a_problem(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "memory.sqlite3").write_bytes(b"no database" * 100)
    monkeypatch.setenv("MEMNET_DEVICE", "tpu")
    problems = "\n".join(examined(capsys, code=1)["problems"])
    assert "memory.sqlite3 is not a readable memnet database" in problems
    assert "there is no device 'tpu'" in problems
    assert run(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert shown.index("problems ") < shown.index("there is no device")
    assert "Everything needed" not in shown


def test_another_encoder_and_a_damaged_model(
    capsys: pytest.CaptureFixture[str], toy_engine: Engine
) -> None:
    toy_engine.ingest(Document(id="a", text="A lamp."))
    folder = toy_engine.store.models.new_folder("text")
    save_checkpoint(folder, MODEL, {"a": np.zeros(1, np.float32)}, {})
    (weights,) = folder.glob("*.safetensors")
    weights.write_bytes(b"other")
    found = examined(capsys, code=1)
    assert [one.split("'")[1] for one in found["problems"]] == ["toy/64"]
    (own,) = (one for one in found["models"] if one["name"] == "models/text")
    assert "is damaged" in own["problem"]


def test_a_store_of_many_languages_is_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyEncoder, "fingerprint", MultilingualEncoder.fingerprint)
    with Engine.open(tmp_path / "store", create=True, encoder=ToyEncoder()) as engine:
        engine.ingest(Document(id="a", text="A lamp."))
    assert examined(capsys)["store"]["encoder"] == MultilingualEncoder.fingerprint


def test_libraries_that_are_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name in ("faiss-cpu", "faiss-gpu", "torch", "matplotlib", "click"):
            raise PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "version", version)
    found = examined(capsys, code=1)
    assert found["libraries"]["faiss"] is None
    problems = "\n".join(found["problems"])
    assert "faiss-cpu is not installed; run: pip install faiss-cpu" in problems
    assert "torch" not in problems
    assert "click is not installed; run: pip install click" in problems
    extras = {one["name"]: one for one in found["extras"]}
    assert extras["plot"] == {
        "name": "plot",
        "for": "--plot",
        "missing": ["matplotlib"],
        "command": "pip install 'memnet-qa[plot]'",
    }
    assert extras["train"]["missing"] == ["torch"]
    assert all(one["for"] for one in extras.values())
    assert not {"docs", "test"} & extras.keys()


def test_a_library_that_does_not_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_library.py").write_text("raise OSError('libgomp.so.1 is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "_LIBRARIES", ("broken_library", "faiss"))
    monkeypatch.setattr(metadata, "version", lambda _: "1.0")
    problems = "\n".join(examined(capsys, code=1)["problems"])
    assert "libgomp.so.1 is missing" in problems
    assert "faiss-cpu and faiss-gpu overwrite each other" in problems


def test_who_writes_to_a_store(toy_engine: Engine, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert writer(store) is None
    assert writer(tmp_path / "none") is None
    code = (
        "import sys; from pathlib import Path; from memnet.storage.overview import writer\n"
        "print(writer(Path(sys.argv[1])))"
    )
    with toy_engine.store.writing():
        said = completed([sys.executable, "-c", code, str(store)]).stdout.strip()
    assert said == (f"process {os.getpid()}" if sys.platform == "linux" else "another process")
    assert overview(tmp_path / "none") is None


def test_the_store_is_left_as_it_is(toy_engine: Engine, capsys: pytest.CaptureFixture[str],
                                    tmp_path: Path) -> None:  # fmt: skip
    toy_engine.ingest(Document(id="a", text="A lamp."))
    toy_engine.close()
    before = {path: path.read_bytes() for path in (tmp_path / "store").iterdir()}
    run(["doctor"])
    capsys.readouterr()
    assert {path: path.read_bytes() for path in (tmp_path / "store").iterdir()} == before
