"""Questions about what was told, read by the statement network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Engine
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
    assert memory.ask("How much is the rent?", as_of="2026-03-10").short == "950"
    assert memory.ask("How much is the rent?").short == "980"
    assert memory.ask("How much is the rent?", as_of="2026-03-01").abstained
    seen = memory.ask("How much is the rent?", as_of="2026-03-10").evidence
    assert [one.text for one in seen] == ["The rent is 950 a month"]


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
