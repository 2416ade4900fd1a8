import json
import os
import threading
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from numpy.typing import NDArray

from memnet.config import IndexConfig, StoreConfig
from memnet.device import DeviceVectors
from memnet.storage import MemoryStore
from memnet.storage.vectors.build import IndexStamp
from memnet.storage.vectors.file import DamagedIndexError, IndexFile, writing
from memnet.storage.vectors.index import VectorIndex, saved_stamp
from tests.toy import DIMENSION, ToyEncoder, passage, source

_CODES = IndexConfig(kind="pq", min_pq=16, max_gather=10)
_KINDS = {
    "flat": IndexConfig(kind="flat", max_gather=10),
    "pq": _CODES,
    "auto": IndexConfig(max_flat=100, min_pq=16, max_gather=10),
}
encode = ToyEncoder().encode


def vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def stamp(index: VectorIndex, dimension: int = DIMENSION) -> IndexStamp:
    return IndexStamp(7, "toy", dimension, len(index))


def filled(
    path: Path, config: IndexConfig, count: int = 300, dimension: int = DIMENSION
) -> VectorIndex:
    index = VectorIndex(dimension, config)
    index.add(np.arange(1, count + 1), vectors(count, dimension=dimension))
    index.save(path, stamp(index, dimension))
    return index


class AgainstNumPy(RuleBasedStateMachine):
    """Up to 200 vectors: every search compares all that could be among the hits exactly."""

    @initialize(kind=st.sampled_from(sorted(_KINDS)), held=st.booleans())
    def start(self, kind: str, held: bool) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "index"
        self.config = _KINDS[kind]
        self.to_device = partial(DeviceVectors, device="cpu") if held else None
        self.index = VectorIndex(DIMENSION, self.config, self.to_device)
        self.twin: dict[int, NDArray[np.float32]] = {}
        self.last = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(count=st.integers(0, 40), step=st.integers(1, 3), backwards=st.booleans())
    def add(self, count: int, step: int, backwards: bool) -> None:
        count = min(count, 200 - len(self.twin))
        ids = self.last + step * np.arange(1, count + 1)
        ids = ids[::-1] if backwards else ids
        rows = vectors(count, seed=self.last)
        self.index.add(ids, rows)
        self.twin.update(zip(ids.tolist(), rows, strict=True))
        self.last += step * count

    @rule(share=st.sampled_from([0.02, 0.3, 1.0]), seed=st.integers(0, 99))
    def remove(self, share: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        gone = [one for one in self.twin if random.random() < share]
        self.index.remove(np.array([*gone, self.last + 1000], np.int64))
        for one in gone:
            del self.twin[one]

    @rule()
    def come_back(self) -> None:
        """A reader of an earlier commit takes an id away that later ones need again."""
        if self.twin:
            one = next(iter(self.twin))
            self.index.remove(np.array([one]))
            self.index.add(np.array([one]), self.twin[one][None])

    @rule(reopen=st.booleans())
    def save(self, reopen: bool) -> None:
        self.index.save(self.path, stamp(self.index))
        assert saved_stamp(self.path) == stamp(self.index)
        coded = self.config.kind == "pq" or (self.config.kind == "auto" and len(self.twin) > 100)
        coded = coded and (self.to_device is None or self.config.kind == "pq")
        expected = "pq" if coded and len(self.twin) >= 16 else "flat"
        assert self.index.details()["kind"] == expected
        if reopen:
            loaded = VectorIndex.load(self.path, "toy", DIMENSION, self.config, self.to_device)
            assert loaded is not None
            assert loaded[0].description == self.index.description
            self.index = loaded[0]

    @rule(
        seed=st.integers(0, 99),
        limit=st.sampled_from([1, 5, 40]),
        share=st.sampled_from([None, 0.0, 0.1, 0.9]),
    )
    def search(self, seed: int, limit: int, share: float | None) -> None:
        random = np.random.default_rng(seed)
        query = vectors(1, seed)[0]
        within = [one for one in self.twin if share is None or random.random() < share]
        hits = self.index.search(
            query, limit, None if share is None else np.array([*within, self.last + 5], np.int64)
        )
        scores = sorted((float(self.twin[one] @ query) for one in within), reverse=True)[:limit]
        assert int(hits.mask.sum()) == len(scores)
        np.testing.assert_allclose(hits.scores[hits.mask], scores, atol=1e-5)
        for one, score in zip(hits.ids[hits.mask], hits.scores[hits.mask], strict=True):
            assert float(self.twin[int(one)] @ query) == pytest.approx(float(score), abs=1e-5)
            assert int(one) in within
        assert not hits.ids[~hits.mask].any()
        assert sorted(self.index.ids().tolist()) == sorted(self.twin)
        assert len(self.index) == len(self.twin)


TestAgainstNumPy = AgainstNumPy.TestCase
TestAgainstNumPy.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


@pytest.mark.parametrize("dimension", [48, 50, 64, 37])
def test_codes_find_most_and_say_how_many(tmp_path: Path, dimension: int) -> None:
    config = _CODES.model_copy(update={"rerank": 100, "rerank_per_hit": 1, "max_rerank": 100})
    index = filled(tmp_path / "index", config, 3000, dimension)
    rows = vectors(3000, dimension=dimension)
    queries = vectors(50, 1, dimension)
    found = 0
    for query in queries:
        exact = set((np.argsort(-(rows @ query))[:10] + 1).tolist())
        found += len(exact & set(index.search(query, 10).ids.tolist()))
    # Directions without any order are the hardest case; what was measured is on easier queries.
    assert found / 500 > 0.75
    assert index.details()["recall"] >= found / 500 - 0.05
    assert f"{index.details()['recall']:.3f}" in index.description


def test_more_is_compared_until_enough_is_found(tmp_path: Path) -> None:
    few = _CODES.model_copy(update={"rerank": 10, "rerank_per_hit": 1, "target_recall": 0.0})
    index = filled(tmp_path / "few", few, 3000)
    assert index.view.saved.rerank == 10
    low = index.details()["recall"]
    index = filled(tmp_path / "more", few.model_copy(update={"target_recall": 0.99}), 3000)
    assert index.view.saved.rerank > 10
    assert index.details()["recall"] >= 0.99 > low
    loaded = VectorIndex.load(tmp_path / "more", "toy", DIMENSION, few)
    assert loaded is not None
    assert loaded[0].view.saved.rerank == index.view.saved.rerank


def test_a_search_among_few_or_far_vectors_is_exact(tmp_path: Path) -> None:
    index = filled(
        tmp_path / "index", _CODES.model_copy(update={"rerank": 100, "max_rerank": 100}), 3000
    )
    rows, query = vectors(3000), vectors(1, 1)[0]
    order = np.argsort(-(rows @ query))
    for places in (order[-8:], order[-1500:]):
        among = np.sort(places) + 1
        best = max(rows[among - 1] @ query)
        assert index.search(query, 1, among).scores[0] == pytest.approx(best, abs=1e-5)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_no_damage_goes_unseen(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    for kind in ("flat", "pq"):
        whole = path.with_name(f"whole-{kind}")
        if not whole.exists():
            filled(whole, _KINDS[kind])
        content = bytearray(whole.read_bytes())
        if data.draw(st.booleans()):
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] ^= data.draw(st.integers(1, 255))
        else:
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        path.write_bytes(content)
        loaded = VectorIndex.load(path, "toy", DIMENSION, _KINDS[kind])
        if loaded is None:
            continue
        query = vectors(1, 5)[0]
        exact = np.sort(vectors(300) @ query)[::-1][:10]
        try:
            hits = loaded[0].search(query, 10)
            np.testing.assert_allclose(hits.scores, exact, atol=1e-5)
            loaded[0].check()
        except DamagedIndexError:
            continue
        # Only bytes between sections, which nobody reads, may differ.
        assert sorted(loaded[0].ids().tolist()) == list(range(1, 301))


def test_a_description_that_lies_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "index"
    rows = vectors(4)
    said = {"commit_id": 1, "fingerprint": "toy", "dimension": DIMENSION, "slots": 4}
    for ids, shape in (
        (np.array([1, 2, 2, 4]), (4, DIMENSION)),
        (np.array([1, 2, 3]), (4, DIMENSION)),
        (np.array([1, 2, 3, 4]), (2, 2 * DIMENSION)),
    ):
        with writing(path) as writer:
            writer.add("rows", "float32", shape, [rows])
            writer.add("ids", "int64", (len(ids),), [ids])
            writer.finish(said)
        assert VectorIndex.load(path, "toy", DIMENSION) is None
    with pytest.raises(ValueError, match="section rows"), writing(path) as writer:
        writer.add("rows", "float32", (5, DIMENSION), [rows])
    assert list(tmp_path.iterdir()) == [path]
    IndexFile(path)


_END = 24
"""Bytes after the description: its length, its checksum and the mark of the format."""


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("said",), 5), (("said",), None), (("said", "commit_id"), 2**70),
        (("said", "commit_id"), "x"),
        (("said", "commit_id"), float("inf")), (("said", "slots"), float("inf")),
        (("said", "recall"), "all"), (("said", "recall"), float("nan")), (("said", "recall"), 7.0),
        (("said", "rerank"), None), (("said", "dimension"), 3), (("sections",), []),
        (("sections", "rows"), 1), (("sections", "ids", 0), 2**70), (("sections", "ids", 0), -64),
        (("sections", "ids", 1), "float32"), (("sections", "ids", 1), "pickle"),
        (("sections", "rows", 1), "uint8"), (("sections", "rows", 2), []),
        (("sections", "rows", 2), [2**32, 2**32]), (("sections", "rows", 2), [2**70, 1]),
        (("sections", "rows", 2), [float("inf"), DIMENSION]), (("sections", "book", 1), "uint32"),
        (("sections", "pq", 2), [1, 1]), (("sections", "pq", 3), 2**70),
    ],
)  # fmt: skip
def test_a_description_of_anyone_is_refused(
    tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    path = tmp_path / "index"
    filled(path, _CODES)
    data = path.read_bytes()
    length = int.from_bytes(data[-_END : -_END + 8], "little")
    description = json.loads(data[-_END - length : -_END])
    holder = description
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    text = json.dumps(description).encode()
    end = np.array([len(text), zlib.crc32(text)], "<u8").tobytes() + data[-8:]
    path.write_bytes(data[: -_END - length] + text + end)
    saved_stamp(path)
    assert VectorIndex.load(path, "toy", DIMENSION, _CODES) is None


def test_codes_of_another_version_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import faiss

    path = tmp_path / "index"
    filled(path, _CODES)
    monkeypatch.setattr(faiss, "__version__", "0.0")
    assert VectorIndex.load(path, "toy", DIMENSION, _CODES) is None
    flat = VectorIndex.load(path, "toy", DIMENSION, _KINDS["flat"])
    assert flat is not None
    assert flat[0].details()["kind"] == "flat"


def test_files_of_killed_writers_go_and_those_of_running_ones_stay(tmp_path: Path) -> None:
    gone, here = tmp_path / "index.999999999.part", tmp_path / f"index.{os.getppid()}.part"
    for part in (gone, here):
        part.touch()
    filled(tmp_path / "index", _CODES)
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "index", here])


def test_saving_beside_searches_and_changes_loses_nothing(tmp_path: Path) -> None:
    """While one thread saves again and again, others change the index and search it."""
    index = filled(tmp_path / "index", _CODES, 600)
    rows = vectors(1200)
    stop, wrong = threading.Event(), list[str]()

    def search() -> None:
        while not stop.is_set():
            view = index.view
            number = int(np.random.default_rng().integers(300))
            if view.search(rows[number], 1).ids[0] != number + 1:
                wrong.append(f"{number + 1} not found")

    def save() -> None:
        while not stop.is_set():
            view = index.view
            index.save(tmp_path / "index", IndexStamp(7, "toy", DIMENSION, view.size), view)

    threads = [threading.Thread(target=one) for one in (search, search, save)]
    for thread in threads:
        thread.start()
    for number in range(600, 1200):  # ids 301 to 600 go, 601 to 1200 come
        index.add(np.array([number + 1]), rows[number : number + 1])
        if number % 2:
            gone = 301 + (number - 600) // 2
            index.remove(np.array([gone]))
            index.add(np.array([gone]), rows[gone - 1 : gone])
            index.remove(np.array([gone]))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    expected = [*range(1, 301), *range(601, 1201)]
    assert sorted(index.ids().tolist()) == expected
    index.save(tmp_path / "index", stamp(index))
    loaded = VectorIndex.load(tmp_path / "index", "toy", DIMENSION)
    assert loaded is not None
    assert loaded[0].ids().tolist() == expected


def test_a_large_index_is_written_beside_what_the_store_does(tmp_path: Path) -> None:
    config = StoreConfig(index=IndexConfig(max_flat=20, min_pq=16))

    def opened() -> MemoryStore:
        return MemoryStore(
            tmp_path / "store",
            fingerprint="toy/64",
            dimension=DIMENSION,
            create=True,
            config=config,
        )

    store = opened()
    for number in range(40):
        store.put([source(f"s{number}", passage(f"boat number {number}"))], encode)
        hits = store.search_dense(encode([f"\nboat number {number}"])[0], 1)
        assert [slot.source for slot in store.fetch(hits.ids.tolist())] == [f"s{number}"]
    store.delete(["s3"])
    store.close()
    store = opened()
    assert store.verify() == []
    assert "four-bit codes" in store.index_description()
    assert not store.delete(["s3"])
    store.close()  # a mapped file that is cut short ends the process that reads it
    (tmp_path / "store" / "vectors.faiss").write_bytes(b"")
    store = opened()
    assert store.search_dense(encode(["boat"])[0], 50).mask.sum() == 39
    store.close()
    store = opened()
    assert store.verify() == []
    store.close()
    assert not list((tmp_path / "store").glob("*.part"))


def test_damage_under_an_open_store_is_made_good_from_the_rows(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "store", fingerprint="toy/64", dimension=DIMENSION, create=True)
    store.put([source(name, passage(f"text {name}")) for name in "abc"], encode)
    store.close()
    path = tmp_path / "store" / "vectors.faiss"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    store = MemoryStore(tmp_path / "store", fingerprint="toy/64", dimension=DIMENSION)
    assert any("damaged" in problem for problem in store.verify())
    hits = store.search_dense(encode(["\ntext b"])[0], 3)
    assert store.fetch(hits.ids.tolist())[0].source == "b"
    assert store.verify() == []  # the reader wrote it anew
    store.close()
