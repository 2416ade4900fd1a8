import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from numpy.typing import NDArray

from memnet import Config, Document, Engine
from memnet.cli.encoder import encoder as encoder_command
from memnet.encoders import MiniLMEncoder, eight_bit
from memnet.encoders.eight_bit import EightBitNetwork, eight_bit_model, eight_bits_installed
from memnet.encoders.weights import load_tokenizer, model_folder
from memnet.errors import DependencyError
from memnet.models import reader
from memnet.models.reader import load_reader
from memnet.models.reader_network import encoder_network, load_span_network, save_reader
from memnet.models.reader_weights import load_weights
from memnet.readers.eight_bit import EightBitSpanNetwork, span_model
from memnet.readers.packs import Packer, Passage
from memnet.readers.span_network import on_arrays

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
def test_a_reader_reads_as_in_full(tmp_path: Path) -> None:
    folder = Path(reader.__file__).with_name("shipped") / "spans"
    network = load_span_network(folder).eval()
    packer = Packer(load_tokenizer(model_folder()), 384)
    passages = [
        Passage("Orre Light", "A lighthouse on Orre Head, built by Tobias Wrennick in 1871."),
        Passage("Tobias Wrennick", "An engineer who was born in Pellgate, the son of a cooper."),
    ]
    [pack] = packer.packs("Who built the Orre Light?", passages)
    full = on_arrays(network)(*pack.inputs())
    eight = EightBitSpanNetwork(span_model(load_weights(folder)))(*pack.inputs())
    likely = full.start > full.start.max() - 5
    assert 0 < int(likely.sum()) < likely.size / 2
    for one, other in zip(full, eight, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype == np.float32
        np.testing.assert_allclose(np.exp(other).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(eight.start[likely], full.start[likely], atol=0.5, rtol=0)
    np.testing.assert_allclose(eight.kind, full.kind, atol=0.3, rtol=0)
    assert int(eight.start.argmax()) == int(full.start.argmax())


@installed
def test_a_reader_in_eight_bits_is_made_once_for_its_weights(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def counted(folder: Path) -> dict[str, NDArray[Any]]:
        made.append(folder)
        return load_weights(folder)

    monkeypatch.setattr(reader, "load_weights", counted)
    passage = Passage("Orre Light", "The light was built by Tobias Wrennick in 1871.")
    found: list[str] = []
    for number in (0, 0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            save_reader(tmp_path / str(number), encoder_network(0.0), {})
        read = load_reader(tmp_path / str(number), 384, onnx=True).read("Who?", [passage])
        found.append(repr(read))
    assert made == [tmp_path / "0", tmp_path / "1"]
    assert found[0] == found[1] != found[2]


_READS = """
import sys
from memnet.encoders import eight_bit
eight_bit.user_cache_path = lambda _: __import__("pathlib").Path(sys.argv[1])
from memnet.models.reader import LazyReader
from memnet.readers.packs import Passage
reader = LazyReader("spans", eight_bits=True).load(384).reader
text = "The light was built by Tobias Wrennick in 1871."
span = reader.read("Who built the light?", [Passage("Orre Light", text)]).spans[0]
print(text[span.start : span.end], "torch" in sys.modules)
"""


@installed
def test_reading_in_eight_bits_imports_no_torch(cache: Path) -> None:
    command = [sys.executable, "-c", _READS, str(cache)]
    for _ in range(2):  # the first makes the model and keeps it
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "Tobias Wrennick False\n"


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
