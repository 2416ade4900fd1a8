"""What commands print to people, and how they end when something is in the way."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memnet import Engine
from memnet.cli import store as store_commands
from memnet.cli.main import run
from memnet.cli.options import store_path
from memnet.reader.checkpoint import load_calibration
from tests.conftest import EXAMPLES

Memnet = Callable[..., tuple[str, str]]


@pytest.fixture
def store(saltmere: Engine) -> str:
    return saltmere.info().path


@pytest.fixture
def memnet(capsys: pytest.CaptureFixture[str]) -> Memnet:
    """Run a command in this process; gives what it printed to standard output and error."""

    def call(*arguments: object, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert run([*map(str, arguments)]) == code
        printed = capsys.readouterr()
        return printed.out, printed.err

    return call


def _lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_info_has_a_line_for_each_number(store: str, memnet: Memnet) -> None:
    shown, _ = memnet("info", "--store", store)
    found = json.loads(memnet("info", "--store", store, "--json")[0])
    names = [line[:15].strip() for line in shown.splitlines()]
    assert names == [name.replace("_", " ") for name in found]
    assert f"\n{'documents':<15} {found['documents']}\n" in shown


def test_scores_are_shown_as_a_table(store: str, tmp_path: Path, memnet: Memnet) -> None:
    asked = _lines(
        tmp_path / "asked.jsonl",
        {"question": "Who built the Orre Light?", "gold": ["orre-light"]},
    )
    shown, err = memnet("eval", asked, "--store", store)
    assert err == ""
    rows = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert (rows["n"], rows["recall@5"], rows["em"]) == ("1", "1.000", "-")
    assert rows["latency_ms"].startswith("p50 ")


def test_many_problems_are_counted(tmp_path: Path, memnet: Memnet) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "a", "text": "A lamp."}\n' + "broken\n" * 30)
    _, err = memnet("ingest", lines, "--store", tmp_path / "store")
    *first, last = err.splitlines()
    assert all(line.startswith("skipped: ") and "line " in line for line in first)
    assert last == f"skipped: {30 - len(first)} more"


def test_a_terminal_sees_how_far_an_ingest_is(
    tmp_path: Path, memnet: Memnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    (tmp_path / "notes").mkdir()
    for number in range(3):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"Lamp {number} burns seal oil.")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    memnet("ingest", tmp_path / "notes", "--store", tmp_path / "store")
    assert "Ingesting" in shown.getvalue()
    assert "100%" in shown.getvalue()


def test_pictures_and_models_that_cannot_be_written_are_one_line(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "a.svg").symlink_to("/dev/full")
    question = "Who built the Orre Light?"
    _, err = memnet("ask", question, "--plot", tmp_path / "a.svg", "--store", store, code=1)
    assert "a.svg can't be written: No space left on device" in err
    pytest.importorskip("onnx")
    _, err = memnet("encoder", "--out", tmp_path / "no" / "encoder.onnx", code=1)
    assert "encoder.onnx can't be written (No such file or directory)" in err
    assert err.count("\n") == 1


def test_the_store_is_the_users_own_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda name: tmp_path / name)
    monkeypatch.delenv("MEMNET_STORE", raising=False)
    assert store_path(None) == tmp_path / "memnet" / "store"
    monkeypatch.setenv("MEMNET_STORE", "elsewhere")
    assert store_path(None) == Path("elsewhere")
    assert store_path(Path("given")) == Path("given")


def test_an_interrupt_says_that_what_is_stored_stays(
    store: str, memnet: Memnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store_commands, "open_engine", interrupted)
    shown, err = memnet("info", "--store", store, code=130)
    assert shown == ""
    assert err.strip() == "Interrupted; what was stored before stays."


def test_a_reader_of_the_output_that_leaves_early_is_no_crash() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memnet", "--help"],
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_a_reader_is_trained_among_what_the_store_finds(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    text = "The Orre Light was built by Tobias Wrennick in 1871."
    examples = _lines(
        tmp_path / "examples.jsonl",
        {
            "question": "Who built the Orre Light?",
            "answers": ["Tobias Wrennick"],
            "passages": [{"title": "Orre Light", "text": text}],
        },
        {"question": "Why did it burn?", "passages": [{"title": "Orre Light", "text": text}]},
    )
    files = ("--train", examples, "--dev", examples, "--threads", 1, "--store", store)
    out = tmp_path / "reader"
    shown, err = memnet(
        "train", "reader", *files, "--made", 4, "--found", "--passes", 1, "--out", out
    )
    assert shown.startswith("Best score on dev examples ")
    assert shown.endswith(f" %; the reader is in {out}.\n")
    assert "loss " in err
    again = tmp_path / "again"
    result = json.loads(
        memnet("train", "reader", *files, "--start", out, "--passes", 1, "--json", "--out", again)[
            0
        ]
    )
    assert result.keys() == {"dev", "reader"}
    assert 0 <= result["dev"] <= 1
    notes = json.loads((again / "reader.json").read_text())["trained"]
    assert (notes["start"], notes["examples"]) == ("reader", [2, 0])
    assert json.loads((out / "reader.json").read_text())["trained"]["examples"] == [2, 4]


def test_confidence_is_learned_for_a_copy_of_the_reader(
    store: str, tmp_path: Path, memnet: Memnet
) -> None:
    questions = EXAMPLES / "questions.jsonl"
    files = ("--train", questions, "--store", store)
    shown, _ = memnet("train", "confidence", *files, "--out", tmp_path / "reader")
    # Those that facts answer are left out.
    assert 30 < int(shown.split()[0]) < len(questions.read_text().splitlines())
    assert "calibration error" in shown
    assert load_calibration(tmp_path / "reader") is not None
    question = "In which town was the builder of the Orre Light born?"
    asked = ("ask", question, "--store", store, "--json")
    first, second = (
        json.loads(memnet(*asked, *reader)[0]) for reader in ((), ("--reader", tmp_path / "reader"))
    )
    assert first["answer"] == second["answer"]
    assert first["confidence"] != second["confidence"]
    _, err = memnet(
        "train", "confidence", *files, "--reader", "sentences", "--out", tmp_path / "x", code=1
    )
    assert "only answers that a reader of spans gives can be calibrated" in err
