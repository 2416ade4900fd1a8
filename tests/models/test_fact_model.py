"""Learning to hop over one's own facts, and asking about them."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from memnet import Config, Engine
from memnet.checkpoints import MODEL, load_checkpoint
from memnet.config import FactConfig
from memnet.errors import InputError, ModelError
from memnet.facts.hops import FactModelConfig
from memnet.facts.model import AnswerRule, FactModel, LinkedQuestion, Mention, fact_model_of
from memnet.facts.training import new_fact_model, save_fact_model
from memnet.learning.evaluation import Question, evaluate, read_questions
from memnet.training import train_facts
from tests import session
from tests.conftest import Memnet

FERRIES = Path(__file__).parents[2] / "examples" / "ferries"


def _trained(folder: Path) -> None:
    """A store of the example's facts and a model trained on its questions."""
    with Engine.open(folder / "store", create=True) as engine:
        engine.ingest(FERRIES / "facts.tsv")
        report = train_facts(
            engine,
            read_questions(FERRIES / "train.jsonl"),
            read_questions(FERRIES / "dev.jsonl"),
            folder / "model",
            epochs=26,
        )
    assert report.hits_at_1 > 0.93
    assert report.f1 > 0.93
    assert report.hop_accuracy is not None
    assert report.hop_accuracy > 0.93
    assert (report.no_name, report.no_answer) == (0, 0)


@pytest.fixture(scope="session")
def ferries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = session.made_once("ferries", _trained)
    return shutil.copytree(made, tmp_path_factory.mktemp("ferries") / "copy")


@pytest.fixture
def asked(ferries: Path) -> Iterator[Engine]:
    with Engine.open(ferries / "store", answerer=ferries / "model") as engine:
        yield engine


def test_the_product_answers_as_the_training_said(asked: Engine, ferries: Path) -> None:
    scores = evaluate(asked, read_questions(FERRIES / "dev.jsonl"))
    reported = json.loads((ferries / "model" / "model.json").read_text())["trained"]
    assert scores.hits_at_1 == pytest.approx(reported["hits_at_1"], abs=0.011)
    assert scores.set_f1 == pytest.approx(reported["f1"], abs=0.011)


def test_a_chain_of_three_facts(asked: Engine) -> None:
    answer = asked.ask("On which island was the builder of the Grey Heron born?")
    assert answer.answer == "Innis Marrack"
    texts = [item.text.replace("\t", " ") for item in answer.evidence]
    assert texts == [
        "Grey Heron built_by Tobias Veal",
        "Tobias Veal born_in Marrack",
        "Marrack lies_on Innis Marrack",
    ]
    assert [item.hop for item in answer.evidence] == [1, 2, 3]
    facts = (FERRIES / "facts.tsv").read_text()
    assert all(facts[item.start : item.end] == item.text for item in answer.evidence)
    assert [hop.weights[0].weight > 0.5 for hop in answer.hops] == [True] * 3
    assert all(sum(weight.weight for weight in hop.weights) <= 1.001 for hop in answer.hops)
    assert len(asked.ask(answer.question, hops=1).hops) == 1


def test_two_names_are_a_conjunction(asked: Engine) -> None:
    answer = asked.ask("Which tug lies at Kestle?")
    assert {candidate.text for candidate in answer.candidates} == {"Whimbrel", "Winter Teal"}
    texts = {item.text for item in answer.evidence}
    assert {"Whimbrel\tis_a\ttug", "Whimbrel\thome_port\tKestle"} <= texts


def test_a_misspelled_name(asked: Engine) -> None:
    assert asked.ask("Who built the Gray Heron?").answer == "Tobias Veal"


@pytest.mark.parametrize("question", ["Who built the Titanic?", "Who built it?"])
def test_a_question_that_names_nothing_known(asked: Engine, question: str) -> None:
    answer = asked.ask(question)
    assert answer.abstained
    assert answer.answer is None
    assert not answer.candidates
    assert not answer.evidence


def test_another_namespace_holds_other_facts(asked: Engine) -> None:
    assert asked.ask("Who built the Grey Heron?", namespace="other").abstained


def test_facts_that_came_after_the_training(ferries: Path, tmp_path: Path) -> None:
    shutil.copytree(ferries / "store", tmp_path / "store")
    (tmp_path / "new.tsv").write_text(
        "Blue Whale\tbuilt_by\tAda Orme\nAda Orme\tborn_in\tKestle\nBlue Whale\tpainted\tred\n"
    )
    with Engine.open(tmp_path / "store", answerer=ferries / "model") as engine:
        engine.ingest(tmp_path / "new.tsv")
        answer = engine.ask("Where was the builder of the Blue Whale born?")
        assert (answer.answer, answer.unseen_relations) == ("Kestle", ())
        assert engine.ask("What colour is Ada Orme painted?").unseen_relations == ()
        engine.forget(str(tmp_path / "new.tsv"))
        assert engine.ask("Where was the builder of the Blue Whale born?").abstained
        (tmp_path / "new.tsv").write_text("Blue Whale\tlength\tfour fathoms\n")
        engine.ingest(tmp_path / "new.tsv")
        answer = engine.ask("What is the length of the Blue Whale?")
        assert answer.answer == "four fathoms"
        assert answer.unseen_relations == ("length",)


def test_a_name_with_very_many_facts(ferries: Path, tmp_path: Path) -> None:
    shutil.copytree(ferries / "store", tmp_path / "store")
    crew = "".join(f"Great Hulk\thas_captain\tSailor {number}\n" for number in range(3000))
    (tmp_path / "hulk.tsv").write_text(f"{crew}Great Hulk\tbuilt_by\tTobias Veal\n")
    with Engine.open(tmp_path / "store", answerer=ferries / "model") as engine:
        engine.ingest(tmp_path / "hulk.tsv")
        assert engine.ask("Who built the Great Hulk?").answer == "Tobias Veal"
        assert len(engine.ask("Who is the captain of the Great Hulk?").candidates) == 3000
    few = Config(facts=FactConfig(budget=100))
    with Engine.open(tmp_path / "store", answerer=ferries / "model", config=few) as engine:
        assert engine.ask("Who built the Great Hulk?").answer == "Tobias Veal"
        assert len(engine.ask("Who is the captain of the Great Hulk?").candidates) == 3000
    with Engine.open(tmp_path / "store") as engine:  # without training as well
        assert engine.ask("Who built the Great Hulk?").answer == "Tobias Veal"


def test_questions_that_teach_nothing_are_counted(ferries: Path, tmp_path: Path) -> None:
    good = read_questions(FERRIES / "train.jsonl")[:30]
    train = [
        *good,
        Question(question="Who built the Titanic?", answers=("Harland",)),
        Question(question="Who built the Grey Heron?", answers=("Harland",)),
    ]
    with Engine.open(ferries / "store") as engine:
        report = train_facts(engine, train, good[:5], tmp_path / "model", epochs=1)
        assert (report.questions, report.no_name, report.no_answer) == (32, 1, 1)
        with pytest.raises(InputError, match="none of the 2 training questions"):
            train_facts(engine, train[-2:], good[:5], tmp_path / "other", epochs=1)


def test_a_store_without_facts(toy_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no facts"):
        train_facts(toy_engine, [], [], tmp_path / "model")


def test_by_the_command_line(ferries: Path, tmp_path: Path, memnet: Memnet) -> None:
    store = ("--store", ferries / "store")

    def done(*arguments: object) -> Any:
        return json.loads(memnet(*arguments, "--json", *store)[0])

    files = ("--train", FERRIES / "dev.jsonl", "--dev", FERRIES / "dev.jsonl")
    report = done("train", "facts", *files, *files, "--epochs", 1, "--out", tmp_path / "model")
    assert report["questions"] == 2 * len(read_questions(FERRIES / "dev.jsonl"))
    trained = ("--model", ferries / "model")
    assert done("ask", "Who built the Grey Heron?", *trained)["answer"] == "Tobias Veal"
    assert done("eval", FERRIES / "dev.jsonl", *trained)["hits@1"] > 0.93
    shown, _ = memnet("ask", "Which tug lies at Kestle?", "--explain", *trained, *store)
    assert shown.startswith("Whimbrel, Winter Teal  (confidence ")
    assert "tug <--is a-- Whimbrel" in shown or "Kestle <--home port-- Whimbrel" in shown


@pytest.mark.parametrize("change", [{"kind": "poem"}, {"relations": 5}, {"rule": {"floor": 1}}])
def test_a_description_that_is_none(
    ferries: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    shutil.copytree(ferries / "model", tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelError, match="train"):
        Engine.open(ferries / "store", answerer=tmp_path / "model")


def model(common: frozenset[str] = frozenset(), unused: frozenset[str] = frozenset()) -> FactModel:
    torch.manual_seed(0)
    return new_fact_model(FactModelConfig(width=8, heads=2, inner=8), 4, ["a"], common, unused)


LINKED = LinkedQuestion(
    ("which", "tug", "lies", "at", "port", "averin"),
    (Mention(1, 2, {"tug": 1.0}), Mention(4, 6, {"port averin": 0.5, "port avarin": 0.5})),
)
ENTITIES = {"tug": 3, "port averin": 4, "port avarin": 5}


@pytest.mark.parametrize(
    ("common", "unused", "mentions", "entities", "chains"),
    [
        (set(), set(), 2, ENTITIES, [("which [MASK] lies at [MASK]", 0, {3: 1.0}),
                                     ("which [MASK] lies at [MASK]", 1, {4: 0.5, 5: 0.5})]),
        # Common names are read as words too.
        ({"tug"}, set(), 2, ENTITIES, [("which [MASK] lies at [MASK]", 0, {3: 1.0}),
                                       ("which tug lies at [MASK]", 0, {4: 0.5, 5: 0.5})]),
        # Unused ones start no chain unless alone.
        ({"tug"}, {"tug"}, 2, ENTITIES, [("which tug lies at [MASK]", 0, {4: 0.5, 5: 0.5})]),
        ({"tug"}, {"tug"}, 1, ENTITIES, [("which [MASK] lies at port averin", 0, {3: 1.0})]),
        # Names without facts are words.
        (set(), set(), 2, {"tug": 3}, [("which [MASK] lies at port averin", 0, {3: 1.0})]),
    ],
)  # fmt: skip
def test_a_question_is_seen_from_each_name(
    common: set[str], unused: set[str], mentions: int, entities: dict[str, int], chains: list[Any]
) -> None:
    linked = LINKED._replace(mentions=LINKED.mentions[:mentions])
    found = model(frozenset(common), frozenset(unused)).chains(linked, entities)
    assert [(one.text, one.own, one.start) for one in found] == chains


def test_a_model_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    saved = model(frozenset({"tug", "port"}), frozenset({"tug"}))
    save_fact_model(tmp_path, saved, AnswerRule(0.5, 0.9, 0.1, frozenset({"built"})), {"seed": 3})
    arrays, description = load_checkpoint(tmp_path, MODEL)
    loaded, rule = fact_model_of(tmp_path, arrays, description)
    assert rule == AnswerRule(0.5, 0.9, 0.1, frozenset({"built"}))
    assert (loaded.config, loaded.relations) == (saved.config, saved.relations)
    assert loaded.common_names == {"tug", "port"}
    assert loaded.unused_names == {"tug"}
    for name, tensor in saved.controller.learner.state_dict().items():
        np.testing.assert_array_equal(arrays[f"controller.{name}"], tensor.numpy())
    assert (description["common_names"], description["unused_names"]) == (["port", "tug"], ["tug"])


def test_the_example_is_what_its_maker_writes(tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in FERRIES.iterdir()}
    shutil.copy(FERRIES / "make.py", tmp_path / "make.py")
    subprocess.run([sys.executable, tmp_path / "make.py"], check=True)
    for name in ("facts.tsv", "train.jsonl", "dev.jsonl"):
        assert (tmp_path / name).read_bytes() == before[name]


def test_confidence_is_lower_where_training_knew_less(asked: Engine) -> None:
    known = asked.ask("Who built the Grey Heron?")
    assert known.shown == "answer"
    assert known.confidence is not None
    misspelled = asked.ask("Who built the Gray Heron?").confidence
    assert misspelled is not None
    assert misspelled < known.confidence
    for question in ("How tall is the Grey Heron?", "Who insured the Grey Heron?"):
        answer = asked.ask(question)
        assert answer.shown != "answer"
        assert (answer.confidence or 0.0) < misspelled


def test_without_trained_words_or_dev_questions_the_weight_is_the_confidence() -> None:
    rule = AnswerRule(0.5, 1.0, 0.0)
    plain = rule.confidence(0.8, unknown=0.0, unseen=False, misspelled=False)
    assert plain == pytest.approx(0.8)
    for lowered in ((1.0, False, False), (0.0, True, False), (0.0, False, True)):
        assert rule.confidence(0.8, *lowered) < plain
