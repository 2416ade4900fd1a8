"""What holds of every training: the process is left as it was, and one sees how far it has come."""

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from memnet import Config, Document, Engine, Fact
from memnet.cli import train as train_command
from memnet.cli.main import memnet as group
from memnet.cli.train import ProgressLines
from memnet.documents.training.calibration import fit_calibration
from memnet.learning import counted
from memnet.learning.evaluation import Question
from memnet.learning.loop import TrainingConfig
from memnet.reader.answers import Prediction
from memnet.reader.confidence import Signals
from memnet.training import (
    ReaderExample,
    ReaderPassage,
    TrainingProgress,
    read_story_data,
    train_facts,
    train_reader,
    train_stories,
    train_text,
)
from memnet.types import Candidate
from tests.models.test_training import CONFIG, moves

pytestmark = pytest.mark.usefixtures("one_thread")

_THREADS = 3
SHIPS = ("Petrel", "Gannet", "Whimbrel", "Teal", "Heron", "Curlew")


def ships_in(toy_engine: Engine) -> Engine:
    """Facts and documents about ships, each with a builder."""
    toy_engine.ingest(_documents())
    toy_engine.ingest(
        Fact(subject=ship, relation="built by", object=f"Ann {ship}son") for ship in SHIPS
    )
    config = Config(threads=_THREADS)
    return Engine(toy_engine.store, toy_engine.encoder, config, "untrained", "sentences")


@pytest.fixture
def engine(toy_engine: Engine) -> Engine:
    return ships_in(toy_engine)


def _documents() -> list[Document]:
    """What raised each ship, and who leads that: linked by the guild's name only."""
    return [
        document
        for number, ship in enumerate(SHIPS)
        for document in (
            Document(id=ship, title=ship, text=f"{ship} was raised by Guild {number}x."),
            Document(id=f"g{number}", title=f"Hall {number}", text=f"Guild {number}x is led by B."),
        )
    ]


def _built() -> list[Question]:
    return [Question(question=f"Who built {one}?", answers=(f"Ann {one}son",)) for one in SHIPS]


def _led() -> list[Question]:
    return [
        Question(question=f"who leads what raised {ship}", gold=(ship, f"g{number}"))
        for number, ship in enumerate(SHIPS)
    ]


def _examples() -> list[ReaderExample]:
    passage = ReaderPassage(title="Orre", text="The light of Orre was raised by Ann Rank.")
    return [ReaderExample(question="Who raised it?", answers=("Ann Rank",), passages=(passage,))]


def _story_files(folder: Path) -> Path:
    folder.mkdir()
    (folder / "walk_train.txt").write_text(moves(60, 1))
    (folder / "walk_valid.txt").write_text(moves(10, 2))
    return folder


def _calibrate(on_progress: Callable[[TrainingProgress], None]) -> object:
    def judge(asked: str) -> Prediction:
        share = random.Random(asked).random()
        signals = Signals(share, 0.0, share, 0.5, 1.0, False, 0)
        return Prediction((Candidate(text="red", score=1),), signals=signals)

    questions = [Question(question=f"{n}?", answers=(("red", "blue")[n % 2],)) for n in range(20)]
    return fit_calibration(questions, judge, on_progress)


Train = Callable[[Engine, Path, Callable[[TrainingProgress], None]], object]
_TRAININGS: dict[str, Train] = {
    "facts": lambda engine, out, progress: train_facts(
        engine, _built(), _built(), out / "m", epochs=2, on_progress=progress
    ),
    "text": lambda engine, out, progress: train_text(
        engine, [_led()], out / "m", on_progress=progress
    ),
    "babi": lambda _, out, progress: train_stories(
        read_story_data(_story_files(out / "data")),
        out / "m",
        CONFIG,
        TrainingConfig(epochs=2),
        threads=_THREADS,
        on_progress=progress,
    ),
    "reader": lambda _, out, progress: train_reader(
        _examples(),
        _examples(),
        out / "m",
        passes=2,
        threads=_THREADS,
        on_progress=progress,
    ),
    "confidence": lambda _engine, _out, progress: _calibrate(progress),
}


def _state_of_the_process() -> list[Any]:
    return [
        torch.get_rng_state().tolist(),
        torch.get_num_threads(),
        np.random.get_state()[1].tolist(),  # type: ignore[index]
        random.getstate(),
    ]


# The other trainings are tried in tests/nightly.
@pytest.mark.parametrize("name", ["text", "babi", "confidence"])
def test_a_training_reports_and_leaves_the_process_as_it_was(
    name: str, engine: Engine, tmp_path: Path
) -> None:
    reports_and_leaves_all(name, engine, tmp_path)


def reports_and_leaves_all(name: str, engine: Engine, tmp_path: Path) -> None:
    before = _state_of_the_process()
    threads: set[int] = set()
    said: list[TrainingProgress] = []

    def note(progress: TrainingProgress) -> None:
        threads.add(torch.get_num_threads())
        said.append(progress)

    _TRAININGS[name](engine, tmp_path, note)
    assert _state_of_the_process() == before
    if name in ("facts", "babi", "reader"):
        assert _THREADS in threads
    assert {one.stage for one in said if one.share == 1}
    for one, other in pairwise(said):
        assert 0 <= one.share <= 1
        if other.stage == one.stage and other.examples > one.examples:
            assert other.share > one.share
    learned = [one for one in said if one.stage == "training"]
    assert [one.share for one in learned][-1:] == [1.0] * (name != "confidence")
    assert all(one.loss is not None for one in learned if one.examples)


def test_a_stopped_training_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    before = _state_of_the_process()

    def stop(progress: TrainingProgress) -> None:
        if progress.examples:
            raise KeyboardInterrupt

    data, config = read_story_data(_story_files(tmp_path / "data")), TrainingConfig(epochs=2)
    with pytest.raises(KeyboardInterrupt):
        train_stories(data, tmp_path / "m", CONFIG, config, threads=_THREADS, on_progress=stop)
    assert _state_of_the_process() == before


class _Clock:
    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


def _progress(monkeypatch: pytest.MonkeyPatch) -> tuple[_Clock, list[str], ProgressLines]:
    """A clock, the lines that are shown by it, and what shows them."""
    clock, lines = _Clock(), list[str]()
    monkeypatch.setattr(train_command, "time", clock)
    monkeypatch.setattr(train_command, "show_note", lines.append)
    return clock, lines, ProgressLines()


def test_a_line_a_minute_with_loss_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines, progress = _progress(monkeypatch)
    for second in range(0, 301, 5):  # a run of which half was done before; 10 examples a second
        clock.now = 1_000.0 + second
        progress(TrainingProgress("training", 10 * second, 0.5 + second / 12_000, 2.0))
    assert len(lines) == 5
    assert lines[0] == "training: 50 % done, loss 2.0000, 10.0 examples/s, 1 h 39 min left"
    assert lines[-1] == "training: 52 % done, loss 2.0000, 10.0 examples/s, 1 h 35 min left"


def test_each_stage_has_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines, progress = _progress(monkeypatch)
    progress(TrainingProgress("training", 0, 0.0))
    for seconds in (1.0, 0.5):
        for _ in counted(range(100), "reading", progress):
            clock.now += seconds
    clock.now += 60
    progress(TrainingProgress("training", 0, 0.0, 1.5))
    assert lines == [
        "reading: 60 % done, 1.0 examples/s, 40 s left",
        "reading: 40 % done, 2.0 examples/s, 30 s left",
        "training: 0 % done, loss 1.5000",
    ]


def _lines(path: Path, objects: list[Any]) -> Path:
    path.write_text("\n".join(one.model_dump_json() for one in objects))
    return path


def test_every_command_shows_its_progress_in_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows_progress("babi", tmp_path, monkeypatch)


def shows_progress(preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_command, "_INTERVAL", 0.0)
    store = ["--store", str(tmp_path / "store")]
    facts = tmp_path / "facts.tsv"
    facts.write_text("".join(f"{ship}\tbuilt by\tAnn {ship}son\n" for ship in SHIPS))
    documents = _lines(tmp_path / "d.jsonl", _documents())
    runner = CliRunner()
    assert runner.invoke(group, ["ingest", str(facts), str(documents), *store]).exit_code == 0
    out = ["--out", str(tmp_path / "model"), "--json"]
    made_of: dict[str, list[Any]] = {
        "facts": _built(),
        "text": _led(),
        "reader": _examples(),
        "babi": [],
    }
    train = str(_lines(tmp_path / "train.jsonl", made_of[preset]))
    options = {
        "facts": ["--train", train, "--dev", train, "--epochs", "1", *store],
        "text": ["--train", train, *store],
        "reader": ["--train", train, "--dev", train, "--passes", "1", *store],
        "babi": ["--data", str(_story_files(tmp_path / "data")), "--epochs", "1"],
    }[preset]
    done = runner.invoke(group, ["train", preset, *options, *out])
    assert done.exit_code == 0, done.output
    json.loads(done.stdout)
    shown = [line for line in done.stderr.splitlines() if line.startswith("training: ")]
    assert any("100 % done, loss " in line and "examples/s, 0 s left" in line for line in shown)
