import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from memnet import Config, Document, Engine
from memnet.cli.encoder import encoder as encoder_command
from memnet.encoders import MiniLMEncoder, eight_bit
from memnet.encoders.eight_bit import EightBitNetwork, eight_bit_model, eight_bits_installed
from memnet.encoders.weights import model_folder
from memnet.errors import DependencyError

GOLDEN = Path(__file__).parent / "golden"
WEIGHTS = model_folder() / "model.safetensors"
installed = pytest.mark.skipif(not eight_bits_installed(), reason="needs memnet[onnx]")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "eight-bit-cache"
    monkeypatch.setattr(eight_bit, "user_cache_path", lambda _: folder)
    return folder


@installed
def test_vectors_are_near_those_in_full() -> None:
    texts = json.loads((GOLDEN / "texts.json").read_text())
    expected = np.load(GOLDEN / "vectors.npy")
    vectors = MiniLMEncoder(eight_bits=True, threads=2).encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosine = (vectors * expected).sum(axis=1)
    whole = np.array([len(text.split()) >= 20 for text in texts])
    assert whole.sum() > 50
    assert cosine[whole].min() > 0.99
    assert cosine.mean() > 0.99
    assert cosine.min() > 0.97  # "No.", "?" and the like


@installed
def test_a_vector_in_eight_bits_does_not_depend_on_its_batch() -> None:
    encoder = MiniLMEncoder(eight_bits=True)
    texts = [
        "A lamp stands on Orre Head.",
        "1 2 3 4 5 6 7 8 9 10 11 12 ?!",
        "Light",
        "A boat sank.",
    ]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-4)


@installed
def test_tokens_are_encoded_in_full() -> None:
    for one, other in zip(
        MiniLMEncoder(eight_bits=True).encode_tokens(["a boat"]),
        MiniLMEncoder().encode_tokens(["a boat"]),
        strict=True,
    ):
        np.testing.assert_array_equal(one.states, other.states)


@installed
def test_the_model_is_made_once_and_remade_when_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def counted(weights: Path) -> bytes:
        made.append(weights)
        return eight_bit_model(weights)

    monkeypatch.setattr(eight_bit, "eight_bit_model", counted)
    ids = np.array([[101, 2022, 102]], np.int64)
    first = EightBitNetwork.load(WEIGHTS, tmp_path).embed(ids)
    np.testing.assert_array_equal(EightBitNetwork.load(WEIGHTS, tmp_path).embed(ids), first)
    assert len(made) == 1
    (kept,) = tmp_path.iterdir()
    for damage in (kept.read_bytes()[:-1], b"", b"\0" * 100):
        kept.write_bytes(damage)
        np.testing.assert_array_equal(EightBitNetwork.load(WEIGHTS, tmp_path).embed(ids), first)
    assert len(made) == 4
    assert list(tmp_path.iterdir()) == [kept]


@installed
def test_it_works_without_a_place_to_keep_the_model(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    network = EightBitNetwork.load(WEIGHTS, tmp_path / "file" / "cache")
    assert network.embed(np.array([[101, 102]], np.int64)).shape == (1, 384)


@installed
def test_a_store_takes_both_kinds(tmp_path: Path) -> None:
    light = Document(id="light", title="Orre Light", text="Built by Tobias Wrennick in 1871.")
    boat = Document(id="boat", title="Grey Heron", text="A ferry that sails to Innis Marrack.")
    with Engine.open(tmp_path, create=True, config=Config(eight_bits=False)) as memory:
        memory.ingest(light)
    with Engine.open(tmp_path, config=Config(eight_bits=True)) as memory:
        report = memory.ingest(light, boat)
        assert (report.added, report.unchanged) == (1, 1)
        assert memory.ask("Who built the Orre Light?").evidence[0].source == "light"
        assert memory.verify().problems == ()
    with Engine.open(tmp_path, config=Config(eight_bits=False)) as memory:
        assert memory.ask("Where does the ferry sail?").evidence[0].source == "boat"


@installed
def test_the_command_writes_a_model_that_runs(tmp_path: Path) -> None:
    out = tmp_path / "encoder.onnx"
    result = CliRunner().invoke(encoder_command, ["--out", str(out)])
    assert result.exit_code == 0, result.output
    ids = np.array([[101, 2022, 102]], np.int64)
    vector = EightBitNetwork(out.read_bytes()).embed(ids)[0]
    assert float(vector @ MiniLMEncoder().encode(["be"])[0]) > 0.97


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eight_bit, "_NEEDED", ("onnxruntime", "no_such_package"))
    assert not MiniLMEncoder(eight_bits=None).eight_bits
    with pytest.raises(DependencyError, match=r"pip install 'memnet\[onnx\]'"):
        MiniLMEncoder(eight_bits=True).encode(["text"])
