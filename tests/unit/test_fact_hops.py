"""Hops over facts, against loops in plain Python; the store against arrays."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memnet.facts.answers import StoreGraph
from memnet.facts.hops import (
    Entities,
    FactController,
    FactModelConfig,
    Facts,
    HopTrace,
    MentionBatch,
    Outgoing,
    RelationKeys,
    expand_ranges,
    follow_facts,
    max_weights,
)
from memnet.facts.model import FactBatch, FactModel
from memnet.facts.training import ArrayGraph, as_tensors, new_fact_model
from memnet.learning.loop import arrays_of
from memnet.storage import EVERYWHERE, MemoryStore
from tests.toy import ToyEncoder, fact, source, toy_store

ENCODED, WIDTH, RELATIONS, HOPS = 10, 8, 3, 3
Links = list[tuple[int, int, int]]
CONFIG = FactModelConfig(width=WIDTH, heads=2, inner=12, hops=HOPS, dropout=0.0)


def controller(seed: int = 0) -> FactController:
    torch.manual_seed(seed)
    made = new_fact_model(CONFIG, ENCODED, [str(number) for number in range(RELATIONS)]).controller
    torch.nn.init.normal_(made.learner.learned.weight)
    made.learner.eval()
    return made


def mentions(chains: int, tokens: int = 5, seed: int = 0) -> MentionBatch:
    random = torch.Generator().manual_seed(seed)
    states = torch.nn.functional.normalize(torch.randn(chains, tokens, ENCODED, generator=random))
    role = torch.zeros(chains, tokens, dtype=torch.int64)
    role[:, 1] = 1
    distance = torch.arange(tokens).expand(chains, tokens) - 1
    return MentionBatch(states, torch.ones(chains, tokens, dtype=torch.bool), role, distance)


def relation_keys() -> RelationKeys:
    random = torch.Generator().manual_seed(5)
    vectors = torch.randn(RELATIONS, ENCODED, generator=random)
    return RelationKeys(torch.nn.functional.normalize(vectors, dim=-1), torch.tensor([1, 2, 0]))


def graph(links: Links, entities: int) -> ArrayGraph:
    return ArrayGraph(torch.arange(entities), torch.tensor(sorted(set(links))), relation_keys())


def start(*entities: int) -> Entities:
    return Entities(torch.arange(len(entities)), torch.tensor(entities), torch.ones(len(entities)))


def reached(trace: HopTrace, chain: int, hop: int) -> dict[int, float]:
    found = trace.steps[hop].reached
    return {
        entity: weight
        for row, entity, weight in zip(*(part.tolist() for part in found), strict=True)
        if row == chain
    }


@torch.no_grad()
def by_loops(
    model: FactController, batch: MentionBatch, chain: int, links: Links, begin: int
) -> list[dict[int, float]]:
    """What one chain reaches at each hop, fact by fact."""
    all_keys = relation_keys()
    one = MentionBatch(*(part[chain : chain + 1] for part in batch))
    tokens, query = model.start(one)
    active = {begin: 1.0}
    found: list[dict[int, float]] = []
    for hop in range(HOPS):
        present = sorted({link[1] for link in links if link[0] in active})
        if not present:
            break
        chosen = RelationKeys(all_keys.vectors[present], all_keys.numbers[present])
        keys = model.keys(chosen)
        query, scores = model.score(hop, query, tokens, one, chosen, keys)
        logits = []
        for place, relation in enumerate(present):
            prior = max(
                active[link[0]] for link in links if link[0] in active and link[1] == relation
            )
            logits.append(float(scores[0, place]) + np.log(prior))
        shares = np.exp(np.array(logits) - max(logits))
        shares /= shares.sum()
        back = float(torch.sigmoid(model.signal("back", query)))
        weights: dict[int, float] = {}
        for subject, relation, value in links:
            if subject in active:
                weight = active[subject] * float(shares[present.index(relation)])
                weight *= back if value == begin else 1.0
                weights[value] = max(weight, weights.get(value, 0.0))
        found.append(weights)
        active = weights
        query = model.update(query, torch.tensor(shares, dtype=torch.float32)[None], keys)
    return found


_links = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, RELATIONS - 1), st.integers(0, 6)),
    min_size=1,
    max_size=25,
    unique=True,
)


@given(_links, st.integers(0, 6), st.integers(0, 6), st.integers(0, 3))
def test_hops_do_what_loops_do(links: Links, first: int, second: int, seed: int) -> None:
    model, batch = controller(seed), mentions(2, seed=seed)
    model.learner.train()  # halting ends no run early then; there is no dropout
    links = [*links, (first, 0, 1), (second, 1, 2)]
    with torch.no_grad():
        trace = follow_facts(model, batch, start(first, second), graph(links, 7), HOPS, 10_000)
    for chain, begin in enumerate((first, second)):
        expected = by_loops(model, batch, chain, sorted(set(links)), begin)
        for hop, weights in enumerate(expected):
            own = reached(trace, chain, hop)
            best = max(weights.values())
            kept = {entity: weight for entity, weight in weights.items() if weight > 0.01 * best}
            for entity, weight in kept.items():
                assert own[entity] == pytest.approx(weight, rel=1e-3, abs=1e-6)
            assert all(own[entity] <= 0.011 * best for entity in own.keys() - kept.keys())
            if best < 0.02 or min(weights.values()) < 0.01 * best:
                break  # what is faint is not followed on


class _ArrayGraph:
    """A graph of tensors, as one of arrays."""

    def __init__(self, graph: ArrayGraph) -> None:
        self._graph = graph

    def outgoing(self, entities: Any) -> Outgoing:
        found = self._graph.outgoing(torch.from_numpy(entities))
        entity, relation, size, relations = (part.numpy() for part in found[:4])
        keys = RelationKeys(*(part.numpy() for part in found.keys))
        return Outgoing(entity, relation, size, relations, keys)

    def facts(self, entities: Any, relations: Any) -> Facts:
        found = self._graph.facts(torch.from_numpy(entities), torch.from_numpy(relations))
        return Facts(*(part.numpy() for part in found))


@given(_links, st.integers(0, 6), st.integers(0, 6), st.integers(0, 3), st.integers(1, 9))
def test_what_answers_does_the_arithmetic_of_what_learns(
    links: Links, first: int, second: int, seed: int, budget: int
) -> None:
    learner = controller(seed)
    asked = mentions(2, seed=seed)
    asked.mask[0, 4] = False
    begin = start(first, second)
    batch = FactBatch(
        MentionBatch(*(part.numpy() for part in asked)),
        Entities(*(part.numpy() for part in begin)),
        np.array([0, 0]),
    )
    network = FactController(arrays_of(learner.learner.state_dict()), CONFIG)
    facts = graph([*links, (first, 0, 1)], 7)
    with torch.no_grad():
        expected, trace = FactModel(CONFIG, learner, ()).score(as_tensors(batch), facts, budget)
    found, own = FactModel(CONFIG, network, ()).score(batch, _ArrayGraph(facts), budget)
    assert len(own.steps) == len(trace.steps)
    np.testing.assert_allclose(own.halting, trace.halting.numpy(), atol=1e-5)
    weights = dict(zip(found.entity.tolist(), found.weight.tolist(), strict=True))
    assert weights.keys() == set(expected.entity.tolist())
    for entity, weight in zip(expected.entity.tolist(), expected.weight.tolist(), strict=True):
        assert weights[entity] == pytest.approx(weight, abs=1e-4)


def test_halting_is_a_distribution_over_hops() -> None:
    links = [(0, 0, 1), (1, 1, 2), (2, 2, 0)]
    model = controller()
    model.learner.train()
    trace = follow_facts(model, mentions(1), start(0), graph(links, 3), HOPS, 100)
    assert trace.halting.sum(dim=1).tolist() == pytest.approx([1.0])
    assert len(trace.steps) == HOPS
    for hop, step in enumerate(trace.steps):
        before = trace.halting[:, :hop].sum(dim=1)
        assert step.continuing.tolist() == pytest.approx((1 - before).tolist())


def test_a_question_that_has_halted_hops_no_further() -> None:
    model = controller()
    torch.nn.init.constant_(model.learner.halt.bias, 20.0)
    trace = follow_facts(model, mentions(1), start(0), graph([(0, 0, 1), (1, 0, 2)], 3), HOPS, 100)
    assert len(trace.steps) == 1


def test_hops_end_where_no_fact_leads_on() -> None:
    model = controller()
    model.learner.train()
    trace = follow_facts(model, mentions(1), start(0), graph([(0, 0, 1)], 2), HOPS, 100)
    assert reached(trace, 0, 0) == {1: pytest.approx(1.0)}
    assert len(trace.steps[-1].reached.entity) == 0


def test_an_entity_without_facts_reaches_nothing() -> None:
    trace = follow_facts(controller(), mentions(1), start(2), graph([(0, 0, 1)], 3), HOPS, 100)
    assert len(trace.steps) == 1
    assert len(trace.steps[0].reached.entity) == 0


def test_a_fact_that_leads_to_its_own_subject() -> None:
    model = controller()
    trace = follow_facts(model, mentions(1), start(0), graph([(0, 0, 0), (0, 0, 1)], 2), 1, 100)
    share = reached(trace, 0, 0)
    assert 0 < share[0] < share[1]


def test_the_budget_keeps_the_worthwhile_facts() -> None:
    links = [(0, 0, value) for value in range(1, 50)] + [(0, 1, 50)]
    model = controller()
    with torch.no_grad():
        whole = follow_facts(model, mentions(1), start(0), graph(links, 51), 1, 100)
        tight = follow_facts(model, mentions(1), start(0), graph(links, 51), 1, 5)
    assert len(reached(whole, 0, 0)) == 50
    kept = reached(tight, 0, 0)
    assert len(kept) in (1, 49)
    assert all(whole_weight == reached(whole, 0, 0)[e] for e, whole_weight in kept.items())


def test_gradients_reach_everything_that_is_learned() -> None:
    links = [(0, 0, 1), (0, 1, 2), (1, 1, 3), (2, 0, 3), (3, 2, 0), (1, 0, 0)]
    model = controller()
    model.learner.train()
    trace = follow_facts(model, mentions(2), start(0, 1), graph(links, 4), HOPS, 100)
    loss = trace.importance.square().sum()
    for step in trace.steps:
        loss = loss + (step.reached.weight * step.halting[step.reached.chain]).square().sum()
    torch.autograd.backward(loss)
    for name, parameter in model.learner.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("key.bias"), name


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 9))))
def test_of_several_weights_the_largest(rows: list[tuple[int, int, int]]) -> None:
    columns = torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)
    found = max_weights(columns[:, 0], columns[:, 1], columns[:, 2].float())
    expected: dict[tuple[int, int], float] = {}
    for chain, entity, weight in rows:
        expected[chain, entity] = max(weight, expected.get((chain, entity), 0))
    own = zip(zip(found.chain.tolist(), found.entity.tolist(), strict=True), found.weight.tolist(),
              strict=True)  # fmt: skip
    assert dict(own) == expected
    assert found.chain.tolist() == sorted(found.chain.tolist())


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4))))
def test_ranges_one_after_the_other(bounds: list[tuple[int, int]]) -> None:
    first = torch.tensor([start for start, _ in bounds], dtype=torch.int64)
    length = torch.tensor([length for _, length in bounds], dtype=torch.int64)
    rows, numbers = expand_ranges(first, first + length)
    expected = [
        (row, number)
        for row, (begin, size) in enumerate(bounds)
        for number in range(begin, begin + size)
    ]
    assert list(zip(rows.tolist(), numbers.tolist(), strict=True)) == expected


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    encoder = ToyEncoder()
    opened = toy_store(tmp_path / "store")
    facts = [
        ("Ann", "built", "Orre"), ("Ben", "built", "Orre"), ("Orre", "lies in", "Sea"),
        ("Ann", "knows", "Ann"), ("Ann", "knows", "Ben"), ("Ben", "knows", "Ann"),
    ]  # fmt: skip
    both = [(s, r, o) for s, r, o in facts] + [(o, f"{r} of", s) for s, r, o in facts]
    opened.put([source("facts", *(fact(*one) for one in both))], encoder.encode)
    yield opened
    opened.close()


def test_the_store_and_its_arrays_hold_the_same_facts(store: MemoryStore) -> None:
    arrays, names = ArrayGraph.of_store(store)
    numbers = {name: number for number, name in enumerate(names, start=1)}
    stored = StoreGraph(store, EVERYWHERE, numbers)
    symbols = arrays.symbols
    entities = torch.arange(4)

    def groups(graph: ArrayGraph | StoreGraph, asked: Any) -> set[tuple[object, ...]]:
        outgoing = graph.outgoing(asked)
        facts = graph.facts(asked[outgoing.entity], outgoing.relations[outgoing.relation])
        objects: list[set[int]] = [set() for _ in outgoing.entity]
        for group, value in zip(facts.group.tolist(), facts.object.tolist(), strict=True):
            objects[group].add(value if graph is stored else int(symbols[value]))
        numbers, vectors = outgoing.keys.numbers.tolist(), outgoing.keys.vectors.tolist()
        assert outgoing.entity.tolist() == sorted(outgoing.entity.tolist())
        return {
            (entity, count, numbers[relation], tuple(vectors[relation]), tuple(sorted(values)))
            for entity, relation, count, values in zip(
                outgoing.entity.tolist(), outgoing.relation.tolist(), outgoing.size.tolist(),
                objects, strict=True,
            )
        }  # fmt: skip

    assert groups(arrays, entities) == groups(stored, symbols[entities].numpy())
    assert len(groups(arrays, entities)) > 8


def test_symbols_without_facts_are_no_entities(store: MemoryStore) -> None:
    arrays, _ = ArrayGraph.of_store(store)
    ann = store.facts.subjects(["ann"])["ann"]
    assert arrays.entities([10**6, ann, -5]) == [arrays.symbols.tolist().index(ann)]
