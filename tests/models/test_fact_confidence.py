"""How surely facts answer without a trained model, and what is shown of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Engine

CREW = """sailor,cabin,duty,home
Olga Fenn,Starboard 2,Cook,Marsh End
Piet Rowe,Port 1,Engineer,Dunwich
Nadia Sorrel,Port 4,Radio,Marsh End
"""


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("crew")
    (folder / "crew.csv").write_text(CREW)
    with Engine.open(folder / "store", create=True) as engine:
        engine.ingest(folder / "crew.csv", facts=True)
        yield engine


@pytest.mark.parametrize(
    ("question", "value"),
    [
        pytest.param(
            "What is the duty of Piet Rowe?",
            "Engineer",
            marks=pytest.mark.xfail(reason="confidence 0.44, of which 0.45 is needed"),
        ),
        ("Which cabin does Nadia Sorrel have?", "Port 4"),
        ("What is Olga's duty?", "Cook"),  # the only Olga
        ("What is the home of Nadia Sorel?", "Marsh End"),  # one letter is missing
    ],
)
def test_what_facts_say_is_answered_with_a_confidence(
    crew: Engine, question: str, value: str
) -> None:
    answer = crew.ask(question)
    assert (answer.shown, answer.kind, answer.short) == ("answer", "facts", value)
    assert answer.confidence is not None
    assert 0.5 <= answer.confidence <= 1
    assert answer.question == question


@pytest.mark.parametrize(
    "question",
    ["How old is Piet Rowe?", "What does Nadia Sorrel weigh?", "When was Olga Fenn born?",
     "What is Karl Imhof's duty?"],
)  # fmt: skip
def test_what_facts_do_not_say_is_withheld(crew: Engine, question: str) -> None:
    answer = crew.ask(question)
    assert (answer.shown, answer.answer) == ("nothing", None)


def test_facts_that_may_answer_are_shown_as_they_stand(crew: Engine) -> None:
    surely = crew.ask("What is the duty of Piet Rowe?")
    assert surely.confidence is not None
    config = crew.config.answer.model_copy(update={"answer_threshold": 1.0})
    unsure = Engine(
        crew.store, crew.encoder, crew.config.model_copy(update={"answer": config})
    ).ask("What is the duty of Piet Rowe?")  # fmt: skip
    assert (unsure.shown, unsure.kind, unsure.short) == ("passage", "statement", None)
    assert unsure.answer is not None
    assert "duty: Engineer" in unsure.answer
    assert [quote.text in CREW or "duty" in quote.text for quote in unsure.quotes] == [True]
