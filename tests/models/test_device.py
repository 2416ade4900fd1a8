import json
import logging
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memnet import Config, Engine
from memnet.cli.main import run
from memnet.config import IndexConfig, StoreConfig
from memnet.encoders.minilm import MiniLMEncoder
from memnet.errors import DeviceError
from memnet.reader.network import SpanNetwork
from memnet.runtime import device
from memnet.runtime.device import DeviceVectors, device_copier, find_device
from memnet.storage import MemoryStore, Scope
from memnet.storage.vectors.index import VectorIndex
from tests.toy import DIMENSION, ToyEncoder, passage, source
from tests.unit.test_vector_index import Rows, filled, rows_of, save, vectors

HERE = partial(DeviceVectors, device="cpu")
"""The code of other devices on one that is always there."""
encode = ToyEncoder().encode


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Two GPUs, as far as the system and torch say."""
    monkeypatch.setattr(device, "_DRIVERS", (str(tmp_path),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    return monkeypatch


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")],
)
def test_a_gpu_is_found(gpus: pytest.MonkeyPatch, wanted: str, found: str) -> None:
    assert find_device(wanted) == found


@pytest.mark.skipif(sys.platform != "linux", reason="on others torch is asked")
def test_without_a_driver_torch_is_not_asked(gpus: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gpus.setattr(device, "_DRIVERS", (str(tmp_path / "none"),))
    assert find_device("auto") == "cpu"
    assert find_device("cuda") == "cuda:0"


def test_without_a_gpu_auto_is_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto") == find_device("cpu") == "cpu"
    with pytest.raises(DeviceError, match=r"there is no GPU 'cuda': torch .*; .*, or use"):
        find_device("cuda")


@pytest.mark.parametrize("wanted", ["tpu", "", "cuda:", "cuda:-1", "cuda:x", "cpu:0"])
def test_no_such_device(gpus: pytest.MonkeyPatch, wanted: str) -> None:
    with pytest.raises(DeviceError, match="expected auto, cpu, cuda or cuda:N"):
        find_device(wanted)


def test_no_such_number(gpus: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match="'cuda:2': torch sees 2 of them; give a lower number"):
        find_device("cuda:2")


@given(
    rows=st.integers(1, 40),
    count=st.integers(1, 45),
    share=st.sampled_from([None, 0.0, 0.2, 0.8, 1.0]),
    seed=st.integers(0, 999),
)
def test_vectors_on_a_device_are_found_as_by_numpy(
    rows: int, count: int, share: float | None, seed: int
) -> None:
    random = np.random.default_rng(seed)
    stored = random.standard_normal((rows, 6)).astype(np.float32)
    query = random.standard_normal(6).astype(np.float32)
    allowed = None if share is None else random.random(rows) < share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "_BLOCK", 7)
        places, scores = HERE(stored).nearest(query, count, allowed)
    exact = stored.astype(np.float64) @ query
    among = np.arange(rows) if allowed is None else np.flatnonzero(allowed)
    expected = among[np.argsort(-exact[among])][:count]
    assert places.dtype == np.int64
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_allclose(scores, exact[expected], atol=1e-5)


class Counted:
    """Copies vectors to a device, and counts how often."""

    def __init__(self, room: bool = True) -> None:
        self.sizes: list[int] = []
        self._room = room

    def __call__(self, rows: NDArray[np.float32]) -> DeviceVectors | None:
        self.sizes.append(len(rows))
        return HERE(rows) if self._room else None


@pytest.mark.parametrize(
    ("kind", "max_flat_on_device", "on_device"),
    [("auto", 300, True), ("auto", 299, False), ("flat", 0, True), ("pq", 300, False)],
)
@pytest.mark.parametrize("written", ["flat", "pq"])
def test_count_and_device_choose_the_index(
    tmp_path: Path, written: str, kind: str, max_flat_on_device: int, on_device: bool
) -> None:
    path = tmp_path / "index"
    config = IndexConfig.model_validate({"kind": kind, "max_flat_on_device": max_flat_on_device})
    counted = Counted()
    filled(path, IndexConfig.model_validate({"kind": written, "min_pq": 16}))
    index = VectorIndex.load(path, "toy", DIMENSION, config, rows_of(), counted)
    assert index is not None
    assert counted.sizes == []
    for _ in range(2):
        index.search(vectors(1, seed=9)[0], 5)
    assert counted.sizes == ([300] if on_device else [])
    coded = written == "pq" and kind != "flat" and not on_device
    assert index.info().kind == ("pq" if coded else "flat")
    assert ("on the device" in index.info().description) == on_device


def test_a_device_without_room_leaves_the_search_here(tmp_path: Path) -> None:
    config = IndexConfig(min_pq=16, max_flat=100)
    filled(tmp_path / "index", config)
    counted = Counted(room=False)
    loaded = VectorIndex.load(tmp_path / "index", "toy", DIMENSION, config, rows_of(), counted)
    assert loaded is not None
    for number in range(3):
        query = vectors(300)[number]
        assert loaded.search(query, 1).ids.tolist() == [number + 1]
    assert counted.sizes == [300]
    assert loaded.info().kind == "pq"


def test_too_little_memory_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(DeviceVectors):
        def __init__(self, rows: NDArray[np.float32], where: str) -> None:
            raise torch.OutOfMemoryError

    monkeypatch.setattr(device, "DeviceVectors", Full)
    to_device = device_copier("cuda:0")
    assert to_device is not None
    with caplog.at_level(logging.WARNING):
        assert to_device(vectors(1200)) is None
    assert "cuda:0 has no room for 1,200 vectors" in caplog.text


def test_the_cpu_needs_no_copy() -> None:
    assert device_copier("cpu") is None


def test_a_saved_index_is_copied_again(tmp_path: Path) -> None:
    counted = Counted()
    rows = vectors(50)
    index = VectorIndex.empty(DIMENSION, IndexConfig()).add(np.arange(1, 31), rows[:30])
    index = save(index, tmp_path / "index", Rows(), counted)
    assert index.search(rows[4], 1).ids.tolist() == [5]
    index = index.add(np.arange(31, 51), rows[30:]).remove(np.array([5]))
    assert index.search(rows[40], 1).ids.tolist() == [41]
    assert 5 not in index.search(rows[4], 50).ids
    assert counted.sizes == [30]
    index = save(index, tmp_path / "index", Rows(), counted)
    assert index.search(rows[40], 1).ids.tolist() == [41]
    assert counted.sizes == [30, 49]


def test_a_store_finds_the_same_on_a_device(tmp_path: Path) -> None:
    counted = Counted()
    stores = [
        MemoryStore(
            tmp_path / name,
            fingerprint="toy/64",
            dimension=DIMENSION,
            create=True,
            config=StoreConfig(unsaved_share=0.2),
            to_device=to_device,
        )
        for name, to_device in (("here", None), ("there", counted))
    ]
    for number in range(30):
        spaces = {0: "odd", 1: "even", 2: "other"}
        for store in stores:
            added = passage(f"boat {number} of {number % 7}")
            space = spaces[number % 3]
            store.put([source(f"s{number}", added, namespace=space)], encode)
            if number % 4 == 3:
                store.delete([f"s{number - 2}"])
        for namespace in (None, "even"):
            query = encode([f"boat of {number % 5}"])[0]
            one, other = (store.search_dense(query, 9, Scope(namespace)) for store in stores)
            np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
            assert set(one.ids.tolist()) == set(other.ids.tolist())
    assert len(counted.sizes) > 3
    for store in stores:
        store.close()


def test_no_tensor_of_a_network_is_made_on_the_processor() -> None:
    """Operations on tensors of a device without memory and of the processor are refused."""
    network = SpanNetwork().eval().requires_grad_(False).to("meta")
    tokens = torch.zeros(2, 11, dtype=torch.int64, device="meta")
    scores = network(tokens, tokens, tokens.bool(), tokens.bool())
    assert {part.device.type for part in scores} == {"meta"}
    assert network.encoder(tokens).device.type == "meta"


def test_an_engine_gives_the_device_on(gpus: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Engine.open(tmp_path, create=True, config=Config(device="cuda:1")) as engine:
        assert engine.info().device == "cuda:1"
        assert engine.reader._settings[2] == "cuda:1"
        assert isinstance(engine.encoder, MiniLMEncoder)
        assert engine.encoder._device == "cuda:1"
        assert engine.store._to_device is not None
    with Engine.open(tmp_path, config=Config(device="cpu")) as engine:
        assert engine.store._to_device is None


def test_a_device_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("The Orre Light.")
    arguments = ["ingest", str(tmp_path / "a.txt"), "--store", str(tmp_path / "store")]
    assert run([*arguments, "--device", "cuda:99"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("Error: there is no GPU 'cuda:99'")
    assert complaint.count("\n") == 1
    monkeypatch.setenv("MEMNET_DEVICE", "tpu")
    assert run(arguments) == 1
    assert capsys.readouterr().err.startswith("Error: there is no device 'tpu'")
    assert not (tmp_path / "store").exists()


def test_the_kind_of_index_can_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (json.dumps({"id": str(n), "title": "", "text": f"Boat {n}."}) for n in range(80))
    (tmp_path / "boats.jsonl").write_text("\n".join(lines))
    monkeypatch.setenv("MEMNET_STORE", str(tmp_path / "store"))

    def kind(*given: str) -> str:
        assert run(["ingest", str(tmp_path / "boats.jsonl"), *given]) == 0
        with Engine.open(tmp_path / "store") as engine:
            return engine.info().index_kind

    assert kind() == "flat"
    assert kind("--index", "pq") == "pq"
    assert kind() == "pq"  # nothing changed, and auto names no kind
    monkeypatch.setenv("MEMNET_INDEX", "flat")
    assert kind() == "flat"
    monkeypatch.setenv("MEMNET_INDEX", "tree")
    assert run(["info"]) == 2
    assert "MEMNET_INDEX" in capsys.readouterr().err
    assert run(["ask", "where?", "--index", "tree"]) == 2
