"""``memnet models``: what a store has, what it uses, and what goes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memnet import Engine
from memnet.cli.main import memnet
from memnet.config import HopConfig
from memnet.documents.controller import TextController, save_text_model

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path) -> Invoke:
    with Engine.open(tmp_path / "store", create=True) as engine:
        for name, day in (("text", "2026-01-02"), ("text-aside", "2026-03-04")):
            notes = {
                "encoder": engine.encoder.fingerprint, "date": day, "questions": 40,
                "recall_before": 0.5, "recall_trained": 0.75, "seed": 0,
            }  # fmt: skip
            save_text_model(engine.store.models.folder(name), TextController(HopConfig()), notes)
    store = ["--store", str(tmp_path / "store")]
    return lambda *arguments: CliRunner().invoke(memnet, [*arguments, *store])


def listed(invoke: Invoke) -> dict[str, tuple[str, str]]:
    found = json.loads(invoke("models", "--json").stdout)["models"]
    return {one["name"]: (one["state"], one["trained"]) for one in found}


def test_models_are_listed_used_and_removed(invoke: Invoke) -> None:
    before = {"text": ("used", "2026-01-02"), "text-aside": ("set aside", "2026-03-04")}
    assert listed(invoke) == before
    shown = invoke("models").stdout
    assert "questions 40, recall_before 0.5, recall_trained 0.75" in shown
    assert invoke("models", "use", "text-aside").exit_code == 0
    swapped = {"text": ("used", "2026-03-04"), "text-aside": ("set aside", "2026-01-02")}
    assert listed(invoke) == swapped
    assert invoke("models", "remove", "text").exit_code == 0
    assert set(listed(invoke)) == {"text-aside"}
    assert invoke("models", "use", "text-aside").exit_code == 0
    assert listed(invoke) == {"text": ("used", "2026-01-02")}


@pytest.mark.parametrize(
    "arguments",
    [("use", "text"), ("use", "poems"), ("remove", "facts"), ("remove", ".."), ("use", "../text")],
)
def test_names_of_no_model_are_refused(invoke: Invoke, arguments: tuple[str, str]) -> None:
    done = invoke("models", *arguments)
    assert done.exit_code != 0
    assert set(listed(invoke)) == {"text", "text-aside"}
