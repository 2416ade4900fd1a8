import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from memnet import Document, Engine, Fact
from memnet.attention.arrays import softmax
from memnet.cli.main import memnet as group
from memnet.config import HopConfig
from memnet.documents.candidates import Candidates, LinkFeature, LinkKind, Links, SlotFeature
from memnet.documents.controller import TextController, share_features
from memnet.documents.training import train
from memnet.documents.training.generate import two_hop_questions
from memnet.errors import InputError
from memnet.experts.registry import load_model
from memnet.learning import TrainingProgress
from memnet.learning.evaluation import Question
from memnet.learning.loop import seeded
from memnet.training import train_text
from tests.toy import ToyEncoder

PLACES = """
    Amsel Brock Cardew Dunmor Eskil Farrow Grell Hollin Iverne Jorvik Kestle Larne Mordun Narrow
    Orre Penhal Quarle Ruswick Selby Thale Umber Varne Wexcombe Yarrow
""".split()


def _documents() -> list[Document]:
    """Papers given out by guilds, and halls that say who led a guild: linked by the guild only."""
    papers = [
        (f"paper {place}", f"{place} Letters", f"{place} paper is given out by Guild {n}x.")
        for n, place in enumerate(PLACES)
    ]
    halls = [
        (f"hall {n}", f"Hall {n}", f"In house {n} one was first to lead Guild {n}x.")
        for n in range(len(PLACES))
    ]
    return [Document(id=key, title=title, text=text) for key, title, text in papers + halls]


def _questions() -> list[Question]:
    return [
        Question(
            question=f"who was first to lead what gives out {place} Letters",
            gold=(f"paper {place}", f"hall {n}"),
        )
        for n, place in enumerate(PLACES)
    ]


def test_a_hop_learns_from_where_the_untrained_controller_stands() -> None:
    """One question, whose right slot is linked and further from it than another."""
    features = np.zeros((2, len(SlotFeature)), np.float32)
    features[:, SlotFeature.DENSE] = features[:, SlotFeature.UNIT] = 0.6, 0.1
    strength = np.zeros((1, len(LinkFeature)), np.float32)
    strength[0, LinkFeature.STRENGTH] = 1
    links = Links(np.array([1]), np.array([7]), np.array([LinkKind.SHARED]), strength, ("a",))
    candidates = Candidates((1, 2), features, (None, None), np.zeros(2, np.bool_), links)
    untrained, seen = TextController(HopConfig()), list[TrainingProgress]()
    example = train.Example(candidates, np.array([0, 1], np.float32), 1.0)
    trained = train.fit_hop(untrained, 1, [example], seen.append)
    begun = softmax(untrained.logits(untrained.score(candidates, 1)))[1]
    assert seen[1].loss == pytest.approx(-np.log(begun), rel=1e-4)
    assert softmax(trained.logits(trained.score(candidates, 1)))[1] > 0.9 > begun
    np.testing.assert_array_equal(
        trained.score(candidates, 0).total(), untrained.score(candidates, 0).total()
    )


def _example(linked: bool) -> train.Example:
    """A question whose right slot is linked; or the nearest, beside a linked one.

    The slots of both are alike to what the question alone says of them, so that only the gate can
    tell: where nothing right is linked, the link is a weak one.
    """
    features = np.zeros((3, len(SlotFeature)), np.float32)
    features[:, SlotFeature.DENSE] = 0.6, 0.3, 0.5
    features[:, SlotFeature.UNIT] = 0.7, 0.3, 0.4
    strength = np.zeros((1, len(LinkFeature)), np.float32)
    strength[0, LinkFeature.STRENGTH] = 1 if linked else 0.6
    links = Links(np.array([1]), np.array([7]), np.array([LinkKind.KEY]), strength, ("a",))
    candidates = Candidates((1, 2, 3), features, (None,) * 3, np.zeros(3, np.bool_), links)
    return train.Example(candidates, np.array([not linked, linked, False], np.float32), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_gate_learns_which_questions_links_are_followed_for(seed: int) -> None:
    arrays = TextController(HopConfig()).arrays()
    # Hops that follow links wherever there are some.
    arrays["later.links.weights"][LinkKind.KEY] = 2.0
    untrained, seen = TextController(HopConfig(), arrays), list[TrainingProgress]()
    examples = [_example(linked=True), _example(linked=False)]
    with seeded(seed):
        trained = train.fit_mixture(untrained, examples, seen.append)
    losses, shares = list[list[float]](), list[float]()
    for example in examples:
        found, right = example.candidates, int(example.right.argmax())
        scores = untrained.score(found, 1)
        np.testing.assert_array_equal(trained.score(found, 1).total(), scores.total())
        losses.append([])
        for controller in (untrained, trained):
            mixed = softmax(controller.logits(controller.mixed(scores, found)))
            losses[-1].append(-math.log(mixed[right]))
        of_hops = softmax(untrained.logits(scores))
        given = share_features(of_hops, scores.link, found.features, HopConfig())
        weight, bias = (trained.arrays()[f"share.{part}"] for part in ("weight", "bias"))
        shares.append((weight @ given + bias).item())
    before, after = np.array(losses).mean(axis=0).tolist()
    assert seen[1].loss == pytest.approx(before, rel=1e-3)
    assert after < before / 2
    assert after == pytest.approx(seen[-1].loss, abs=0.05)  # the last step comes after it
    assert shares[0] < 0 < shares[1]


def test_where_units_have_no_keys_no_mixture_is_learned() -> None:
    controller, example = TextController(HopConfig()), _example(linked=True)
    features = example.candidates.features
    features[:, SlotFeature.UNIT] = features[:, SlotFeature.DENSE]
    assert train.fit_mixture(controller, [example], lambda _: None) is controller


def test_a_controller_learns_to_follow_names_that_are_no_titles(
    toy_engine: Engine, tmp_path: Path
) -> None:
    toy_engine.ingest(_documents())
    report = train_text(toy_engine, [_questions()], tmp_path / "model")
    assert (report.questions, report.unusable) == (len(PLACES), 0)
    assert report.recall_trained > 0.9
    with Engine(  # Whose evidence is ordered by attention alone
        toy_engine.store, ToyEncoder(), toy_engine.config, tmp_path / "model", "sentences"
    ) as engine:
        answer = engine.ask("who was first to lead what gives out Orre Letters")
        assert {item.source for item in answer.evidence[:2]} == {"paper Orre", "hall 14"}
        hall = next(weight for weight in answer.hops[1].weights if weight.source == "hall 14")
        assert (hall.via, hall.via_source) == ("guild 14x", "paper Orre")
        assert hall.learned != 0
        assert answer.model == str(tmp_path / "model")


@pytest.mark.parametrize("text", ["It is old.", "Gannet Isle is near."])
def test_documents_with_few_links_or_none_give_a_whole_model(
    toy_engine: Engine, tmp_path: Path, text: str
) -> None:
    toy_engine.ingest(
        Document(id="a", title="Petrel Isle", text=text),
        Document(id="b", title="Gannet Isle", text="It is new."),
    )
    asked = Question(question="what is Petrel Isle", gold=("a",))
    train_text(toy_engine, [[asked]], tmp_path / "model")
    model = load_model(tmp_path / "model", HopConfig())
    assert isinstance(model, TextController)
    assert all(np.isfinite(array).all() for array in model.arrays().values())


def test_where_there_are_facts_the_best_passage_keeps_its_score(
    toy_engine: Engine, tmp_path: Path
) -> None:
    toy_engine.ingest(_documents())
    train_text(toy_engine, [_questions()], tmp_path / "model")
    toy_engine.ingest(Fact(subject="Orre Letters", relation="printed in", object="Kestle"))
    best = []
    for model in ("untrained", tmp_path / "model"):
        engine = Engine(toy_engine.store, ToyEncoder(), toy_engine.config, answerer=model)
        answer = engine.ask("who leads what gives out Orre Letters", hops=1, top_k=99)
        assert "fact" in {item.kind for item in answer.evidence}
        best.append(max(item.score for item in answer.evidence if item.kind == "passage"))
    assert best[0] == pytest.approx(best[1], abs=1e-5)


def test_questions_are_made_from_links_and_hide_the_name(toy_engine: Engine) -> None:
    toy_engine.ingest(_documents())
    made = two_hop_questions(toy_engine.store, 30, seed=4)
    assert made == two_hop_questions(toy_engine.store, 30, seed=4)
    assert len(made) == 30
    for asked in made:
        paper, hall = sorted(asked.gold, reverse=True)
        number = PLACES.index(paper.removeprefix("paper "))
        assert hall == f"hall {number}"
        assert f"{number}x" not in asked.question
        assert "given out by" in asked.question
        assert "first to lead" in asked.question
    assert len(two_hop_questions(toy_engine.store, 1000, seed=4)) == len(_documents())


def test_without_questions_the_documents_teach(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.ingest(_documents())
    report = train_text(toy_engine, [], tmp_path / "model")
    assert report.questions == len(_documents())
    assert (report.measured_on, report.installed) == ("shipped", False)  # --out installs nothing


def test_questions_that_teach_nothing_are_counted_or_refused(
    toy_engine: Engine, tmp_path: Path
) -> None:
    toy_engine.ingest(_documents())
    strange = [Question(question="where is it", gold=("elsewhere",)), Question(question="what")]
    with pytest.raises(InputError, match="there is nothing to learn from"):
        train_text(toy_engine, [strange], tmp_path / "model")
    assert not (tmp_path / "model").exists()
    report = train_text(toy_engine, [_questions()[:6], strange], tmp_path / "model")
    assert (report.questions, report.unusable) == (6, 2)


def test_an_empty_memory_teaches_nothing(toy_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no two documents share a name"):
        train_text(toy_engine, [], tmp_path / "model")


def test_the_command_trains_on_several_files(tmp_path: Path) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(one.model_dump_json() + "\n" for one in _documents()[:40]))
    files = []
    for number in range(2):
        files.append(tmp_path / f"questions-{number}.jsonl")
        chosen = _questions()[number:14:2]
        files[-1].write_text("".join(asked.model_dump_json() + "\n" for asked in chosen))
    runner = CliRunner()
    store = ["--store", str(tmp_path / "store")]
    assert runner.invoke(group, ["ingest", str(documents), *store]).exit_code == 0
    trained = ["--train", str(files[0]), "--train", str(files[1]), "--out", str(tmp_path / "model")]
    done = runner.invoke(group, ["train", "text", *trained, *store, "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["questions"] == 14
    asked = ["ask", "who led the guild", "--model", str(tmp_path / "model"), "--json", *store]
    answer = json.loads(runner.invoke(group, asked).stdout)
    assert answer["model"] == str(tmp_path / "model")


@pytest.mark.parametrize(
    ("before", "trained", "installed"), [(0.5, 0.6, True), (0.6, 0.5, False), (0.6, 0.6, False)]
)
def test_only_what_finds_more_is_installed(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch,
    before: float, trained: float, installed: bool,
) -> None:  # fmt: skip
    toy_engine.ingest(_documents())
    recalls = iter((before, trained, 1.0, 0.0))
    monkeypatch.setattr(train, "_Trainer", _quick_trainer(lambda: next(recalls)))
    models = toy_engine.store.models
    report = train_text(toy_engine, [_questions()])
    assert (report.recall_before, report.recall_trained) == (before, trained)
    assert report.installed == installed
    assert models.names() == (("text",) if installed else ())
    assert models.set_aside() == (() if installed else ("text-aside",))
    # A worse one leaves what there was, byte for byte.
    kept = {path: path.read_bytes() for path in models.folder("text").glob("*")}
    assert not train_text(toy_engine, [_questions()], seed=1).installed
    assert {path: path.read_bytes() for path in models.folder("text").glob("*")} == kept
    assert models.set_aside() == ("text-aside",)


def _quick_trainer(recall: Callable[[], float]) -> type:
    class Quick(train._Trainer):
        def fit(self, questions: object) -> TextController:
            return TextController(self.memory.config.hop)

        def recall(self, controller: object, questions: object) -> float:
            return recall()

    return Quick
