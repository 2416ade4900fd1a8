"""What runs on a GPU gives what it gives on the processor."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from memnet import Config, Engine
from memnet.encoders.bert import BertNetwork
from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.protocol import MENTION
from memnet.reader.loading import LazyReader
from memnet.reader.network import new_span_network
from memnet.reader.spans import Passage
from memnet.reader.training.examples import ReaderExample
from memnet.runtime.device import DeviceVectors, find_device
from memnet.training import train_reader
from tests.conftest import EXAMPLES
from tests.unit.test_vector_index import vectors

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason=f"torch {torch.__version__} sees no GPU here"
    ),
]

GPU = "cuda:0"
TORCH_CPU = "cpu:0"  # As torch names it too; "cpu" is for ONNX Runtime
GOLDEN = Path(__file__).parents[1] / "golden"
QUESTIONS = (
    "Who built the Orre Light?",
    "In which town was the builder of the Orre Light born?",
    "Which ports does the Morning Petrel call at?",
    "What is the capital of Portugal?",
)


def test_auto_is_the_gpu() -> None:
    assert find_device("auto") == GPU


def test_the_encoder() -> None:
    texts = json.loads((GOLDEN / "texts.json").read_text())
    texts += ["light " * 400, "word", ""]
    there, here = MiniLMEncoder(device=GPU), MiniLMEncoder(device=TORCH_CPU)
    np.testing.assert_allclose(there.encode(texts), here.encode(texts), atol=1e-5)
    np.testing.assert_allclose(there.encode_query(texts), here.encode_query(texts), atol=1e-5)
    network = there._network()[1]
    assert isinstance(network, BertNetwork)
    assert network.words.weight.is_cuda
    asked = [f"Who raised {MENTION} in 1820?", "a boat"]
    for one, other in zip(there.encode_tokens(asked), here.encode_tokens(asked), strict=True):
        np.testing.assert_allclose(one.states, other.states, atol=1e-5)
        assert one.mentions == other.mentions


def test_the_networks_of_the_reader() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = new_span_network(0.0).eval().requires_grad_(False)
    tokens = torch.randint(1000, 20_000, (3, 41))
    segments = (torch.arange(41) > 9).long().expand(3, -1)
    inputs = tokens, segments, segments.bool(), torch.arange(41) < torch.tensor([[41], [20], [33]])
    here = network(*inputs)
    there = network.to(GPU)(*(part.to(GPU) for part in inputs))
    for one, other in zip(here, there, strict=True):
        torch.testing.assert_close(other.cpu(), one, atol=1e-3, rtol=1e-4)


def test_the_reader() -> None:
    """In eight bits on the processor, so that probabilities differ a little."""
    passages = [
        Passage("Orre Light", "The Orre Light was built in 1874 by Tobias Wrennick."),
        Passage("Kestle", "Kestle is a harbour town of boat builders. " * 40),
    ]
    read = []
    for device in ("cpu", GPU):
        reader = LazyReader("spans", device).load().reader
        assert reader is not None
        read.append(reader.read("Who built the Orre Light?", passages))
    here, there = read
    assert there.spans[0][:3] == here.spans[0][:3]
    assert there.spans[0].probability == pytest.approx(here.spans[0].probability, abs=0.2)
    assert there.answerable == pytest.approx(here.answerable, abs=0.2)


def test_the_index() -> None:
    rows, queries = vectors(70_000, dimension=48), vectors(20, seed=5, dimension=48)
    here, there = DeviceVectors(rows, "cpu"), DeviceVectors(rows, GPU)
    allowed = np.random.default_rng(0).random(len(rows)) < 0.3
    for query in queries:
        for among in (None, allowed):
            one, other = (held.nearest(query, 25, among) for held in (here, there))
            np.testing.assert_allclose(other[1], one[1], atol=1e-5)
            np.testing.assert_array_equal(np.sort(other[0]), np.sort(one[0]))


def test_an_engine(tmp_path: Path) -> None:
    answers = []
    for device in ("cpu", "cuda"):
        config = Config(device=device)
        with Engine.open(tmp_path / device, create=True, config=config) as engine:
            engine.ingest(EXAMPLES / "memory")
        with Engine.open(tmp_path / device, config=config) as engine:
            answers.append([engine.ask(question) for question in QUESTIONS])
            assert engine.info().device == find_device(device)
            assert ("on the device" in engine.info().index) == (device == "cuda")
    for here, there in zip(*answers, strict=True):  # in eight bits here
        assert there.answer == here.answer
        assert there.abstained == here.abstained
        assert there.evidence[0].source == here.evidence[0].source


def test_a_reader_learns(tmp_path: Path) -> None:
    chance = random.Random(4)
    places = ["Kestle", "Marrack", "Pellgate", "Orrehaven"]
    examples = []
    for _ in range(12):
        place = chance.choice(places)
        text = f"The boat lies at {place} today."
        given = {"question": "Where is the boat?", "answers": [place], "passages": [{"text": text}]}
        examples.append(ReaderExample.model_validate_json(json.dumps(given)))
    report = train_reader(examples, examples[:3], tmp_path, passes=1, device=GPU)
    assert 0 <= report.dev <= 1
    assert LazyReader(tmp_path, GPU).load().reader is not None
