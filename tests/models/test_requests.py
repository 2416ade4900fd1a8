"""Requests for what is said of a thing, and words that ask for nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Document, Engine, Fact
from memnet.documents.requests import as_direct_question, both_of

WINCH = "The capstan winch stands on the slipway. It was overhauled in 2019 and pulls four tons."


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("yard")
    with Engine.open(folder / "store", create=True) as engine:
        engine.ingest(
            Document(id="winch.md", title="Capstan winch", text=WINCH),
            Document(id="paint.md", title="Paint store", text="Paint is kept in the brick shed."),
            Document(id="odd.md", title="Mast", text="Odd Lien said the mast is rotten below."),
            Fact(subject="Tessa Brill", relation="trade", object="rigger"),
        )
        yield engine


@pytest.mark.parametrize(
    ("request_", "source", "said"),
    [
        ("Tell me about the capstan winch", "winch.md", "slipway"),
        ("Show me the capstan winch", "winch.md", "stands"),
        ("please describe the capstan winch", "winch.md", "slipway"),
        ("Which documents mention paint?", "paint.md", "1 of 3 documents"),
        ("What did Odd say about the mast?", "odd.md", "is rotten"),
        ("What do we know about Tessa Brill?", None, "rigger"),
    ],
)
def test_what_is_said_of_a_thing_is_shown(
    yard: Engine, request_: str, source: str | None, said: str
) -> None:
    answer = yard.ask(request_)
    assert answer.shown != "nothing"
    assert answer.answer is not None
    assert said in answer.answer
    assert source in (None, answer.evidence[0].source)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where is paint kept and who has the key?", ("Where is paint kept?", "Who has the key?")),
        ("When does it open? Who's in charge?", ("When does it open?", "Who's in charge?")),
        ("What does it pull, and how old is it", ("What does it pull?", "How old is it?")),
        ("When does it open, and where?", ("When does it open?", "Where does it open?")),
        ("where is it and at what time?", ("where is it?", "At what time is it?")),
        ("When and where does it open?", ("When does it open?", "Where does it open?")),
        ("Where do Ann and Bo live?", None),
        ("How tall and how wide is the gate?", None),
        ("Who is the smith who made the anchor and who sold it?", None),
        ("What is the difference between what is lent and what is given?", None),
        ("Is paint kept in the brick shed and the loft?", None),
    ],
)
def test_questions_that_are_two(question: str, parts: tuple[str, str] | None) -> None:
    assert both_of(question) == parts


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        ("Could you tell me Odd Lien's cabin number, please?", "What is Odd Lien's cabin number"),
        (
            "hi, can you please give me the dates of the regatta",
            "What are the dates of the regatta",
        ),
        ("Do you know whether the slipway is open on Sundays?", "Is the slipway open on Sundays?"),
        ("pls tell me when the shop closes", "When the shop closes"),
        ("I'd like to know who keeps the keys.", "Who keeps the keys"),
        ("Can someone show me all open tasks?", "Show all open tasks"),
        ("Where is the winch, please?", "Where is the winch?"),
        # What asks for something else
        ("Can you swim in the harbour?", "Can you swim in the harbour?"),
        ("Could you tell me more about the winch?", "Could you tell me more about the winch?"),
        ("Can I bring a dog?", "Can I bring a dog?"),
        ("May I ask the harbour master for a key?", "May I ask the harbour master for a key?"),
        ("Can anyone check out books?", "Can anyone check out books?"),
        ("Can someone show a card at the gate?", "Can someone show a card at the gate?"),
        ("Can you remind me to call Odd?", "Can you remind me to call Odd?"),
        ("Who sang Thank You?", "Who sang Thank You?"),
        ('Is the boat called "Yes, please"?', 'Is the boat called "Yes, please"?'),
        ("Do you know Odd?", "What is Odd"),
    ],
)
def test_a_polite_request_is_the_question_it_asks(request_: str, question: str) -> None:
    assert as_direct_question(request_).rstrip("?") == question.rstrip("?")


def test_what_is_asked_politely_is_answered(yard: Engine) -> None:
    plain = yard.ask("Where is paint kept?")
    polite = yard.ask("Could you tell me where paint is kept, please?")
    assert polite.question == "Could you tell me where paint is kept, please?"
    assert plain.answer is not None
    assert polite.answer == plain.answer


def test_two_questions_at_once_get_both_answers(yard: Engine) -> None:
    question = "Where does the capstan winch stand, and where is paint kept?"
    answer = yard.ask(question)
    assert answer.question == question
    assert answer.answer is not None
    assert "slipway" in answer.answer
    assert "brick shed" in answer.answer
    assert [one.source for one in answer.quotes] == ["winch.md", "paint.md"]
    assert {one.source for one in answer.evidence} >= {"winch.md", "paint.md"}
    apart = [yard.ask(one) for one in both_of(question) or ()]
    assert answer.confidence == min(one.confidence or 0 for one in apart)


def test_where_one_of_two_questions_has_no_answer_the_other_one_answers(yard: Engine) -> None:
    answer = yard.ask("Where is paint kept and who baked the bread of the harbour master?")
    assert {one.source for one in answer.quotes} <= {"paint.md"}


@pytest.mark.parametrize(
    "text", ["hello", "Thanks!", "good morning", "ok", "Describe", "Explain, please", "Tell me"]
)
def test_what_asks_for_nothing_gets_what_can_be_asked_about(yard: Engine, text: str) -> None:
    answer = yard.ask(text)
    assert answer.shown == "nothing"
    assert "Capstan winch" in (answer.answer or "")


@pytest.mark.parametrize(
    "text",
    ["Tell me about the sauna", "Which files mention saunas?", "Show me the sauna"],
)
def test_what_asks_for_nothing_that_is_known_gets_nothing(yard: Engine, text: str) -> None:
    answer = yard.ask(text)
    assert (answer.shown, answer.answer) == ("nothing", None)
