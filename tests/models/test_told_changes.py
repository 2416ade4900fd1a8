"""What is told of other things changes nothing, and what is told of the same takes its place."""

from pathlib import Path

import pytest

from memnet import Engine


@pytest.fixture
def memory(tmp_path: Path) -> Engine:
    return Engine.open(tmp_path / "store", create=True)


@pytest.mark.parametrize(
    "texts",
    [
        ("The ferry sails at 7.", "The tram goes at 9."),
        ("Parcel 310 arrived on Monday.", "Parcel 311 arrived on Tuesday."),
        ("I mended the fence on Monday.", "I mended the shed on Friday."),
        ("The phone bill was raised to 30 euros.", "The toll was raised to 4 euros."),
        ("Nell rows on the upper lake.", "Nell does not row on the lower lake."),
        ("The press takes the 3 mm plate.", "Don't forget to oil the 3 mm plate of the press."),
    ],
)
def test_another_subject_is_never_superseded(memory: Engine, texts: tuple[str, str]) -> None:
    with memory:
        for text in texts:
            [decision] = memory.tell(text).decisions
            assert decision.action == "add"


@pytest.mark.parametrize(
    ("texts", "question", "short"),
    [
        (["I love olives.", "I hate olives."], "Do I like olives?", "no"),
        (["I dislike opera.", "I enjoy opera."], "Do I like opera?", "yes"),
        (["My favourite poet is Rilke.", "My current favourite poet is Heine."],
         "Who is my favourite poet?", "Heine"),
        (["Bob has never been to Oslo."], "Has Bob been to Oslo?", "no"),
        (["Ticket 8 is paid.", "Ticket 9 is not paid."], "Is ticket 8 paid?", "yes"),
        (["My shoe size is 42, but it used to be 41."], "What was my shoe size before?", "41"),
        (["My shoe size is 42, but it used to be 41."], "What is my shoe size?", "42"),
        (["The talk is on Thursday.", "The talk was put off until Monday."],
         "When is the talk?", "Monday, 9 March 2026"),
        (["Nell rows on the upper lake.", "Nell does not row on the lower lake."],
         "Where does Nell row?", "the upper lake"),
        (["The fair was moved to Saturday.", "The visit of the vet was set for Friday."],
         "When is the fair?", "Saturday, 7 March 2026"),
        (["The sign-up was extended to Monday."], "How long does the sign-up run?",
         "Monday, 9 March 2026"),
        (["We bought the mill six years ago."], "In which year did we buy the mill?", "2020"),
        (["Lately my favourite dance is polka."], "What is Nell's favourite dance?", None),
        (["Our vet is Dr. Holm.", "Our vet is now Dr. Brelle."], "Who is our vet?", "Dr. Brelle"),
        (["Nell speaks Finnish.", "Nell doesn't eat eel."], "What does Nell eat?", None),
        (["Nell doesn't eat eel."], "What does Nell not eat?", "eel"),
        (["Nell no longer drinks rum, only cider."], "What does Nell drink now?", "cider"),
        (["Nell prefers the upper bunk on ships.", "Nell prefers the lower bunk on ships now."],
         "Which bunk does Nell prefer?", "the lower bunk"),
        (["Nell prefers red wine with meat.", "Nell prefers white wine with fish now."],
         "What does Nell prefer with meat?", "red wine"),
    ],
)  # fmt: skip
def test_the_last_of_the_same_holds(
    memory: Engine, texts: list[str], question: str, short: str | None
) -> None:
    with memory:
        for text in texts:
            memory.tell(text, at="2026-03-04")
        answer = memory.ask(question)
        assert (answer.short, answer.contradiction) == (short, False)
        assert memory.verify().problems == ()
