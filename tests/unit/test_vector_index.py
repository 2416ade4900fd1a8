import json
import random
import zlib
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.runtime.device import DeviceVectors
from memnet.storage.values import ToDevice
from memnet.storage.vectors.file import (
    DamagedIndexError,
    IndexHeader,
    read_header,
    read_index,
    write_index,
)
from memnet.storage.vectors.index import VectorIndex
from memnet.storage.vectors.search import ReadVectors, code_scores, empty_pq
from tests.toy import DIMENSION, passage, source
from tests.unit.test_store import encode, open_store
from tests.waiting import repeating

_PQ = IndexConfig(kind="pq", min_pq=16, max_gather=10)
_KINDS = {
    "flat": IndexConfig(kind="flat", max_gather=10),
    "pq": _PQ,
    "auto": IndexConfig(max_flat=100, min_pq=16, max_gather=10),
}


class Rows:
    """Vectors by id, as the rows of a store have them: in half precision."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.held: dict[int, NDArray[np.float32]] = {}
        self._nothing = np.zeros(dimension, np.float32)

    def __call__(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        found = [self.held.get(one, self._nothing) for one in ids.tolist()]
        return np.array(found, np.float32).reshape(-1, len(self._nothing))


def vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float16).astype(np.float32)


def load(
    path: Path, index: VectorIndex, read: ReadVectors, to_device: ToDevice | None = None
) -> VectorIndex | None:
    return VectorIndex.load(path, "toy", index.dimension, index.config, read, to_device)


def save(
    index: VectorIndex, path: Path, read: ReadVectors, to_device: ToDevice | None = None
) -> VectorIndex:
    """Save an index; returns that of the file."""
    index.save(path, 7, "toy")
    loaded = load(path, index, read, to_device)
    assert loaded is not None
    return loaded


def filled(
    path: Path, config: IndexConfig, count: int = 300, dimension: int = DIMENSION
) -> VectorIndex:
    index = VectorIndex.empty(dimension, config)
    index = index.add(np.arange(1, count + 1), vectors(count, dimension=dimension))
    return save(index, path, rows_of(count, dimension))


def rows_of(count: int = 300, dimension: int = DIMENSION) -> Rows:
    """The rows of the vectors of a filled index."""
    rows = Rows(dimension)
    rows.held = dict(enumerate(vectors(count, dimension=dimension), start=1))
    return rows


class AgainstNumPy(RuleBasedStateMachine):
    """Up to 200 vectors: every search compares all that could be among the hits exactly."""

    @initialize(kind=st.sampled_from(sorted(_KINDS)), on_device=st.booleans())
    def start(self, kind: str, on_device: bool) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "index"
        self.config = _KINDS[kind]
        self.to_device = partial(DeviceVectors, device="cpu") if on_device else None
        self.rows = Rows()
        self.index = VectorIndex.empty(DIMENSION, self.config)
        self.twin = self.rows.held
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
        self.index = self.index.add(ids, rows)
        self.twin.update(zip(ids.tolist(), rows, strict=True))
        self.last += step * count

    @rule(share=st.sampled_from([0.02, 0.3, 1.0]), seed=st.integers(0, 99))
    def remove(self, share: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        gone = [one for one in self.twin if random.random() < share]
        self.index = self.index.remove(np.array([*gone, self.last + 1000], np.int64))
        for one in gone:
            del self.twin[one]

    @rule()
    def come_back(self) -> None:
        """A reader of an earlier commit takes an id away that later ones need again."""
        if self.twin:
            one = next(iter(self.twin))
            index = self.index.remove(np.array([one]))
            self.index = index.add(np.array([one]), self.twin[one][None])

    @rule()
    def save(self) -> None:
        self.index = save(self.index, self.path, self.rows, self.to_device)
        header = read_header(self.path)
        assert header is not None
        assert (header.commit_id, header.fingerprint) == (7, "toy")
        assert (header.count, header.dimension) == (len(self.twin), DIMENSION)
        coded = self.config.kind == "pq" or (self.config.kind == "auto" and len(self.twin) > 100)
        coded = coded and (self.to_device is None or self.config.kind == "pq")
        expected = "pq" if coded and len(self.twin) >= 16 else "flat"
        assert self.index.info().kind == expected
        rows = np.array(list(self.twin.values()), np.float32).reshape(-1, DIMENSION)
        ids = np.array(list(self.twin), np.int64)
        assert self.index.agrees(ids, rows)
        if len(rows) > 1:
            assert not self.index.agrees(ids, rows[::-1])

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


@pytest.mark.parametrize("dimension", [48, 50, 64, 37])
def test_pq_reaches_the_recall_that_it_reports(tmp_path: Path, dimension: int) -> None:
    config = _PQ.model_copy(update={"rerank": 100, "rerank_per_hit": 1, "max_rerank": 100})
    index = filled(tmp_path / "index", config, 3000, dimension)
    rows = vectors(3000, dimension=dimension)
    queries = vectors(50, 1, dimension)
    found = 0
    for query in queries:
        exact = set((np.argsort(-(rows @ query))[:10] + 1).tolist())
        found += len(exact & set(index.search(query, 10).ids.tolist()))
    # Directions without any order are the hardest case; what was measured is on easier queries.
    assert found / 500 > 0.75
    assert index.info().recall >= found / 500 - 0.05
    assert f"{index.info().recall:.3f}" in index.info().description


def test_more_is_reranked_until_the_target_recall(tmp_path: Path) -> None:
    few = _PQ.model_copy(update={"rerank": 10, "rerank_per_hit": 1, "target_recall": 0.0})
    index = filled(tmp_path / "few", few, 3000)
    assert index.info().rerank == 10
    low = index.info().recall
    index = filled(tmp_path / "more", few.model_copy(update={"target_recall": 0.99}), 3000)
    assert index.info().rerank > 10
    assert index.info().recall >= 0.99 > low
    loaded = load(tmp_path / "more", index, rows_of(3000))
    assert loaded is not None
    assert loaded.info().rerank == index.info().rerank


def test_a_restricted_search_is_exact(tmp_path: Path) -> None:
    index = filled(
        tmp_path / "index", _PQ.model_copy(update={"rerank": 100, "max_rerank": 100}), 3000
    )
    rows, query = vectors(3000), vectors(1, 1)[0]
    order = np.argsort(-(rows @ query))
    for places in (order[-8:], order[-1500:]):
        among = np.sort(places) + 1
        best = max(rows[among - 1] @ query)
        assert index.search(query, 1, among).scores[0] == pytest.approx(best, abs=1e-5)


@given(st.data())
def test_every_damage_is_detected(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path, rows = tmp_path_factory.getbasetemp() / "damaged", rows_of()
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
        loaded = VectorIndex.load(path, "toy", DIMENSION, _KINDS[kind], rows)
        if loaded is None:
            continue
        # Only bytes between arrays, which nobody reads, may differ.
        query = vectors(1, 5)[0]
        exact = np.sort(vectors(300) @ query)[::-1][:10]
        np.testing.assert_allclose(loaded.search(query, 10).scores, exact, atol=1e-5)
        assert sorted(loaded.ids().tolist()) == list(range(1, 301))


@pytest.mark.parametrize("dimension", [DIMENSION, 12, 15, 7, 10])
def test_codes_are_compared_as_what_they_stand_for(dimension: int) -> None:
    import faiss

    rows, queries = vectors(500, 1, dimension), vectors(5, 2, dimension)
    pq = empty_pq(dimension)
    pq.train(rows)
    codes = pq.sa_encode(rows)
    codebook = faiss.vector_to_array(pq.pq.centroids)
    for query in queries:
        expected = pq.sa_decode(codes) @ query
        np.testing.assert_allclose(
            code_scores(codebook, codes, query, np.arange(500)), expected, atol=1e-5
        )


def test_a_search_of_few_of_many_reads_few_vectors(tmp_path: Path) -> None:
    rows, read = vectors(3000), list[int]()

    def reading(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        read.append(len(ids))
        return rows[ids - 1]

    config = IndexConfig(kind="pq", min_pq=16, rerank=100, rerank_per_hit=5, target_recall=0)
    index = VectorIndex.empty(DIMENSION, config).add(np.arange(1, 3001), rows)
    index = save(index, tmp_path / "index", reading)
    some = np.arange(2, 3001, 3)
    read.clear()
    for number in some[::50].tolist():
        hits = index.search(rows[number - 1], 3, some)
        assert hits.ids[0] == number
        assert np.isin(hits.ids, some).all()
    assert read == [100] * len(some[::50])


_HEADER = IndexHeader(commit_id=1, fingerprint="toy", dimension=DIMENSION, count=4)


def test_ids_out_of_order_are_refused(tmp_path: Path) -> None:
    path, index = tmp_path / "index", VectorIndex.empty(DIMENSION, IndexConfig())
    for ids, right in (([1, 2, 3, 4], True), ([1, 2, 2, 4], False), ([4, 3, 2, 1], False)):
        rows = vectors(4)
        write_index(path, _HEADER, {"ids": [np.array(ids)], "vectors": [rows[:1], rows[1:]]})
        assert (load(path, index, Rows()) is not None) == right


def test_an_array_of_another_size_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "index"
    filled(path, IndexConfig())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="ids are not"):
        write_index(path, _HEADER, {"ids": [np.arange(3)], "vectors": [vectors(4)]})
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


_END = 24  # bytes after the header: its length, its checksum, and the mark of the format


def replace_header(path: Path, text: bytes) -> None:
    """Give an index file another header, with a checksum that is right."""
    data = path.read_bytes()
    end = len(data) - _END - int.from_bytes(data[-_END : -_END + 8], "little")
    numbers = np.array([len(text), zlib.crc32(text)], "<u8").tobytes()
    path.write_bytes(data[:end] + text + numbers + data[-8:])


@pytest.mark.parametrize(
    "change",
    [
        {"commit_id": 2**70}, {"commit_id": "x"}, {"commit_id": float("inf")}, {"commit_id": None},
        {"count": float("inf")}, {"count": -1}, {"count": 299}, {"count": 2**64}, {"count": 2**70},
        {"recall": "all"}, {"recall": float("nan")}, {"recall": 7.0}, {"rerank": None},
        {"rerank": -1}, {"dimension": 3}, {"dimension": 0}, {"dimension": 2**40},
        {"code_size": 0}, {"code_size": 1}, {"code_size": 2**62}, {"code_size": -16},
        {"fingerprint": 7}, {"fingerprint": "another"}, {"more": 1},
        {"checksums": []}, {"checksums": [1, 2, 3]}, {"checksums": [0] * 9}, {"checksums": ["1"]},
    ],
)  # fmt: skip
def test_a_hostile_header_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "index"
    index = filled(path, _PQ)
    assert index.header is not None
    replace_header(path, index.header.model_dump_json().encode())
    assert load(path, index, rows_of()) is not None
    replace_header(path, json.dumps({**index.header.model_dump(), **change}).encode())
    read_header(path)
    assert load(path, index, rows_of()) is None


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"commit_id": 1'])
def test_an_unreadable_header_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "index"
    filled(path, _PQ)
    replace_header(path, text)
    with pytest.raises(DamagedIndexError, match="the header is not one of an index"):
        read_index(path)
    assert read_header(path) is None


@pytest.mark.parametrize("length", [2**40, 2**63])
def test_a_header_longer_than_its_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "index"
    filled(path, _PQ)
    data = path.read_bytes()
    path.write_bytes(data[:-_END] + length.to_bytes(8, "little") + data[-16:])
    with pytest.raises(DamagedIndexError, match="the header is longer than the file"):
        read_index(path)


def test_a_file_of_codes_is_searched_as_the_settings_say(tmp_path: Path) -> None:
    index = filled(tmp_path / "index", _PQ)
    assert index.info().kind == "pq"
    assert index.search(vectors(300)[7], 1).ids.tolist() == [8]
    flat = load(tmp_path / "index", VectorIndex.empty(DIMENSION, _KINDS["flat"]), rows_of())
    assert flat is not None
    assert flat.info().kind == "flat"
    assert flat.search(vectors(300)[7], 1).ids.tolist() == [8]


def test_files_of_killed_writers_go(tmp_path: Path) -> None:
    for name in ("index.999999999.part", "index.part"):
        (tmp_path / name).touch()
    filled(tmp_path / "index", _PQ)
    assert list(tmp_path.iterdir()) == [tmp_path / "index"]


def test_added_vectors_stay_few_segments(tmp_path: Path) -> None:
    index, rows = filled(tmp_path / "index", _PQ, 600), vectors(3000)
    whole = index
    for number in range(600, 3000):
        index = index.add(np.array([number + 1]), rows[number : number + 1])
        if number % 3 == 0:
            index = index.remove(np.array([number + 1, number - 599]))
    gone = set(range(601, 3001, 3)) | set(range(1, 2401, 3))
    assert sorted(index.ids().tolist()) == sorted(set(range(1, 3001)) - gone)
    assert len(index.fresh) < 6
    assert sorted(whole.ids().tolist()) == list(range(1, 601))
    for number in (1, 602, 2999):
        assert index.search(rows[number], 1).ids.tolist() == [number + 1]


def test_background_writes_lose_nothing(tmp_path: Path) -> None:
    """While the index file is written again and again, one thread changes it, others search."""
    config = IndexConfig(max_flat=20, min_pq=16)
    with closing(open_store(tmp_path / "store", config, unsaved_share=1e-6)) as store:
        texts = [f"boat number {number}" for number in range(100)]
        store.put([source(text, passage(text)) for text in texts], encode)
        chance = random.Random(0)

        def search() -> None:
            text = texts[chance.randrange(50)]
            hits = store.search_dense(encode([f"\n{text}"])[0], 1)
            assert [slot.source for slot in store.fetch(hits.ids.tolist())] == [text]

        with repeating(search, threads=2):
            for number in range(50, 100):
                store.delete([texts[number]])
                store.put([source(f"new {number}", passage(f"new {texts[number]}"))], encode)
        assert store.verify() == []
        hits = store.search_dense(encode(["boat"])[0], 200)
        assert sorted(slot.source for slot in store.fetch(hits.ids[hits.mask].tolist())) == sorted(
            [*texts[:50], *(f"new {number}" for number in range(50, 100))]
        )


def test_a_large_index_is_written_in_the_background(tmp_path: Path) -> None:
    opened = partial(open_store, tmp_path / "store", IndexConfig(max_flat=20, min_pq=16))
    store = opened()
    for number in range(40):
        store.put([source(f"s{number}", passage(f"boat number {number}"))], encode)
        hits = store.search_dense(encode([f"\nboat number {number}"])[0], 1)
        assert [slot.source for slot in store.fetch(hits.ids.tolist())] == [f"s{number}"]
    store.delete(["s3"])
    store.close()
    store = opened()
    assert store.verify() == []
    assert "product quantisation" in store.index_info().description
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
