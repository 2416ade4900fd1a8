import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from safetensors.numpy import load_file

from memnet.checkpoints import SHIPPED
from memnet.encoders.minilm import MiniLMEncoder, OnnxEncoder, encoder_model, shipped_weights
from memnet.encoders.onnx_graph import dequantised
from memnet.encoders.weights import is_network_tensor, load_tokenizer, published_weights
from memnet.reader.checkpoint import EMBEDDINGS, load_weights, onnx_scores, span_model
from memnet.reader.loading import load_reader
from memnet.reader.network import (
    load_span_network,
    new_span_network,
    save_span_network,
    score_packs,
)
from memnet.reader.spans import Pack, Packer, Passage, best_spans

GOLDEN = Path(__file__).parents[1] / "golden"


def test_vectors_are_near_those_of_torch() -> None:
    texts = json.loads((GOLDEN / "texts.json").read_text(encoding="utf-8"))
    expected = np.load(GOLDEN / "vectors.npy")
    vectors = MiniLMEncoder(threads=2).encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosine = (vectors * expected).sum(axis=1)
    whole = np.array([len(text.split()) >= 20 for text in texts])
    assert whole.sum() > 50
    assert cosine[whole].min() > 0.993
    assert cosine.mean() > 0.997
    assert cosine.min() > 0.975  # "No.", "?" and the like


def test_a_model_in_float32_gives_the_vectors_of_torch() -> None:
    weights = load_file(published_weights())
    ids = np.array([[101, 2022, 1996, 2422, 102]], np.int64)
    one, other = OnnxEncoder(encoder_model(weights)), MiniLMEncoder(device="cpu:0")._network()[1]
    for found, expected in zip(one.embed_states(ids), other.embed_states(ids), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_models_are_those_that_the_package_onnx_reads() -> None:
    onnx.checker.check_model(encoder_model(load_file(published_weights())))
    found = onnx.load_from_string(encoder_model(shipped_weights()))
    assert [one.name for one in found.graph.output] == ["vectors", "states"]
    assert found.graph.node[-1].attribute[0].i == -1
    assert {one.domain: one.version for one in found.opset_import} == {"": 18, "com.microsoft": 1}
    held = {one.name: onnx.numpy_helper.to_array(one) for one in found.graph.initializer}
    for name in held.keys() & shipped_weights().keys():
        np.testing.assert_array_equal(held[name], shipped_weights()[name])


def test_products_in_int8_can_not_overflow_without_vnni() -> None:
    """VPMADDUBSW adds two products of u8 and s8 in saturating int16."""
    for weights in (shipped_weights(), load_weights(SHIPPED / "spans")):
        products = [
            name for name in weights if ".layer." in name and weights[name].dtype == np.int8
        ]
        assert len(products) == 6 * 6
        for name in products:
            weight = weights[name].astype(np.int32)
            pairs = np.abs(weight[::2]) + np.abs(weight[1::2])
            assert 255 * int(pairs.max()) <= np.iinfo(np.int16).max
            assert np.abs(weight).max() > 60  # the range is used


def test_weights_that_ship_are_near_those_in_float32() -> None:
    expected, found = load_file(published_weights()), dequantised(shipped_weights())
    assert {name for name in expected if is_network_tensor(name)} == found.keys()
    for name, array in found.items():
        step = np.abs(expected[name]).max() / 20
        np.testing.assert_allclose(array, expected[name], atol=step, err_msg=name)


def test_a_vector_in_eight_bits_does_not_depend_on_its_batch() -> None:
    encoder = MiniLMEncoder()
    texts = [
        "A lamp stands on Orre Head.",
        "1 2 3 4 5 6 7 8 9 10 11 12 ?!",
        "Light",
        "A boat sank.",
    ]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-4)


def reading_packs() -> list[Pack]:
    """Packs of three passages each, with a question about a word of one of them."""
    texts = [
        text
        for text in json.loads((GOLDEN / "texts.json").read_text(encoding="utf-8"))
        if len(text.split()) >= 40
    ]
    packer = Packer(load_tokenizer(), 384)
    packs = []
    for number in range(24):
        chosen = [texts[(number + step) % len(texts)] for step in (0, 7, 19)]
        words = sorted(set(chosen[number % 3].split()), key=lambda word: (len(word), word))
        question = f"{('What', 'Who', 'When', 'Where')[number % 4]} is {words[-1 - number % 3]}?"
        packs.append(packer.packs(question, [Passage("", text) for text in chosen])[0])
    return packs


def test_a_reader_points_at_the_same_spans_as_torch() -> None:
    folder = SHIPPED / "spans"
    weights, published = load_weights(folder), load_file(published_weights())
    torch_network = score_packs(load_span_network(folder).eval())
    full_weights = dequantised(weights)
    full_weights |= {name: published[name] for name in published if name.startswith(EMBEDDINGS)}
    whole = onnx_scores(span_model(full_weights))
    eight = onnx_scores(span_model(weights))
    lost: list[float] = []
    for pack in reading_packs():
        expected, full, found = (
            network(*pack.inputs()) for network in (torch_network, whole, eight)
        )
        for one, other, third in zip(expected, full, found, strict=True):
            assert one.shape == other.shape == third.shape
            assert other.dtype == third.dtype == np.float32
        for logs in (found.start, found.end, found.kind):
            np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)
        for unit in pack.units:
            logit, float32, int8 = (
                float(scores.relevance[0, unit.first : unit.last + 1].mean())
                for scores in (expected, full, found)
            )
            assert abs(float32 - logit) < 1e-2
            assert abs(int8 - logit) < 2.0
        likely = expected.start > expected.start.max() - 5
        np.testing.assert_allclose(full.start[likely], expected.start[likely], atol=1e-2)
        np.testing.assert_allclose(np.exp(full.kind), np.exp(expected.kind), atol=1e-3)
        np.testing.assert_allclose(np.exp(found.kind), np.exp(expected.kind), atol=0.2)
        inside = np.array([place is not None for place in pack.offsets])
        _, _, best = best_spans(expected.start[0], expected.end[0], inside, 20, 1)[0]
        start, end, _ = best_spans(found.start[0], found.end[0], inside, 20, 1)[0]
        lost.append(best - float(expected.start[0, start] + expected.end[0, end]))
    # Of spans that are about as likely, either may come first.
    assert sum(nats < 0.05 for nats in lost) >= 21
    assert max(lost) < 1.5


def test_a_trained_reader_is_saved_in_eight_bits(tmp_path: Path) -> None:
    passage = Passage("Orre Light", "The light was built by Tobias Wrennick in 1871.")
    readings = []
    for number in (0, 0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            network = new_span_network(0.0).eval()
        save_span_network(tmp_path / str(number), network, {})
        readings.append(load_reader(tmp_path / str(number), 384).read("Who?", [passage]))
    assert readings[0] == readings[1] != readings[2]
    there = load_reader(tmp_path / "1", 384, device="cpu:0").read("Who?", [passage])
    assert there.answerable == pytest.approx(readings[2].answerable, abs=0.1)
