"""Questions about what was told, read by the statement network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Engine
from memnet.statements.answers import StatementAnswers
from memnet.statements.loading import LazyStatementReader
from memnet.storage import Scope


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "store", create=True) as engine:
        yield engine


def _tell(engine: Engine, *texts: str, day: int = 1, namespace: str = "") -> None:
    for number, text in enumerate(texts, day):
        engine.tell(text, at=f"2026-03-{number:02}", namespace=namespace)


def test_an_answer_is_a_piece_of_what_was_told(memory: Engine) -> None:
    _tell(memory, "Bo works at the mill in Kestle", "The mill opens at seven")
    answer = memory.ask("Where does Bo work?")
    assert answer.model == "statements"
    assert answer.kind == "value"
    assert answer.answer == "Bo works at the mill in Kestle"
    assert answer.short is not None
    assert "mill" in answer.short
    (quote,) = answer.quotes
    evidence = {one.id: one for one in answer.evidence}
    assert evidence[quote.evidence].text == answer.answer
    assert evidence[quote.evidence].place == "told 2026-03-01"
    candidate = answer.candidates[0]
    document = memory.get(evidence[quote.evidence].source)
    assert document is not None
    assert document.text[candidate.start : candidate.end] == candidate.text == answer.short


def test_only_what_held_by_then_is_read(memory: Engine) -> None:
    _tell(memory, "The rent is 950 a month", "The rent is 980 a month", day=10)
    assert memory.ask("How much is the rent?", as_of="2026-03-10").short in ("950", "950 a month")
    assert memory.ask("How much is the rent?").short in ("980", "980 a month")
    assert memory.ask("How much is the rent?", as_of="2026-03-01").abstained
    seen = memory.ask("How much is the rent?", as_of="2026-03-10").evidence
    assert [one.text for one in seen] == ["The rent is 950 a month"]


def test_a_contradiction_that_was_noted_is_asked_back(memory: Engine) -> None:
    _tell(memory, "Tom says the party is at 8", "Ida says the party is at 9", day=10)
    assert [one.change for one in memory.history()] == ["contradict", None]
    answer = memory.ask("When does the party start?")
    assert answer.contradiction
    assert answer.short is None
    assert answer.answer == (
        "These contradict each other; which of them is right?\n"
        "Tom says the party is at 8\nIda says the party is at 9"
    )
    assert [one.text for one in answer.candidates] == [one.text for one in answer.quotes]
    memory.tell("Forget that Tom says the party is at 8")
    assert not memory.ask("When does the party start?").contradiction


def test_a_namespace_is_read_alone(memory: Engine) -> None:
    _tell(memory, "Bo works at the mill", namespace="one")
    _tell(memory, "Bo works at the bakery", namespace="two")
    assert "mill" in (memory.ask("Where does Bo work?", namespace="one").short or "")
    assert "bakery" in (memory.ask("Where does Bo work?", namespace="two").short or "")
    assert len(memory.ask("Where does Bo work?", top_k=5).evidence) == 2


def test_what_is_asked_for_is_found_among_many(memory: Engine) -> None:
    for number in range(60):
        memory.tell(f"The locker {number} of hall {number % 7} has the code {1000 + 37 * number}")
    memory.tell("My sister Clara keeps bees in Kestle")
    memory.tell("Clara sells honey at the market")
    answer = memory.ask("What is the code of locker 41?")
    assert answer.short == str(1000 + 37 * 41)
    assert len(answer.hops) == 2
    assert sum(one.weight for one in answer.hops[0].weights) <= 1 + 1e-5
    # The second statement does not say whose sister Clara is: a name of the first leads to it.
    found = memory.ask("What does my sister sell?", top_k=24)
    assert "Clara sells honey at the market" in [one.text for one in found.evidence]


def test_an_empty_memory_and_conditions_are_left_to_the_passages(memory: Engine) -> None:
    assert memory.ask("Where does Bo work?").abstained
    _tell(memory, "Bo works at the mill")
    assert memory.ask("Where does Bo work?", where={"author": "Ann"}).abstained


def test_the_attention_is_paid_to_what_is_read(memory: Engine) -> None:
    _tell(memory, "Bo works at the mill", "Una drives a red van")
    memory.ask("Where does Bo work?")
    memory.tell("The cat is called Minka")  # stores what reads paid
    usage = {one.id: one.usage for one in memory.store.statements.usage()}
    first, second, _ = sorted(usage)
    assert usage[first] > usage[second]
    scope = Scope("", None, frozenset(("statement",)))
    assert memory.answerer.ask("Where does Bo work?", 1, 1, scope).model == "statements"


def test_what_speakers_say_of_themselves_is_read_with_its_message(memory: Engine) -> None:
    said = (
        ("Emi", "Hello you! I live in Porto."), ("Bella", "Hey Emi. I live in Oslo."),
        ("user", "Good day. I work at the mill."),
    )  # fmt: skip
    memory.remember(
        (
            {"id": f"m{number}", "speaker": speaker, "time": f"2026-03-0{number}", "text": text}
            for number, (speaker, text) in enumerate(said, 1)
        ),
        learn=True,
    )
    used: dict[int, float] = {}
    statements = StatementAnswers(
        memory.store, memory.encoder, LazyStatementReader(),
        memory.answerer.ask, used.update,
    )  # fmt: skip
    scope = Scope(kinds=frozenset(("statement",)), learned=True)
    for question, short, source, start, place in (
        ("Where does Bella live?", "Oslo", "m2", 9, "Bella, 2026-03-02"),
        ("Where do I work?", "the mill", "m3", 10, "user, 2026-03-03"),
    ):
        answer = statements.ask(question, None, 5, scope)
        assert answer.short is not None
        assert short in answer.short
        assert (answer.quotes[0].source, answer.quotes[0].start) == (source, start)
        [evidence] = [one for one in answer.evidence if one.id == answer.quotes[0].evidence]
        assert (evidence.source, evidence.place) == (source, place)
        document = memory.get(source)
        assert document is not None
        assert document.text[evidence.start : evidence.end] == evidence.text
    assert used.keys() == {one.id for one in memory.history()}
    # A memory of messages goes on answering from these.
    found = memory.ask("Where does Emi live?")
    assert found.model == "text"
    assert all(
        slot.valid_from is None for slot in memory.store.fetch([e.id for e in found.evidence])
    )


def test_a_message_that_holds_no_longer_is_not_the_answer(memory: Engine) -> None:
    said = (
        "I live in Porto and work at Telrex.", "My budget for the move is 900 euros.",
        "I moved to Rome last week, finally!", "I need a list of moving companies.",
    )  # fmt: skip
    memory.remember(
        (
            {"id": f"m{number}", "speaker": "user", "time": f"2026-03-0{number}", "text": text}
            for number, text in enumerate(said, 1)
        ),
        learn=True,
    )
    for question, short, expert in (
        ("Where do I live?", "Rome", "statements"),
        ("Where do I work?", "Telrex", None),
        ("What is my budget for the move?", "900 euros", "documents"),
    ):
        answer = memory.ask(question)
        assert answer.short == short
        assert expert in (None, answer.experts[0].name)
        # The message is evidence, whichever expert has read it.
        assert {one.source for one in answer.evidence} <= {"m1", "m2", "m3", "m4"}
    assert memory.ask("Which companies were suggested?").experts[0].name == "documents"


@pytest.mark.parametrize(
    ("told", "question", "kind"),
    [
        (["I can't stand quinces.", "Tove hates leeks."], "Does Tove like quinces?", "none"),
        (["I can't stand quinces.", "Tove hates leeks."], "Does Tove like leeks?", "no"),
        (["Tove hates leeks.", "Tove rows."], "Does Tove like carrots?", "none"),
        (["Oda has never flown a kite.", "Oda rows."], "Has Oda flown a glider?", "none"),
        (["My nephew doesn't eat eggs.", "My aunt rows."], "Does my aunt eat eggs?", "none"),
        (["Ivo's horse is Flint.", "Flint is not shod."], "Is Ivo's horse shod?", "no"),
    ],
)
def test_what_is_said_of_another_is_no_verdict(
    memory: Engine, told: list[str], question: str, kind: str
) -> None:
    _tell(memory, *told)
    assert memory.ask(question).kind == kind
