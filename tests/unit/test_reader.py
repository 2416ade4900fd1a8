import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memnet import Document, Engine
from memnet.encoders.weights import load_tokenizer
from memnet.errors import ModelError
from memnet.reader.confidence import Signals, signals_of
from memnet.reader.loading import LazyReader, load_reader
from memnet.reader.network import (
    Right,
    SpanNetwork,
    SpanTensors,
    load_span_network,
    new_span_network,
    reading_loss,
    save_span_network,
    score_packs,
)
from memnet.reader.spans import (
    KINDS,
    NO,
    NONE,
    QUOTED,
    YES,
    ExtractiveReader,
    Pack,
    Packer,
    Passage,
    Reading,
    Span,
    SpanScores,
    best_spans,
)
from memnet.text.english import units
from memnet.types import Candidate
from tests import oracle
from tests.reading import predict, ranked

QUESTION = "Who raised the Orre Light?"
TEXTS = st.text("abc déf. 12,\n漢", max_size=60)


@pytest.fixture(scope="module")
def packer() -> Packer:
    return Packer(load_tokenizer(), 80)


@pytest.fixture(scope="module")
def network() -> SpanNetwork:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return new_span_network(0.0).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def kept(network: SpanNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    save_span_network(folder, network, {"seed": 3})
    return folder


@pytest.fixture
def saved(kept: Path, tmp_path: Path) -> Path:
    return shutil.copytree(kept, tmp_path / "reader")


@given(st.text(max_size=80), st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_packs_hold_every_token_of_every_passage_once(
    packer: Packer, question: str, texts: list[tuple[str, str]]
) -> None:
    passages = [Passage(title, text * 4) for title, text in texts]
    packs = packer.packs(question, passages)
    tokenizer = load_tokenizer()
    seen: list[tuple[int, int, int, int]] = []
    for pack in packs:
        assert len(pack.token_ids) == len(pack.offsets) <= 80
        assert pack.offsets[: pack.passages_start] == [None] * pack.passages_start
        seen += [
            (*place, token)
            for place, token in zip(pack.offsets, pack.token_ids, strict=True)
            if place is not None
        ]
    expected = [
        (number, *offsets, token)
        for number, passage in enumerate(passages)
        for encoded in [tokenizer.encode(passage.text, add_special_tokens=False)]
        for offsets, token in zip(encoded.offsets, encoded.ids, strict=True)
    ]
    assert seen == expected


def test_short_passages_share_a_pack_and_long_ones_are_cut(packer: Packer) -> None:
    short = Passage("Orre", "The light was raised by Rank.")
    assert len(packer.packs(QUESTION, [short, short])) == 1
    long = Passage("Orre", "word " * 300)
    assert len(packer.packs(QUESTION, [long])) > 3
    assert packer.packs(QUESTION, []) == []
    assert packer.packs(QUESTION, [Passage("", "")]) == []


def test_padding_changes_no_score(network: SpanNetwork, packer: Packer) -> None:
    [pack] = packer.packs(QUESTION, [Passage("Orre", "The light was raised by Rank.")])
    token_ids, segments, allowed = _tensors(pack)
    alone = network(token_ids, segments, allowed)
    size = token_ids.shape[1]
    wider = [torch.nn.functional.pad(part, (0, 7)) for part in (token_ids, segments, allowed)]
    mask = torch.arange(size + 7)[None] < size
    padded = network(*wider, mask)
    torch.testing.assert_close(padded.start[:, :size], alone.start, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(padded.kind, alone.kind, atol=1e-5, rtol=1e-5)


def test_segments_and_question_matter(network: SpanNetwork, packer: Packer) -> None:
    passage = Passage("Orre", "The light was raised by Rank.")
    [pack] = packer.packs(QUESTION, [passage])
    token_ids, segments, allowed = _tensors(pack)
    first = network(token_ids, segments, allowed).start
    assert not torch.allclose(first, network(token_ids, 1 - segments, allowed).start, atol=1e-3)
    assert bool((first[~allowed] < -100).all())
    assert float(first.exp().sum()) == pytest.approx(1, abs=1e-4)


def test_on_arrays_the_network_gives_its_scores(network: SpanNetwork, packer: Packer) -> None:
    [pack] = packer.packs(QUESTION, [Passage("Orre", "The light was raised by Rank.")])
    expected = network(*_tensors(pack))
    for one, other in zip(score_packs(network)(*pack.inputs()), expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, other.numpy())


def _tensors(pack: Pack) -> list[torch.Tensor]:
    """What a pack gives to the network of torch."""
    return [torch.from_numpy(part) for part in pack.inputs()]


def _given(token_ids: NDArray[np.int64], _: Any, allowed: NDArray[np.bool_]) -> SpanScores:
    """A network that gives random scores, for what is made of them."""
    random = np.random.default_rng(int(token_ids.sum()))
    drawn = np.where(allowed, random.standard_normal((2, *token_ids.shape)), -1e4)
    start, end = (drawn - np.log(np.exp(drawn).sum(axis=-1, keepdims=True))).astype(np.float32)
    relevance = random.standard_normal(token_ids.shape).astype(np.float32)
    kind = random.standard_normal((1, len(KINDS)))
    kind -= np.log(np.exp(kind).sum())
    return SpanScores(start, end, relevance, kind.astype(np.float32))


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4))
def test_spans_are_the_best_of_all(packer: Packer, texts: list[str]) -> None:
    passages = [Passage("t", text) for text in texts]
    reading = ExtractiveReader(_given, packer).read("q", passages)
    expected: list[tuple[int, int, int, float]] = []
    for pack in packer.packs("q", passages):
        scores = _given(*pack.inputs())
        expected += oracle.best_spans(
            scores.start[0].tolist(), scores.end[0].tolist(),
            math.log(np.exp(scores.kind[0, list(QUOTED)]).sum()), pack.offsets, 20,
        )  # fmt: skip
    expected.sort(key=lambda span: -span[3])
    assert len(reading.spans) <= len(expected)
    for span, right in zip(reading.spans[:3], expected, strict=False):
        assert span.probability == pytest.approx(right[3], rel=1e-4)
    assert 0 <= reading.answerable <= 1


@st.composite
def _scored_tokens(
    draw: st.DrawFn,
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Few different scores, so that there are ties."""
    size = draw(st.integers(1, 30))
    scores = st.lists(st.sampled_from([-1e4, -2.5, -1.0, 0.0, 0.5]), min_size=size, max_size=size)
    inside = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    start, end = (np.array(draw(scores), np.float32) for _ in range(2))
    return start, end, np.array(inside)


@given(_scored_tokens(), st.integers(1, 40), st.integers(1, 40))
def test_the_best_spans_come_first(
    tokens: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]],
    longest: int,
    most: int,
) -> None:
    start, end, inside = tokens
    every = [
        (first, last, float(start[first] + end[last]))
        for first in range(len(start))
        for last in range(first, min(first + longest, len(end)))
        if inside[first] and inside[last]
    ]
    every.sort(key=lambda span: (-span[2], span[0], span[1]))
    found = best_spans(start, end, inside, longest, most)
    assert found == every[: min(most, len(start))]


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4))
def test_a_unit_has_the_mean_of_its_tokens(packer: Packer, texts: list[str]) -> None:
    passages = [Passage("t", text) for text in texts]
    reading = ExtractiveReader(_given, packer).read("q", passages)
    expected: list[tuple[int, int, int, float]] = []
    for pack in packer.packs("q", passages):
        relevance = _given(*pack.inputs()).relevance[0]
        for number, passage in enumerate(passages):
            for unit in units(passage.text):
                inside = [
                    float(relevance[token])
                    for token, place in enumerate(pack.offsets)
                    if place is not None
                    and place[0] == number
                    and place[1] < unit.end
                    and place[2] > unit.start
                ]
                if inside:
                    expected.append((number, unit.start, unit.end, sum(inside) / len(inside)))
    found = [(one.passage, one.unit.start, one.unit.end, one.logit) for one in reading.units]
    assert [one[:3] for one in found] == [one[:3] for one in expected]
    assert [one[3] for one in found] == pytest.approx([one[3] for one in expected], abs=1e-5)


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5))
def test_packs_are_mixed_by_the_attention_to_their_units(packer: Packer, texts: list[str]) -> None:
    passages = [Passage("t", text * 6) for text in texts]
    reading = ExtractiveReader(_given, packer).read("q", passages)
    packs = packer.packs("q", passages)
    odds = []
    kinds = []
    for pack in packs:
        scores = _given(*pack.inputs())
        logits = [float(scores.relevance[0, a : b + 1].mean()) for _, _, a, b in pack.units]
        odds.append(sum(math.exp(one) for one in logits))
        kinds.append(np.exp(scores.kind[0].astype(np.float64)))
    if not any(odds):
        return
    mixed = sum(one * of_pack for one, of_pack in zip(odds, kinds, strict=True)) / sum(odds)
    assert (reading.yes, reading.no) == pytest.approx((mixed[YES], mixed[NO]), abs=1e-4)
    share = mixed[list(QUOTED)] / mixed[list(QUOTED)].sum()
    assert list(reading.kinds.values()) == pytest.approx(share.tolist(), abs=1e-4)
    assert reading.answerable == pytest.approx(1 - math.prod(one[NONE] for one in kinds), abs=1e-5)


def test_loss_is_the_negative_log_of_what_is_right() -> None:
    start, end = torch.randn(2, 3, 7).log_softmax(-1)
    relevance = torch.randn(3, 7)
    kind = torch.randn(3, len(KINDS)).log_softmax(-1)
    spans = [[(1, 2), (4, 4)], [], [(0, 6)]]
    marked = [[(0, 1, True), (2, 2, False), (3, 6, True)], [(1, 4, False)], []]
    kinds = [{1, 2}, {0}, {5}]
    loss = 0.0
    for row in range(3):
        loss -= math.log(sum(math.exp(kind[row, one]) for one in kinds[row]))
        if spans[row]:
            shares = [math.exp(start[row, a] + end[row, b]) for a, b in spans[row]]
            loss -= math.log(sum(shares))
        odds = [math.exp(float(relevance[row, a : b + 1].mean())) for a, b, _ in marked[row]]
        right = [one[2] for one in marked[row]]
        wrong = 1 + sum(one for one, so in zip(odds, right, strict=True) if not so)
        good = [one for one, so in zip(odds, right, strict=True) if so]
        if marked[row]:
            loss += math.log(wrong)
        if good:
            loss -= sum(math.log(one / (one + wrong)) for one in good) / len(good)
    rights = [
        Right(spans[row], marked[row], [one in kinds[row] for one in range(len(KINDS))])
        for row in range(3)
    ]
    found = reading_loss(SpanTensors(start, end, relevance, kind), rights)
    assert float(found) == pytest.approx(loss / 3, rel=1e-5)


def test_a_saved_reader_is_near(network: SpanNetwork, kept: Path) -> None:
    assert sum(file.stat().st_size for file in kept.iterdir()) < 11_500_000
    loaded = load_span_network(kept)
    for name, tensor in network.state_dict().items():
        other = loaded.state_dict()[name]
        if name in ("encoder.words.weight", "encoder.positions.weight") or tensor.dim() < 2:
            assert torch.equal(other, tensor), name
        else:
            # Seven bits, balanced against the inputs: 0.02 to 0.04 for normal weights.
            assert float((other - tensor).norm() / tensor.norm()) < 0.05, name


def test_damaged_and_foreign_readers_are_refused(saved: Path) -> None:
    described = json.loads((saved / "reader.json").read_text())
    (saved / "reader.json").write_text(json.dumps({**described, "encoder": "0" * 64}))
    with pytest.raises(ModelError, match="a reader network of the encoder 0000"):
        load_reader(saved, 384)
    (saved / "reader.json").write_text(json.dumps(described))
    weights = saved / described["tensors"]
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(ModelError, match="damaged"):
        load_reader(saved, 384)
    weights.unlink()
    with pytest.raises(ModelError, match="missing"):
        load_reader(saved, 384)


def test_a_reader_may_be_loaded_early(saved: Path) -> None:
    early = LazyReader(saved)
    early.load_early()
    described = json.loads((saved / "reader.json").read_text())
    loaded = early.load()
    assert loaded.reader is not None
    assert loaded is early.load()
    (saved / "reader.json").write_text(json.dumps({**described, "encoder": "0" * 64}))
    foreign = LazyReader(saved)
    foreign.load_early()
    with pytest.raises(ModelError, match="a reader network of the encoder 0000"):
        foreign.load()


def test_a_damaged_reader_is_one_line_when_asked(saved: Path, toy_engine: Engine) -> None:
    (saved / "confidence.json").write_text("{")
    toy_engine.ingest(Document(id="a", title="Orre", text="Rank raised the Orre Light."))
    with Engine(
        toy_engine.store, toy_engine.encoder, toy_engine.config, "untrained", saved
    ) as engine:
        with pytest.raises(ModelError) as caught:
            engine.ask(QUESTION)
        assert "\n" not in str(caught.value)


def test_answers_that_say_the_same_count_together() -> None:
    class Twice:
        def read(self, question: str, passages: list[Passage]) -> Reading:
            spans = (
                Span(0, 0, 8, 0.3), Span(1, 0, 8, 0.3), Span(0, 10, 20, 0.4), Span(2, 0, 8, 0.2),
            )  # fmt: skip
            return Reading(spans, 0.05, 0.1, 0.9)

    passages = ranked(
        {"a": "Ann Orre, 4 May 1921", "b": "ann-orre is old.", "c": "Somebody knew him."}
    )
    found = predict("Who?", passages, Twice())
    assert found.signals is not None
    assert [(one.text, round(one.score, 6)) for one in found.candidates] == [
        ("Ann Orre", 0.6), ("4 May 1921", 0.4), ("Somebody", 0.2), ("no", 0.01), ("yes", 0.005),
    ]  # fmt: skip
    first = found.candidates[0]
    assert (first.evidence, first.start, first.end) == (0, 100, 108)
    assert found.signals.answer == pytest.approx(0.6)
    assert found.signals.second == pytest.approx(0.4)
    assert (found.signals.answerable, found.signals.rank) == (0.9, 0)


def test_signals_say_what_the_evidence_shares_with_the_question() -> None:
    text = "Ann Orre raised it. It stood long. In 1912 it burned."
    passages = ranked({"Brock": text, "Amsel": "A light was raised in 1871 by Cy."})
    reading = Reading((), 0.0, 0.0, 0.5)

    def signals(question: str, evidence: int | None, answer: str) -> Signals:
        start = end = None
        if evidence is not None:
            start = 100 + passages[evidence].slot.text.index(answer)
            end = start + len(answer)
        best = Candidate(text=answer, score=0.5, evidence=evidence, start=start, end=end)
        support = passages if evidence is None else passages[evidence : evidence + 1]
        return signals_of(question, reading, [best], passages[:1], passages[1:], support)

    # Of "raised", "light", "Brock" and "1912" the sentence and its title hold "raised" and "Brock".
    first = signals("Who raised the light of Brock in 1912?", 0, "Ann Orre")
    assert (first.overlap, first.unknown, first.rank) == (0.5, False, 0)
    later = signals("Who raised the light of Brock in 1912?", 0, "burned")
    assert (later.overlap, later.unknown) == (0.5, False)
    both = signals("Who raised the light of Brock in 1912?", 0, "it stood".capitalize())
    assert both.overlap == 0.25
    other = signals("Who raised the light of Brock in 1871?", 1, "Cy")
    assert (other.overlap, other.unknown, other.rank) == (0.75, False, 0)
    # Names and numbers may stand in any passage; what stands in none is unknown.
    assert signals("Who raised the light of Holm in 1871?", 1, "Cy").unknown
    assert signals("Who raised the light of Brock in 1999?", 1, "Cy").unknown
    assert not signals("Who slept?", 0, "Ann Orre").unknown
    word = signals("Is the light of Brock old?", None, "yes")
    assert word.overlap == pytest.approx(2 / 3)
    assert (word.unknown, word.rank) == (False, 1)
