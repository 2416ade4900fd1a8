import numpy as np
import pytest
import torch

from memnet import Document, Engine
from memnet.config import HopConfig
from memnet.controllers import Candidates, Lead, QueryState, UntrainedController
from memnet.hops import HopLoop, HopTrace
from tests import oracle

CHAIN = [
    Document(id="light", title="Orre Light", text="The tower on the cape was raised by Una Thale."),
    Document(id="una", title="Una Thale", text="A mason who grew up at Kestle Quay."),
    Document(id="quay", title="Kestle Quay", text="A village of herring and rope."),
    *(
        Document(id=f"noise {n}", title=f"Noise {n}", text=f"Filler about subject {n} and nothing.")
        for n in range(30)
    ),
]


def _trace(engine: Engine, question: str, hops: int) -> HopTrace:
    settings = engine.config.hop
    controller = UntrainedController(settings)
    return HopLoop(engine._store, engine._encoder.encode, controller, settings).run(question, hops)


def _sources(engine: Engine, trace: HopTrace) -> list[str]:
    return [slot.source for slot in engine._store.fetch(trace.last.ids)]


def test_a_hop_follows_a_name_that_the_question_does_not_hold(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    question = "raised the tower on the cape"
    one = _sources(toy_engine, _trace(toy_engine, question, 1))
    assert one[0] == "light"
    assert one.index("una") > 1
    two = _sources(toy_engine, _trace(toy_engine, question, 2))
    assert two[:2] == ["light", "una"]
    third = _trace(toy_engine, question, 3).last
    (quay,) = toy_engine._store.search_symbolic(["kestle quay"], 1)["kestle quay"]
    assert third.via[third.ids.index(quay)] == "kestle quay"


def test_the_trace_says_what_led_where(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    answer = toy_engine.ask("raised the tower on the cape", hops=2)
    assert [hop.hop for hop in answer.hops] == [1, 2]
    una = next(weight for weight in answer.hops[1].weights if weight.source == "una")
    assert (una.via, una.via_source) == ("una thale", "light")
    assert una.symbolic == pytest.approx(HopConfig().read_symbol_weight)
    light = answer.hops[0].weights[0]
    assert (light.source, light.via) == ("light", None)
    evidence = {item.source: item.hop for item in answer.evidence}
    assert evidence["light"] == 1


def test_a_named_subject_is_addressed_in_any_case(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    answer = toy_engine.ask("tell me of kestle quay")
    quay = next(weight for weight in answer.hops[0].weights if weight.source == "quay")
    assert (quay.via, quay.via_source) == ("kestle quay", None)
    assert answer.evidence[0].source == "quay"


def test_hops_stop_when_nothing_new_comes_up(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN[3:])
    assert len(_trace(toy_engine, "subject 3", 9).steps) == 1
    toy_engine.ingest(CHAIN[:3])
    assert len(_trace(toy_engine, "the tower on the cape", 9).steps) <= 4


def test_weights_of_a_hop_are_a_softmax_and_the_read_is_its_sum(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    for step in _trace(toy_engine, "raised the tower", 2).steps:
        scores = sum(part.double() for part in step.parts) / HopConfig().temperature
        expected = oracle.softmax(np.asarray(scores), np.ones(len(step.ids), bool))
        np.testing.assert_allclose(step.weights, expected, atol=1e-6)
        values = toy_engine._store.keys(step.ids).vectors
        np.testing.assert_allclose(step.read, expected @ values, atol=1e-5)
        assert step.weights.tolist() == sorted(step.weights.tolist(), reverse=True)


def test_an_empty_memory_has_nothing_to_say(toy_engine: Engine) -> None:
    answer = toy_engine.ask("who?")
    assert (answer.answer, answer.abstained, answer.evidence) == (None, True, ())
    assert answer.hops[0].weights == ()


def test_scores_are_the_weighted_sum_of_the_ways_of_addressing() -> None:
    config = HopConfig()
    candidates = Candidates(
        ids=(1, 2, 3),
        keys=torch.eye(3),
        values=torch.eye(3),
        dense=torch.tensor([0.5, 0.2, 0.4]),
        lexical=torch.tensor([1.0, 0.0, 0.5]),
        named=torch.tensor([1.0, 0.0, 1.0]),
        led=torch.tensor([0.0, 0.7, 0.2]),
        via=("a", "b", "c"),
        is_fact=torch.tensor([False, False, True]),
    )
    total = UntrainedController(config).score(candidates).total()
    expected = [
        0.5 * config.dense_weight + config.lexical_weight + config.question_symbol_weight,
        0.2 * config.dense_weight + 0.7 * config.read_symbol_weight,
        0.4 * config.relation_weight + config.question_fact_weight,
    ]
    assert total.tolist() == pytest.approx(expected)


def test_an_update_keeps_the_strongest_lead() -> None:
    controller = UntrainedController(HopConfig())
    state = QueryState(
        torch.zeros(3), frozenset({"q"}), {"old": Lead(0.9, 7), "both": Lead(0.3, 7)}
    )
    after = controller.update(state, {1: 0.4, 2: 0.2}, {1: ["new"], 2: ["both", "old"]})
    assert after.leads == {"old": Lead(0.9, 7), "both": Lead(0.5, 2), "new": Lead(1.0, 1)}
    assert after.named == state.named
    assert state.leads.keys() == {"old", "both"}
