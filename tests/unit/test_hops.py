import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memnet import Document, Engine
from memnet.attention.arrays import softmax
from memnet.config import HopConfig
from memnet.documents.candidates import (
    Candidates,
    Link,
    LinkFeature,
    LinkKind,
    Links,
    MessageFeatures,
    SlotFeature,
    find_links,
)
from memnet.documents.controller import HOP_PREFIXES, TextController, hop_scores
from memnet.documents.hops import HopRead, read_in_hops
from memnet.documents.question import Question
from tests import oracle

KEY, SHARED, BACK = LinkKind

CHAIN = [
    Document(id="light", title="Orre Light", text="The tower on the cape was raised by Una Thale."),
    Document(id="una", title="Una Thale", text="A mason who grew up at Kestle Quay."),
    Document(id="quay", title="Kestle Quay", text="A village of herring and rope."),
    *(
        Document(id=f"noise {n}", title=f"Noise {n}", text=f"Filler about subject {n} and nothing.")
        for n in range(30)
    ),
]


def _read(engine: Engine, question: str, hops: int) -> list[HopRead]:
    settings, store = engine.config.hop, engine.store
    with store.reading():
        asked = Question(question, store, engine.encoder.encode)
        return read_in_hops(asked, TextController(settings), settings, hops)


def _sources(engine: Engine, read: HopRead) -> list[str]:
    return [slot.source for slot in engine.store.fetch(read.ids)]


def test_a_hop_follows_a_name_that_the_question_does_not_hold(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    question = "raised the tower on the cape"
    one = _sources(toy_engine, _read(toy_engine, question, 1)[-1])
    assert one[0] == "light"
    assert one.index("una") > 1
    two = _sources(toy_engine, _read(toy_engine, question, 2)[-1])
    assert two[:2] == ["light", "una"]
    third = toy_engine.ask(question, hops=3, top_k=40).hops[2]
    [quay] = [weight for weight in third.weights if weight.source == "quay"]
    assert (quay.via, quay.via_source) == ("kestle quay", "una")


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
    assert len(_read(toy_engine, "subject 3", 9)) == 2
    toy_engine.ingest(CHAIN[:3])
    assert len(_read(toy_engine, "the tower on the cape", 9)) <= 5


def test_weights_of_a_hop_are_a_softmax(toy_engine: Engine) -> None:
    toy_engine.ingest(CHAIN)
    for read in _read(toy_engine, "raised the tower", 2):
        scores = sum(part.astype(np.float64) for part in read.scores[:4]) / HopConfig().temperature
        expected = oracle.softmax(np.asarray(scores))
        np.testing.assert_allclose(read.weights, expected, atol=1e-6)
        ranked = read.weights[read.order].tolist()
        assert ranked == sorted(ranked, reverse=True)


def test_an_empty_memory_has_nothing_to_say(toy_engine: Engine) -> None:
    answer = toy_engine.ask("who?")
    assert (answer.answer, answer.abstained, answer.evidence) == (None, True, ())
    assert answer.hops[0].weights == ()


def _features(
    columns: type[SlotFeature | LinkFeature], *rows: dict[str, float]
) -> NDArray[np.float32]:
    return np.array([[row.get(column.name, 0.0) for column in columns] for row in rows], np.float32)


def _drawn(seed: int) -> TextController:
    """One whose weights are drawn, as if it had learned something."""
    drawn = np.random.default_rng(seed)
    arrays = {
        name: np.asarray(drawn.standard_normal(array.shape) * 0.4, np.float32)
        for name, array in TextController(HopConfig()).arrays().items()
    }
    scales = {name: abs(array) + 0.5 for name, array in arrays.items() if name.endswith("scale")}
    return TextController(HopConfig(), arrays | scales)


def _candidates() -> Candidates:
    """Two passages and a fact, with links of all kinds."""
    strengths = [1.0, 0.7, 0.9, 0.2, 0.8]
    return Candidates(
        ids=(1, 2, 3),
        features=_features(
            SlotFeature,
            {"DENSE": 0.5, "UNIT": 0.5, "LEXICAL": 1.0, "NAMED": 1.0, "COVERED": 0.6},
            {"DENSE": 0.2, "UNIT": 0.2, "PREVIOUS": -0.4},
            {"DENSE": 0.4, "UNIT": 0.4, "LEXICAL": 0.5, "NAMED": 1.0},
        ),
        named=("a", None, "c"),
        is_fact=np.array([False, False, True]),
        links=Links(
            candidate=np.array([0, 1, 1, 1, 2]),
            sender=np.array([7, 8, 9, 8, 7]),
            kind=np.array([SHARED, KEY, BACK, KEY, KEY]),
            features=_features(LinkFeature, *({"STRENGTH": value} for value in strengths)),
            names=("s", "k", "b", "weak", "f"),
        ),
    )


def test_before_training_scores_are_a_weighted_sum_of_the_ways_of_addressing() -> None:
    config = HopConfig()
    controller = TextController(config)
    first = [
        0.5 * config.dense_weight + config.lexical_weight + config.question_symbol_weight,
        0.2 * config.dense_weight,
        0.4 * config.relation_weight
        + max(config.question_fact_weight, 0.8 * config.read_fact_weight),
    ]
    assert controller.score(_candidates(), 0).total().tolist() == pytest.approx(first)
    later = controller.score(_candidates(), 1)
    first[1] += 0.7 * config.read_symbol_weight
    assert later.total().tolist() == pytest.approx(first)
    assert later.link.tolist() == [0, 2, 4]


def _of_passages() -> Candidates:
    """Three passages with keys of units, and links of all kinds to two of them."""
    found = _candidates()
    found.features[:, SlotFeature.UNIT] = 0.1, 0.9, 0.3
    links, kept = found.links, slice(1, None)
    return replace(
        found,
        is_fact=np.zeros(3, np.bool_),
        links=Links(
            links.candidate[kept],
            links.sender[kept],
            links.kind[kept],
            links.features[kept],
            links.names[kept],
        ),
    )


def test_before_training_half_of_the_last_attention_is_by_similarity() -> None:
    controller, found = TextController(HopConfig()), _of_passages()
    scores = controller.score(found, 1)
    mixed = controller.mixed(scores, found)
    direct = softmax(np.array([0.3 + 0.2, 0.55, 0.35 + 0.1], np.float32) / np.float32(0.1))
    of_hops = softmax(controller.logits(scores)).tolist()
    expected = [(one + other) / 2 for one, other in zip(of_hops, direct.tolist(), strict=True)]
    assert softmax(controller.logits(mixed)).tolist() == pytest.approx(expected, rel=1e-4)
    assert mixed.total().max() == pytest.approx(scores.total().max(), abs=1e-5)


def test_without_keys_of_units_there_is_no_direct_attention() -> None:
    controller, found = _drawn(3), replace(_candidates(), is_fact=np.zeros(3, np.bool_))
    scores = controller.score(found, 1)
    assert controller.mixed(scores, found) is scores


@pytest.mark.parametrize("beside", ["fact", "message"])
def test_beside_other_slots_the_attention_to_passages_is_mixed(beside: str) -> None:
    controller, found = _drawn(3), _of_passages()
    scores, other = controller.score(found, 1), np.array([False, False, True])
    alone = replace(
        found, ids=found.ids[:2], features=found.features[:2], is_fact=found.is_fact[:2]
    )
    of_passages = scores._replace(**{key: getattr(scores, key)[:2] for key in scores._fields})
    expected = controller.mixed(of_passages, alone).total()
    with_other = (
        replace(found, is_fact=other)
        if beside == "fact"
        else replace(found, messages=_messages(other))
    )
    mixed = controller.mixed(scores, with_other).total()
    assert mixed[2] == scores.total()[2]
    assert mixed[:2].max() == pytest.approx(scores.total()[:2].max(), abs=1e-5)
    np.testing.assert_allclose(mixed[:2], expected, atol=1e-6)
    features = found.features
    features[:2, SlotFeature.UNIT] = features[:2, SlotFeature.DENSE]
    assert controller.mixed(scores, with_other) is scores  # only the other one has a unit


def _messages(is_message: NDArray[np.bool_]) -> MessageFeatures:
    nothing, none = np.zeros(len(is_message), np.float32), np.zeros(len(is_message), np.int64)
    return MessageFeatures(
        is_message=is_message,
        dense=nothing,
        lexical=nothing,
        speaker=nothing,
        day=nothing,
        beside=np.zeros((2, 0), np.int64),
        session=none,
        asks=is_message,
        characters=nothing,
    )


@pytest.mark.parametrize("share", [None, 0.3, 1.0])
def test_the_mixture_is_that_of_plain_loops(share: float | None) -> None:
    controller, found = _drawn(4), _of_passages()
    scores, arrays, config = controller.score(found, 1), controller.arrays(), HopConfig()
    of_hops = softmax(controller.logits(scores)).tolist()
    similar = [
        (0.5 * (row[SlotFeature.DENSE] + row[SlotFeature.UNIT]) + 0.2 * row[SlotFeature.LEXICAL])
        for row in found.features.tolist()
    ]
    plain = oracle.softmax(np.array(similar) / 0.1).tolist()
    direct = plain
    if share is None:
        given = oracle.share_features(of_hops, plain, scores.link.tolist(), found.features.tolist())
        logit = arrays["share.bias"].item()
        logit += sum(w * x for w, x in zip(arrays["share.weight"][0].tolist(), given, strict=True))
        share = 1 / (1 + math.exp(-logit))
        apart = replace(found, features=found.features.copy())
        apart.features[:, SlotFeature.PREVIOUS] = 0
        of_direct = [oracle.passage_score(arrays, apart, place, "direct.") for place in range(3)]
        direct = oracle.softmax(np.array(of_direct) / config.temperature).tolist()
        mixed = controller.mixed(scores, found)
    else:
        mixed = controller.mixed(scores, found, share)
    expected = [share * one + (1 - share) * hop for one, hop in zip(direct, of_hops, strict=True)]
    assert softmax(controller.logits(mixed)).tolist() == pytest.approx(expected, rel=1e-3)


def test_scores_of_a_trained_controller_are_those_of_plain_loops() -> None:
    controller, candidates = _drawn(3), _candidates()
    for number in range(2):
        scores = controller.score(candidates, number)
        known = TextController(HopConfig()).score(candidates, number).total().tolist()
        arrays = controller.arrays()
        expected = [
            oracle.passage_score(arrays, candidates, place, HOP_PREFIXES[number])
            for place in (0, 1)
        ]
        moved = max(known[:2]) - max(expected)
        assert scores.total().tolist() == pytest.approx(
            [expected[0] + moved, expected[1] + moved, known[2]], abs=1e-5
        )
        alone = replace(candidates, is_fact=np.zeros(3, np.bool_))
        total = controller.score(alone, number).total().tolist()
        assert total[:2] == pytest.approx(expected, abs=1e-5)


@given(
    st.integers(0, 2**16),
    st.lists(st.sampled_from([KEY, SHARED, BACK]), max_size=30),
    st.integers(1, 12),
)
def test_a_controller_scores_by_plain_loops_and_alike_with_tensors(
    seed: int, kinds: list[int], slots: int
) -> None:
    drawn = np.random.default_rng(seed)
    links = Links(
        candidate=drawn.integers(0, slots, len(kinds)),
        sender=drawn.integers(0, 99, len(kinds)),
        kind=np.array(kinds, np.int64),
        features=drawn.random((len(kinds), len(LinkFeature)), np.float32),
        names=("",) * len(kinds),
    )
    features = 3 * drawn.standard_normal((slots, len(SlotFeature)), np.float32)
    candidates = Candidates(
        ids=tuple(range(slots)),
        features=features,
        named=(None,) * slots,
        is_fact=np.zeros(slots, np.bool_),
        links=links,
    )
    controller = _drawn(seed)
    arrays = controller.arrays()
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    candidate, kind, given_features = map(
        torch.from_numpy, (links.candidate, links.kind, links.features)
    )
    of_tensors = replace(links, candidate=candidate, kind=kind, features=given_features)
    for hop, prefix in enumerate(HOP_PREFIXES):
        scores = controller.score(candidates, hop)
        expected = [oracle.passage_score(arrays, candidates, k, prefix) for k in range(slots)]
        np.testing.assert_allclose(scores.total(), expected, rtol=1e-4, atol=1e-4)
        learned = hop_scores(tensors, prefix, torch.from_numpy(features), of_tensors).total()
        np.testing.assert_allclose(learned, expected, rtol=1e-4, atol=1e-4)
        linked = set(links.candidate.tolist()) if hop else set()
        assert {k for k in range(slots) if scores.link[k] >= 0} == linked
        assert all(links.candidate[link] == k for k, link in enumerate(scores.link) if link >= 0)


def test_the_order_of_candidates_and_links_does_not_matter() -> None:
    controller = _drawn(5)
    one = _candidates()
    slots, links = np.array([2, 0, 1]), np.array([4, 2, 0, 3, 1])
    place = np.argsort(slots)
    other = Candidates(
        ids=tuple(one.ids[slot] for slot in slots),
        features=one.features[slots],
        named=tuple(one.named[slot] for slot in slots),
        is_fact=one.is_fact[slots],
        links=Links(
            place[one.links.candidate[links]],
            one.links.sender[links],
            one.links.kind[links],
            one.links.features[links],
            tuple(one.links.names[link] for link in links),
        ),
    )
    expected, found = controller.score(one, 1), controller.score(other, 1)
    np.testing.assert_allclose(found.total(), expected.total()[slots], atol=1e-5)
    names = [one.links.names[link] for link in expected.link[slots].tolist()]
    assert [other.links.names[link] for link in found.link.tolist()] == names


def test_an_update_keeps_what_was_attended_to_and_how_much() -> None:
    controller = TextController(HopConfig(attended=2))
    after = controller.update([4, 2, 9], np.array([1.5, 1.0, -2.0], np.float32))
    assert after.attended == (4, 2)
    assert after.logits == {4: 0.0, 2: -0.5, 9: -3.5}


LINKED = [
    Document(id="journal", title="Herring Letters", text="A paper of the Guild of Salters."),
    Document(id="hall", title="Old Hall", text="Pia Renn was first to lead the Guild of Salters."),
    Document(id="pia", title="Pia Renn", text="She was born in Kestle."),
    Document(id="noise", title="Noise", text="Filler about nothing."),
]  # fmt: skip


def _links(engine: Engine, slot: int) -> list[Link]:
    return find_links(engine.store.symbols([slot]), engine.store)


def test_links_are_names_mentioned_shared_and_pointing_back(toy_engine: Engine) -> None:
    toy_engine.ingest(LINKED)
    store = toy_engine.store
    ids = {slot.source: slot.id for slot in store.fetch([1, 2, 3, 4])}
    found = _links(toy_engine, ids["hall"])
    assert {(link.slot, link.kind, link.name) for link in found} == {
        (ids["pia"], KEY, "pia renn"),
        (ids["journal"], SHARED, "guild of salters"),
    }
    assert {(link.mentions, link.slots) for link in found} == {(1, 1), (2, 0)}
    (back,) = _links(toy_engine, ids["pia"])
    assert (back.slot, back.kind, back.name) == (ids["hall"], BACK, "pia renn")


def test_a_name_that_everything_mentions_links_nothing(toy_engine: Engine) -> None:
    documents = [
        Document(id=str(n), title=f"T{n}", text=f"In Kestle stands house {n}.") for n in range(60)
    ]
    toy_engine.ingest(documents[:20])
    assert len(_links(toy_engine, 1)) == 19
    toy_engine.ingest(documents)
    assert _links(toy_engine, 1) == []


def test_link_features_say_what_is_known(toy_engine: Engine) -> None:
    toy_engine.ingest(LINKED)
    question = "who first did lead the guild that gives out Herring Letters"
    candidates = _read(toy_engine, question, 2)[-1].candidates
    links = candidates.links
    sources = [slot.source for slot in toy_engine.store.fetch(candidates.ids)]
    (number,) = [
        number
        for number, (sender, slot) in enumerate(
            zip(links.sender.tolist(), links.candidate.tolist(), strict=True)
        )
        if toy_engine.store.fetch([sender])[0].source == "journal" and sources[slot] == "hall"
    ]
    known = {column.name: float(links.features[number, column]) for column in LinkFeature}
    terms = {"first": 1, "lead": 1, "guild": 2, "gives": 0, "herring": 1, "letters": 1}
    weight = {
        term: 1 - math.log1p(count) / math.log1p(5000) for term, count in terms.items() if count
    }
    total = sum(weight.values())
    assert known["SHARED"] == 1
    assert known["MENTIONS"] == pytest.approx(math.log1p(2))
    assert known["WORDS"] == pytest.approx(1)
    assert known["ASKED"] == pytest.approx(1 / 3)
    assert known["POSITION"] == pytest.approx(4 / 7)
    assert known["NEAR"] == pytest.approx(weight["guild"] / total, abs=1e-6)
    assert known["SENDER_NAMED"] == 1
    rest = total - weight["herring"] - weight["letters"]
    beyond = (weight["first"] + weight["lead"]) / rest
    assert known["BEYOND"] == pytest.approx(beyond, abs=1e-6)
    assert known["TOGETHER"] == pytest.approx(1, abs=1e-6)
