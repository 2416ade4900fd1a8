"""``memnet train`` as a user runs it."""

import json
from pathlib import Path

import pytest

from memnet import Engine
from memnet.reader.checkpoint import load_calibration
from tests.conftest import EXAMPLES, Memnet


@pytest.fixture
def store(saltmere: Engine) -> str:
    return saltmere.info().path


def test_a_reader_is_trained_among_what_the_store_finds(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    text = "The Orre Light was built by Tobias Wrennick in 1871."
    passages = [{"title": "Orre Light", "text": text}]
    rows = [
        {"question": "Who built it?", "answers": ["Tobias Wrennick"], "passages": passages},
        {"question": "Why did it burn?", "passages": passages},
    ]
    examples = tmp_path / "examples.jsonl"
    examples.write_text("\n".join(map(json.dumps, rows)))
    files = ("--train", examples, "--dev", examples, "--threads", 1, "--store", store)
    out = tmp_path / "reader"
    made = ("--made", 4, "--found", "--passes", 1, "--out", out)
    shown, err = memnet("train", "reader", *files, *made)
    assert shown.startswith("Best score on dev examples ")
    assert shown.endswith(f" %; the reader is in {out}.\n")
    assert "loss " in err
    assert json.loads((out / "reader.json").read_text())["trained"]["examples"] == [2, 4]


def test_confidence_is_learned_for_a_copy_of_the_reader(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = (EXAMPLES / "questions.jsonl").read_text().splitlines()[:24]
    questions.write_text("\n".join(lines))
    files = ("--train", questions, "--store", store)
    shown, _ = memnet("train", "confidence", *files, "--out", tmp_path / "reader")
    # Those that facts answer are left out.
    assert 12 < int(shown.split()[0]) < len(lines)
    assert "calibration error" in shown
    assert load_calibration(tmp_path / "reader") is not None
    question = "In which town was the builder of the Orre Light born?"
    asked = ("ask", question, "--store", store, "--json")
    first = json.loads(memnet(*asked)[0])
    second = json.loads(memnet(*asked, "--reader", tmp_path / "reader")[0])
    assert first["answer"] == second["answer"]
    assert first["confidence"] != second["confidence"]
    given = ("--reader", "sentences", "--out", tmp_path / "x")
    _, err = memnet("train", "confidence", *files, *given, code=1)
    assert "only answers that a reader of spans gives can be calibrated" in err
