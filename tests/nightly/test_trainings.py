"""Trainings beyond one of each: stopped and resumed, killed, seeded, from another start."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from memnet import Engine
from memnet.checkpoints import load_checkpoint
from memnet.config import HopConfig
from memnet.documents.controller import TextController
from memnet.encoders.weights import load_tokenizer
from memnet.errors import ModelError
from memnet.experts.registry import load_model
from memnet.learning.evaluation import area_under_roc, read_questions
from memnet.learning.loop import EpochReport, TrainingConfig
from memnet.reader.network import (
    load_span_network,
    new_span_network,
    save_span_network,
    score_packs,
)
from memnet.reader.spans import ExtractiveReader, Packer, Passage
from memnet.reader.training import train as reader_training
from memnet.stories.training import read_story_data, train_stories
from memnet.training import FactReport, ReaderReport, train_facts, train_reader, train_text
from tests.models.test_all_trainings import _built as built
from tests.models.test_all_trainings import _story_files as story_files
from tests.models.test_all_trainings import reports_and_leaves_all, ships_in, shows_progress
from tests.models.test_fact_model import FERRIES
from tests.models.test_reader_training import _examples as reader_examples
from tests.models.test_text_training import _documents as documents
from tests.models.test_text_training import _questions as questions
from tests.models.test_training import CONFIG, _written

pytestmark = pytest.mark.usefixtures("one_thread")


class Learned(NamedTuple):
    folder: Path
    best: float
    reports: list[EpochReport]


SEED = 0


def train_small(folder: Path) -> Learned:
    """A reader trained on the examples, with enough updates to learn them from any seed.

    The product's settings suit thousands of examples: six of them would fill one batch, and
    training would end long before the learning rate has risen.
    """
    examples, reports = reader_examples(), list[EpochReport]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_training, "_BATCH_TOKENS", 60)
        patch.setattr(reader_training, "_WARM_UP", 20)
        best = train_reader(
            examples, examples, folder, passes=10, on_epoch=reports.append, threads=1, seed=SEED
        )
    assert (best.before, best.saved) == (None, True)
    return Learned(folder, best.dev, reports)


def _right_and_told_apart(folder: Path) -> tuple[float, float]:
    """The share of right answers among a kept reader's best spans, and the AUROC of answerable."""
    # In full precision: what it learned, whatever the processor.
    network = load_span_network(folder).eval()
    packer = Packer(load_tokenizer(), 384)
    reader = ExtractiveReader(score_packs(network), packer)
    right: list[bool] = []
    answerable: list[float] = []
    for example in reader_examples():
        [passage] = example.passages
        reading = reader.read(example.question, [Passage(passage.title, passage.text)])
        answerable.append(reading.answerable)
        if example.answers:
            span = reading.spans[0]
            right.append(passage.text[span.start : span.end] == example.answers[0])
    told = area_under_roc(answerable, [bool(example.answers) for example in reader_examples()])
    assert told is not None
    return sum(right) / len(right), told


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Stories for what is the same however many there are."""
    return _written(tmp_path / "few", 150)


@pytest.fixture
def ships(toy_engine: Engine) -> Engine:
    return ships_in(toy_engine)


def test_it_stops_when_nothing_gets_better(few: Path, tmp_path: Path) -> None:
    reports: list[EpochReport] = []
    config = TrainingConfig(epochs=30, patience=2, learning_rate=1e-9)
    train_stories(read_story_data(few), tmp_path / "out", CONFIG, config, reports.append)
    assert len(reports) < 30
    assert all(report.error >= reports[-3].error for report in reports[-2:])


def test_a_stopped_run_on_stories_goes_on_to_the_same_result(few: Path, tmp_path: Path) -> None:
    stories = read_story_data(few)
    config = TrainingConfig(epochs=5, seed=7)
    whole: list[EpochReport] = []
    train_stories(stories, tmp_path / "whole", CONFIG, config, whole.append)

    def stop(report: EpochReport) -> None:
        broken.append(report)
        if report.epoch == 2:
            raise KeyboardInterrupt

    broken: list[EpochReport] = []
    with pytest.raises(KeyboardInterrupt):
        train_stories(stories, tmp_path / "broken", CONFIG, config, stop)
    # The report of epoch 2 came after its state was kept, so the run goes on with epoch 3.
    train_stories(stories, tmp_path / "broken", CONFIG, config, broken.append)
    assert [(r.epoch, r.loss, r.errors) for r in whole] == [
        (r.epoch, r.loss, r.errors) for r in broken
    ]
    one, other = (load_checkpoint(tmp_path / name, "model")[0] for name in ("whole", "broken"))
    for name, array in one.items():
        assert np.array_equal(array, other[name])


def test_the_command_survives_a_kill(few: Path, tmp_path: Path) -> None:
    def command(out: str) -> list[str]:
        return [
            sys.executable, "-m", "memnet", "train", "babi", "--json", "--threads", "1",
            "--data", str(few), "--out", str(tmp_path / out), "--epochs", "4",
        ]  # fmt: skip

    run = subprocess.Popen(command("killed"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "killed" / "training.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    results = [
        json.loads(subprocess.run(command(out), capture_output=True, check=True).stdout)
        for out in ("killed", "whole")
    ]
    assert results[0]["valid_error"] == results[1]["valid_error"]
    one, other = (load_checkpoint(tmp_path / out, "model")[0] for out in ("killed", "whole"))
    for name, array in one.items():
        assert np.array_equal(array, other[name])


def test_learning_from_answers_alone_is_another_run(few: Path, tmp_path: Path) -> None:
    stories, config = read_story_data(few), TrainingConfig(epochs=2)
    losses: dict[bool, list[float]] = {}
    for supports in (True, False):
        reports: list[EpochReport] = []
        out = tmp_path / str(supports)
        train_stories(stories, out, CONFIG, config, reports.append, supports=supports)
        losses[supports] = [report.loss for report in reports]
        notes = json.loads((out / "model.json").read_text())["trained"]
        assert notes["supports"] is supports
    assert losses[True][0] > losses[False][0]


def test_nothing_but_the_seed_decides_the_weights(tmp_path: Path) -> None:
    data = read_story_data(story_files(tmp_path / "data"))
    models = []
    for place, seed in enumerate((0, 0, 1)):
        torch.rand(place + 1)
        config = TrainingConfig(epochs=2, seed=seed)
        train_stories(data, tmp_path / str(place), CONFIG, config)
        models.append(load_checkpoint(tmp_path / str(place), "model")[0])
    first, second, other = models
    assert all(np.array_equal(array, second[name]) for name, array in first.items())
    assert not all(np.array_equal(array, other[name]) for name, array in first.items())


def test_facts_resumed_after_the_best_epoch_report_its_scores(
    ships: Engine, tmp_path: Path
) -> None:
    def stop(_: EpochReport) -> None:
        raise KeyboardInterrupt

    def train(out: Path, on_epoch: Callable[[EpochReport], None]) -> FactReport:
        return train_facts(ships, built(), built(), out, epochs=1, on_epoch=on_epoch)

    whole = train(tmp_path / "whole", lambda _: None)
    assert whole.hits_at_1 > 0
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "broken", stop)
    assert train(tmp_path / "broken", lambda _: None) == whole
    notes = json.loads((tmp_path / "broken" / "model.json").read_text())["trained"]
    assert {name: notes[name] for name in whole._fields} == whole._asdict()


def test_the_same_seed_gives_the_same_model(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.ingest(documents())
    models = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_text(toy_engine, [questions()], tmp_path / name, seed=seed)
        model = load_model(tmp_path / name, HopConfig())
        assert isinstance(model, TextController)
        models.append(
            np.concatenate([array.ravel() for _, array in sorted(model.arrays().items())])
        )
    assert np.array_equal(models[0], models[1])
    assert not np.array_equal(models[0], models[2])


def test_it_learns_to_point_at_answers(tmp_path: Path) -> None:
    learned = train_small(tmp_path)
    first, last = learned.reports[0], learned.reports[-1]
    assert last.loss < first.loss / 2
    assert learned.best == 1 - min(report.error for report in learned.reports)
    assert learned.best == 1 > 1 - first.error
    right, told = _right_and_told_apart(learned.folder)
    assert right == 1
    # Weights are kept in eight bits, of the first epoch that told all nine pairs apart: rounding
    # may turn the closest pair round.
    assert told >= 8 / 9
    notes = json.loads((learned.folder / "reader.json").read_text())["trained"]
    assert (notes["seed"], notes["examples"]) == (SEED, [6, 0])


def test_the_mean_with_the_start_is_kept_where_it_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untrained, good = tmp_path / "untrained", train_small(tmp_path / "good").folder
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        save_span_network(untrained, new_span_network(0.0), {})
    assert sum(_right_and_told_apart(untrained)) < sum(_right_and_told_apart(good))
    weights = [load_span_network(folder).state_dict() for folder in (untrained, good)]
    mixed = reader_training._mean_weights(untrained, weights[1])
    for name, tensor in mixed.items():
        torch.testing.assert_close(tensor, (weights[0][name] + weights[1][name]) / 2)

    def trained(start: Path, mean: dict[str, torch.Tensor], out: Path) -> ReaderReport:
        """One pass from ``start``."""
        monkeypatch.setattr(reader_training, "_mean_weights", lambda *_: mean)
        return train_reader(
            reader_examples(), reader_examples(), out, start=start, passes=1, threads=1
        )

    report = trained(good, weights[0], tmp_path / "worse")
    assert report.before is not None
    # Weights in eight bits are read by other arithmetic here, which may turn the closest of nine
    # pairs round; that is a difference of exactly one of them, but for rounding.
    pair = 1 / 18 + 1e-9
    assert report.before == pytest.approx(sum(_right_and_told_apart(good)) / 2, abs=pair)
    assert report.saved == (report.dev > report.before)
    assert (tmp_path / "worse" / "reader.json").exists() == report.saved
    report = trained(untrained, weights[1], tmp_path / "better")
    assert report.saved
    # Of what was saved: rounded once more, it may differ from ``good``.
    assert report.dev == pytest.approx(sum(_right_and_told_apart(tmp_path / "better")) / 2)
    notes = json.loads((tmp_path / "better" / "reader.json").read_text())["trained"]
    assert (notes["dev"], notes["mean_with_start"]) == (report.dev, True)
    mean = new_span_network(0.0)
    mean.load_state_dict(weights[1])
    save_span_network(tmp_path / "mean", mean, {})  # rounds as the other one was
    found, saved = (load_span_network(tmp_path / name).state_dict() for name in ("better", "mean"))
    for name, tensor in saved.items():
        torch.testing.assert_close(found[name], tensor)


def test_a_stopped_run_goes_on_to_the_same_reader(tmp_path: Path) -> None:
    examples = reader_examples()

    def stop(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    def train(name: str, on_epoch: Callable[[EpochReport], None], count: int = 4) -> None:
        train_reader(
            examples[:count], examples[:2], tmp_path / name,
            generated=examples[4:6], passes=3, on_epoch=on_epoch, threads=1,
        )  # fmt: skip

    train("whole", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        train("parts", stop)
    train("parts", lambda _: None)
    whole, parts = (load_span_network(tmp_path / name).state_dict() for name in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())
    with pytest.raises(KeyboardInterrupt):
        train("again", stop)
    with pytest.raises(ModelError, match="unfinished run on other data"):
        train("again", lambda _: None, count=5)


def test_a_stopped_run_on_facts_goes_on_to_the_same_model(tmp_path: Path) -> None:
    train = read_questions(FERRIES / "train.jsonl")[:60]
    dev = read_questions(FERRIES / "dev.jsonl")[:20]

    def stop(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(FERRIES / "facts.tsv")
        train_facts(engine, train, dev, tmp_path / "whole", epochs=4)
        with pytest.raises(KeyboardInterrupt):
            train_facts(engine, train, dev, tmp_path / "broken", epochs=4, on_epoch=stop)
        with pytest.raises(ModelError, match="other data or settings"):
            train_facts(engine, dev, train, tmp_path / "broken", epochs=4)
        train_facts(engine, train, dev, tmp_path / "broken", epochs=4)
    whole, broken = (
        json.loads((tmp_path / name / "model.json").read_text()) for name in ("whole", "broken")
    )
    assert whole["sha256"] == broken["sha256"]
    assert sorted(path.name for path in (tmp_path / "broken").iterdir()) == sorted(
        path.name for path in (tmp_path / "whole").iterdir()
    )


@pytest.mark.parametrize("name", ["facts", "reader"])
def test_a_training_reports_and_leaves_the_process_as_it_was(
    name: str, ships: Engine, tmp_path: Path
) -> None:
    reports_and_leaves_all(name, ships, tmp_path)


@pytest.mark.parametrize("preset", ["facts", "text", "reader"])
def test_every_command_shows_its_progress_in_a_log(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows_progress(preset, tmp_path, monkeypatch)
