"""Questions of a conversation that mean by "she" what the turn before was about."""

import pytest

from memnet import Answer, Engine
from memnet.cli.conversation import Conversation
from memnet.cli.show import show_answer
from memnet.text.follow_ups import Asked, answer_after, follow_ups


def _answer(question: str, short: str | None = None, confidence: float | None = 0.5) -> Answer:
    return Answer(
        question=question, answer=short, short=short, confidence=confidence,
        abstained=short is None, candidates=(), evidence=(), hops=(), model="text", elapsed_ms=0.0,
    )  # fmt: skip


BUILT = Asked(question="Who built the Orre Light in 1862?", short="Una Thale")


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("And where was she born?", ["And where was Una Thale born?", "Una Thale", "she"]),
        ("What was her trade?", ["What was Una Thale’s trade?", "Una Thale", "her"]),
        ("Who taught her?", ["Who taught Una Thale?", "Una Thale", "her"]),
        ("Who met her in 1860?", ["Who met Una Thale in 1860?", "Una Thale", "her"]),
        ("How high is it?", ["How high is Una Thale?", "Una Thale", "it"]),
    ],
)
def test_a_pronoun_may_mean_a_name_of_the_turn_before(question: str, meant: list[str]) -> None:
    first, second = follow_ups(question, BUILT)
    assert [first.question, first.name, first.pronoun] == meant
    assert second.name == "Orre Light"
    assert second.question == first.question.replace("Una Thale", "Orre Light")


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("And the Skerry Light?", ["Who built the Skerry Light in 1862?"]),
        ("And Skerry Light?", ["Who built the Skerry Light in 1862?"]),
        ("what about Skerry Light?", ["Who built the Skerry Light in 1862?"]),
        ("And what about Skerry Light ?", ["Who built the Skerry Light in 1862?"]),
        ("And when?", []),
        ("And?", []),
    ],
)
def test_a_name_alone_asks_the_same_of_it(question: str, meant: list[str]) -> None:
    assert [one.question for one in follow_ups(question, BUILT)] == meant


@pytest.mark.parametrize(
    "question",
    ["Where was Una Thale when she died?", "Who lit the lamp?", "What’s the heritage?", ""],
)
def test_what_has_no_pronoun_or_a_name_of_its_own_is_left_alone(question: str) -> None:
    assert follow_ups(question, BUILT) == []
    assert follow_ups("Where was she born?", None) == []


def test_names_are_few_and_without_the_words_before_them() -> None:
    many = Asked(question="Is Kestle near Orre, Hallin, Tassen or Brannock?", short="yes")
    assert [one.name for one in follow_ups("Where is it?", many)] == ["Kestle", "Orre", "Hallin"]


def test_the_most_confident_answer_is_kept_and_facts_are_certain() -> None:
    last = Asked(question="Is Kestle near Orre or Hallin?")

    def chosen(kestle: Answer, orre: Answer, hallin: Answer) -> str:
        given = {"Where is Kestle?": kestle, "Where is Orre?": orre, "Where is Hallin?": hallin}
        answer, meant = answer_after("Where is it?", last, given.__getitem__)
        assert meant is not None
        assert answer is given[meant.question]
        return meant.name

    none = _answer("", None, 0.9)
    assert chosen(_answer("", "x", 0.4), _answer("", "y", 0.6), none) == "Orre"
    assert chosen(_answer("", "x", None), _answer("", "y", 0.6), none) == "Kestle"
    assert chosen(none, none, none) == "Kestle"
    assert answer_after("Who?", last, lambda _: none) == (none, None)


def test_a_conversation_says_what_it_takes_a_pronoun_for(
    saltmere: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Conversation(saltmere, saltmere.ask, show_answer, namespace="")
    talk.answer("Who built the Orre Light?")
    assert capsys.readouterr().err == ""
    talk.answer("And where was he born?")
    printed = capsys.readouterr()
    assert printed.err == 'Note: "he" is read as "Tobias Wrennick".\n'
    assert "Kestle" in printed.out.splitlines()[0]
    talk.answer("Who built the Orre Light?")
    assert capsys.readouterr().err == ""
