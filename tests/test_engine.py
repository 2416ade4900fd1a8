import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError

from memnet import Document, Engine, Fact
from memnet.errors import InputError
from memnet.evaluation import evaluate, read_questions
from tests.conftest import EXAMPLES


def test_the_example_is_answered_over_two_hops(saltmere: Engine) -> None:
    answer = saltmere.ask("In which town was the builder of the Orre Light born?")
    assert not answer.abstained
    sources = [item.source for item in answer.evidence[:3]]
    assert "orre-light" in sources
    texts = {
        json.loads(line)["id"]: json.loads(line)["text"]
        for line in (EXAMPLES / "memory" / "documents.jsonl").read_text().splitlines()
    }
    for item in answer.evidence:
        if item.source in texts:
            assert texts[item.source][item.start : item.end] == item.text


def test_recall_on_the_example(saltmere: Engine) -> None:
    scores = evaluate(saltmere, read_questions(EXAMPLES / "questions.jsonl"))
    assert scores.n == 60
    assert scores.recall_at_5 is not None
    assert scores.recall_at_5 >= 0.9
    single = evaluate(saltmere, read_questions(EXAMPLES / "questions.jsonl"), hops=1)
    assert single.recall_at_5 is not None
    assert scores.recall_at_5 > single.recall_at_5


def test_facts_answer_with_their_set(toy_engine: Engine) -> None:
    toy_engine.ingest(
        [
            Fact(subject="Morning Petrel", relation="calls at", object="Pellgate"),
            Fact(subject="Morning Petrel", relation="calls at", object="Kestle"),
            Fact(subject="Morning Petrel", relation="captain", object="Edwin Roake"),
            Fact(subject="Amber Fox", relation="calls at", object="Orre"),
        ]
    )
    answer = toy_engine.ask("Where calls the Morning Petrel at?")
    assert {candidate.text for candidate in answer.candidates} == {"Pellgate", "Kestle"}
    assert answer.answer in {"Pellgate", "Kestle"}
    assert answer.evidence[0].kind == "fact"
    assert answer.evidence[0].text.split("\t")[1] == "calls at"


def test_facts_do_not_answer_with_what_the_question_says(toy_engine: Engine) -> None:
    toy_engine.ingest(
        [
            Fact(subject="Orre Light", relation="built by", object="Ann Dell"),
            Fact(subject="Gannet Light", relation="built by", object="Ann Dell"),
        ]
    )
    answer = toy_engine.ask("The Orre Light was built by whom?")
    assert [candidate.text for candidate in answer.candidates] == ["Ann Dell"]
    answer = toy_engine.ask("Built by Ann Dell, not the Orre Light?")
    assert [candidate.text for candidate in answer.candidates] == ["Gannet Light"]


def test_a_question_about_something_else_is_not_answered(saltmere: Engine) -> None:
    for question in (
        "What is the boiling point of mercury?",
        "Which team won the cricket world cup in 2011?",
        "Who wrote the Python programming language?",
    ):
        answer = saltmere.ask(question)
        assert (answer.answer, answer.abstained) == (None, True), question
        assert answer.evidence


def test_no_number_poses_as_a_probability(saltmere: Engine) -> None:
    answer = saltmere.ask("Which ports does the Morning Petrel call at?")
    assert answer.evidence[0].kind == "fact"
    assert answer.confidence is None


@pytest.mark.parametrize(
    "question",
    ["word " * 10_000, "東京の灯台を建てたのは誰ですか", "🚢?", "the of and", "\"' OR 1=1 --"],
)
def test_odd_questions_get_an_answer_or_an_abstention(saltmere: Engine, question: str) -> None:
    answer = saltmere.ask(question)
    assert answer.question == question
    assert answer.abstained == (answer.answer is None)


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(toy_engine: Engine, question: str) -> None:
    with pytest.raises(InputError, match="the question is empty; ask something in plain words"):
        toy_engine.ask(question)


def test_hops_and_top_k_must_be_positive(toy_engine: Engine) -> None:
    for hops, top_k in ((0, None), (None, 0)):
        with pytest.raises(InputError, match="they must be at least 1"):
            toy_engine.ask("who?", hops=hops, top_k=top_k)


def test_top_k_bounds_the_evidence(saltmere: Engine) -> None:
    answer = saltmere.ask("Who built the Orre Light?", top_k=3)
    assert len(answer.evidence) == 3
    assert all(len(hop.weights) <= 3 for hop in answer.hops)


def test_results_can_not_be_changed(saltmere: Engine) -> None:
    answer = saltmere.ask("Who built the Orre Light?")
    with pytest.raises(ValidationError, match="frozen"):
        answer.answer = "someone else"


def test_forgetting_needs_known_ids(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="a", text="One."), Document(id="b", text="Two."))
    with pytest.raises(InputError, match="no source 'nobody' is stored, so nothing was forgotten"):
        toy_engine.forget("a", "nobody")
    assert toy_engine.info().documents == 2
    assert toy_engine.forget("a") == 1
    assert [item.source for item in toy_engine.ask("one").evidence] == ["b"]


def test_many_threads_may_ask_while_one_writes(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="fixed", title="Fixed", text="The fixed old boat."))
    done = threading.Event()

    def ask(_: int) -> bool:
        while not done.is_set():
            answer = toy_engine.ask("fixed old boat")
            if "fixed" not in [item.source for item in answer.evidence]:
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        asking = pool.map(ask, range(3))
        for number in range(40):
            toy_engine.ingest(Document(id="moving", text=f"Boat number {number}."))
        done.set()
        assert all(asking)
    assert toy_engine.info().documents == 2


def test_questions_files_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    for content, complaint in (
        ("", "holds no questions"),
        ('{"question": 3}', "line 1: question: Input should be a valid string"),
        ('\n{"question": " "}', "line 2: question: the question is blank"),
        ("{", "line 1: line: Invalid JSON"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=complaint):
            read_questions(path)
    with pytest.raises(InputError, match="can't be read"):
        read_questions(path.parent / "none")
