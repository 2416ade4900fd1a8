import json
from pathlib import Path

import pytest

from memnet import Document, Engine
from memnet.experts.registry import model_folder
from memnet.ingest.babi import parse_stories
from memnet.stories.answers import answer_story, evaluate_stories
from memnet.stories.network import load_story_model, tokenize_story
from tests.conftest import Memnet

STORY = """1 Mary moved to the bathroom.
2 Sandra journeyed to the bedroom.
3 John went to the kitchen.
4 Where is Sandra?\tbedroom\t2
5 Mary went back to the garden.
6 Where is Mary?\tgarden\t5
7 Where is John?\tkitchen\t3
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(STORY)
    return path


def test_the_store_answers_as_the_evaluation_does(story: Path, tmp_path: Path) -> None:
    model = load_story_model(model_folder("babi"))
    parsed = parse_stories(STORY, "story")
    answers = answer_story(model, tokenize_story(parsed[0]))
    expected = [",".join(answer.words) for answer in answers]
    assert expected == ["bedroom", "garden", "kitchen"]
    assert evaluate_stories(model, parsed).em == 1
    with Engine.open(tmp_path / "store", create=True, answerer="babi") as engine:
        engine.ingest(story)
        for question, text in list(zip(parsed[0].questions, expected, strict=True))[1:]:
            answer = engine.ask(question.text)
            assert (answer.answer, answer.model) == (text, "babi")
            for item in answer.evidence:
                assert STORY[item.start : item.end] == item.text
            assert {item.text for item in answer.evidence} == set(parsed[0].sentences)
            for hop in answer.hops:
                assert sum(weight.weight for weight in hop.weights) == pytest.approx(1, abs=1e-4)
            assert [alignment.word for alignment in answer.alignments] == [text]


def test_plain_sentences_are_a_story_too(tmp_path: Path) -> None:
    text = "Mary moved to the bathroom. John went to the office. Mary journeyed to the kitchen."
    with Engine.open(tmp_path / "store", create=True, answerer="babi") as engine:
        engine.ingest([Document(id="tale", text=text)])
        answer = engine.ask("Where is Mary?")
        assert answer.answer == "kitchen"
        assert len(answer.evidence) == 3
        for item in answer.evidence:
            assert text[item.start : item.end] == item.text
        engine.tell("Mary went to the garden.")
        assert engine.ask("Where is Mary?").answer == "garden"


def test_an_unknown_word_is_named_and_not_answered(story: Path, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True, answerer="babi") as engine:
        assert engine.ask("Where is Mary?").abstained  # nothing is stored
        engine.ingest(story)
        answer = engine.ask("Where is Zelda?")
        assert (answer.answer, answer.abstained, answer.unknown_words) == (None, True, ("zelda",))


def test_the_command_line(story: Path, tmp_path: Path, memnet: Memnet) -> None:
    store = ("--store", tmp_path / "store")
    ask, babi = ("ask", "Where is Mary?", *store), ("--model", "babi")
    memnet("ingest", story, *store)
    answer = json.loads(memnet(*ask, *babi, "--json")[0])
    assert (answer["answer"], answer["model"], answer["abstained"]) == ("garden", "babi", False)
    shown, _ = memnet(*ask, *babi, "--explain", "--plot", tmp_path / "a.svg")
    assert shown.startswith("garden\n")
    assert '"garden" was read from' in shown
    assert (tmp_path / "a.svg").stat().st_size > 0
    unknown, _ = memnet("ask", "Where is Zelda?", *babi, *store)
    assert unknown.startswith("The model babi does not know: zelda.")
    scores = json.loads(memnet("eval", story, *babi, "--json", *store)[0])
    assert (scores["n"], scores["em"], scores["recall@5"]) == (3, 1.0, None)
    assert json.loads(memnet("eval", story, "--json", *store)[0])["em"] == 1.0
    _, wrong = memnet("eval", story, "--model", "text", *store, code=1)
    assert "the model 'text' can't answer the stories" in wrong
    for name in ("nothing", str(story)):
        assert "there is no model" in memnet(*ask, "--model", name, code=1)[1]
