import json
from pathlib import Path

import pytest

from memnet import Document, Engine
from memnet.experts.registry import model_folder
from memnet.ingest.babi import parse_stories
from memnet.stories.answers import answer_stories, evaluate_stories
from memnet.stories.model import load_story_model, tokenize_story
from tests.processes.test_cli import run

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
    expected = [
        ",".join(answer.words) for answer in answer_stories(model, [tokenize_story(parsed[0])])[0]
    ]
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


def test_the_command_line(story: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run("ingest", story, store=store).returncode == 0
    answer = json.loads(
        run("ask", "Where is Mary?", "--model", "babi", "--json", store=store).stdout
    )
    assert (answer["answer"], answer["model"], answer["abstained"]) == ("garden", "babi", False)
    shown = run(
        "ask", "Where is Mary?", "--model", "babi", "--explain", "--plot", tmp_path / "a.svg",
        store=store,
    ).stdout  # fmt: skip
    assert shown.startswith("garden\n")
    assert '"garden" was read from' in shown
    assert (tmp_path / "a.svg").stat().st_size > 0
    unknown = run("ask", "Where is Zelda?", "--model", "babi", store=store)
    assert unknown.stdout.startswith("The model babi does not know: zelda.")
    scores = json.loads(run("eval", story, "--model", "babi", "--json", store=store).stdout)
    assert (scores["n"], scores["em"], scores["recall@5"]) == (3, 1.0, None)
    assert json.loads(run("eval", story, "--json", store=store).stdout)["em"] == 1.0
    wrong = run("eval", story, "--model", "text", store=store)
    assert wrong.returncode == 1
    assert "the model 'text' can't answer the stories" in wrong.stderr
    for name in ("nothing", str(story)):
        done = run("ask", "Where is Mary?", "--model", name, store=store)
        assert done.returncode == 1
        assert "there is no model" in done.stderr
