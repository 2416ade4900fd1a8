import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from memnet import Config, Document, Engine
from memnet.cli.store import encoder as encoder_command
from memnet.encoders import MiniLMEncoder, onnx_model
from memnet.encoders.onnx_model import OnnxEncoder, Precision, encoder_model, onnx_installed
from memnet.encoders.weights import load_tokenizer, model_folder
from memnet.errors import DependencyError
from memnet.reader import loading as reader
from memnet.reader.checkpoint import OnnxSpanNetwork, load_weights, span_model
from memnet.reader.loading import load_reader
from memnet.reader.network import (
    load_span_network,
    new_span_network,
    save_span_network,
    score_packs,
)
from memnet.reader.spans import Pack, Packer, Passage, best_spans
from tests.waiting import completed

GOLDEN = Path(__file__).parents[1] / "golden"
WEIGHTS = model_folder() / "model.safetensors"
installed = pytest.mark.skipif(not onnx_installed(), reason="needs memnet[onnx]")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "eight-bit-cache"
    monkeypatch.setattr(onnx_model, "user_cache_path", lambda _: folder)
    return folder


@installed
@pytest.mark.parametrize("eight_bits", [True, False])
def test_vectors_are_near_those_of_torch(eight_bits: bool) -> None:
    texts = json.loads((GOLDEN / "texts.json").read_text(encoding="utf-8"))
    expected = np.load(GOLDEN / "vectors.npy")
    vectors = MiniLMEncoder(eight_bits=eight_bits, threads=2).encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosine = (vectors * expected).sum(axis=1)
    if not eight_bits:
        assert cosine.min() > 1 - 1e-5
        return
    whole = np.array([len(text.split()) >= 20 for text in texts])
    assert whole.sum() > 50
    assert cosine[whole].min() > 0.993
    assert cosine.mean() > 0.997
    assert cosine.min() > 0.975  # "No.", "?" and the like


@installed
def test_products_in_int8_can_not_overflow_without_vnni() -> None:
    """VPMADDUBSW adds two products of u8 and s8 in saturating int16."""
    import onnx
    from onnx import numpy_helper

    reader_folder = Path(reader.__file__).parents[1] / "shipped" / "spans"
    for model in (encoder_model(WEIGHTS, "int8"), span_model(load_weights(reader_folder), "int8")):
        graph = onnx.load_from_string(model).graph
        constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        products = [node for node in graph.node if node.op_type == "MatMulIntegerToFloat"]
        assert len(products) == 6 * 6
        for node in products:
            weight = constants[node.input[1]].astype(np.int32)
            pairs = np.abs(weight[::2]) + np.abs(weight[1::2])
            assert 255 * int(pairs.max()) <= np.iinfo(np.int16).max
            assert np.abs(weight).max() > 60  # the range is used


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

    def counted(weights: Path, precision: Precision) -> bytes:
        made.append(weights)
        return encoder_model(weights, precision)

    monkeypatch.setattr(onnx_model, "encoder_model", counted)
    ids = np.array([[101, 2022, 102]], np.int64)
    monkeypatch.setattr(onnx_model, "user_cache_path", lambda _: tmp_path)
    first = OnnxEncoder.load(WEIGHTS, "int8").embed(ids)
    np.testing.assert_array_equal(OnnxEncoder.load(WEIGHTS, "int8").embed(ids), first)
    assert len(made) == 1
    (kept,) = tmp_path.iterdir()
    for damage in (kept.read_bytes()[:-1], b"", b"\0" * 100):
        kept.write_bytes(damage)
        np.testing.assert_array_equal(OnnxEncoder.load(WEIGHTS, "int8").embed(ids), first)
    assert len(made) == 4
    assert list(tmp_path.iterdir()) == [kept]


@installed
def test_it_works_without_a_place_to_keep_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(onnx_model, "user_cache_path", lambda _: tmp_path / "file" / "cache")
    network = OnnxEncoder.load(WEIGHTS, "int8")
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


def reading_packs() -> list[Pack]:
    """Packs of three passages each, with a question about a word of one of them."""
    texts = [
        text
        for text in json.loads((GOLDEN / "texts.json").read_text(encoding="utf-8"))
        if len(text.split()) >= 40
    ]
    packer = Packer(load_tokenizer(model_folder()), 384)
    packs = []
    for number in range(50):
        chosen = [texts[(number + step) % len(texts)] for step in (0, 7, 19)]
        words = sorted(set(chosen[number % 3].split()), key=lambda word: (len(word), word))
        question = f"{('What', 'Who', 'When', 'Where')[number % 4]} is {words[-1 - number % 3]}?"
        packs.append(packer.packs(question, [Passage("", text) for text in chosen])[0])
    return packs


@installed
def test_a_reader_points_at_the_same_spans_as_torch() -> None:
    folder = Path(reader.__file__).parents[1] / "shipped" / "spans"
    weights = load_weights(folder)
    torch_network = score_packs(load_span_network(folder).eval())
    whole = OnnxSpanNetwork(span_model(weights, "float32"))
    eight = OnnxSpanNetwork(span_model(weights, "int8"))
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
    assert sum(nats < 0.05 for nats in lost) >= 45
    assert max(lost) < 1.5


@installed
def test_a_reader_in_eight_bits_is_made_once_for_its_weights(cache: Path, tmp_path: Path) -> None:
    passage = Passage("Orre Light", "The light was built by Tobias Wrennick in 1871.")
    before = set(cache.rglob("reader-*"))
    readings: list[str] = []
    models: list[dict[Path, int]] = []
    for number in (0, 0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            save_span_network(tmp_path / str(number), new_span_network(0.0), {})
        read = load_reader(tmp_path / str(number), 384, precision="int8").read("Who?", [passage])
        readings.append(repr(read))
        made = set(cache.rglob("reader-*")) - before
        models.append({path: path.stat().st_mtime_ns for path in made})
    assert models[0] == models[1]
    assert [len(found) for found in models] == [1, 1, 2]
    assert readings[0] == readings[1] != readings[2]


_READS = """
import sys
from memnet.encoders import onnx_model
onnx_model.user_cache_path = lambda _: __import__("pathlib").Path(sys.argv[1])
from memnet.reader.loading import LazyReader
from memnet.reader.spans import Passage
reader = LazyReader("spans", eight_bits=True).load(384).reader
text = "The light was built by Tobias Wrennick in 1871."
span = reader.read("Who built the light?", [Passage("Orre Light", text)]).spans[0]
print(text[span.start : span.end], "torch" in sys.modules)
"""


@installed
def test_reading_in_eight_bits_imports_no_torch(cache: Path) -> None:
    command = [sys.executable, "-c", _READS, str(cache)]
    for _ in range(2):  # the first makes the model and keeps it
        done = completed(command)
        assert done.stdout == "Tobias Wrennick False\n"


@installed
def test_the_command_writes_a_model_that_runs(tmp_path: Path) -> None:
    out = tmp_path / "encoder.onnx"
    result = CliRunner().invoke(encoder_command, ["--out", str(out)])
    assert result.exit_code == 0, result.output
    ids = np.array([[101, 2022, 102]], np.int64)
    vector = OnnxEncoder(out.read_bytes()).embed(ids)[0]
    assert float(vector @ MiniLMEncoder().encode(["be"])[0]) > 0.97


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_model, "_PACKAGES", ("onnxruntime", "no_such_package"))
    assert MiniLMEncoder(eight_bits=None).precision is None
    assert MiniLMEncoder(eight_bits=False).precision is None
    with pytest.raises(DependencyError, match=r"pip install 'memnet\[onnx\]'"):
        MiniLMEncoder(eight_bits=True).encode(["text"])
