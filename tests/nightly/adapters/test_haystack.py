"""The adapters of Haystack, by the standard tests of Haystack and some of our own."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack", exc_type=ImportError)

from haystack import Pipeline
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
)

from memnet import Document as MemnetDocument
from memnet import Engine, InputError
from memnet.adapters.haystack import MemnetAnswerer, MemnetDocumentStore, MemnetRetriever
from tests.nightly.adapters.examples import printed


@pytest.fixture
def document_store(toy_engine: Engine) -> MemnetDocumentStore:
    return MemnetDocumentStore.of(toy_engine)


class TestDocumentStoreStandard(
    DocumentStoreBaseExtendedTests,
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldUniqueValuesTest,
):
    @pytest.fixture
    def document_store(self, toy_engine: Engine) -> MemnetDocumentStore:
        return MemnetDocumentStore.of(toy_engine)

    def test_write_documents(self, document_store: Any) -> None:
        given = [Document(content="test doc")]
        assert document_store.write_documents(given) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(given)
        assert document_store.filter_documents() == given


class TestDocumentStoreStandardAsync(
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self, toy_engine: Engine) -> MemnetDocumentStore:
        return MemnetDocumentStore.of(toy_engine)

    async def test_write_documents_async(self, document_store: Any) -> None:
        assert await document_store.write_documents_async([Document(content="test doc")]) == 1


def test_all_fields_come_back(document_store: MemnetDocumentStore) -> None:
    given = Document(
        id="a",
        content="  A quay.\r\n\r\n\tA boat. \n",
        blob=ByteStream(b"\x00\xff", meta={"from": "test"}, mime_type="image/png"),
        meta={"title": "Quays", "nested": {"list": [1, None, True]}, "extra": 1},
        score=0.25,
        embedding=[0.1, -1e-9],
        sparse_embedding=SparseEmbedding(indices=[1], values=[0.5]),
    )
    document_store.write_documents([given])
    assert document_store.filter_documents() == [given]


def test_duplicates_within_a_list(document_store: MemnetDocumentStore) -> None:
    twice = [Document(id="a", content="first"), Document(id="a", content="second")]
    with pytest.raises(DuplicateDocumentError, match="nothing was written"):
        document_store.write_documents(twice, DuplicatePolicy.FAIL)
    assert document_store.count_documents() == 0
    assert document_store.write_documents(twice, DuplicatePolicy.SKIP) == 1
    assert [one.content for one in document_store.filter_documents()] == ["first"]
    assert document_store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 2
    assert [one.content for one in document_store.filter_documents()] == ["second"]


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_document_without_text_stores_nothing(
    document_store: MemnetDocumentStore, content: str | None
) -> None:
    given = [Document(content="a quay"), Document(content=content, meta={"file": "a.png"})]
    with pytest.raises(InputError, match=r"no text|blank"):
        document_store.write_documents(given)
    assert document_store.count_documents() == 0


def test_the_retriever_filters_exactly(document_store: MemnetDocumentStore) -> None:
    document_store.write_documents(
        [Document(id=str(n), content=f"quay {n}", meta={"n": n}) for n in range(60)]
    )
    document_store.engine.ingest(MemnetDocument(id="other", text="quay"), namespace="other")
    retriever = MemnetRetriever(document_store, top_k=2)
    odd = {
        "operator": "OR",
        "conditions": [
            {"field": "meta.n", "operator": "==", "value": 3},
            {"field": "meta.n", "operator": ">", "value": 58},
        ],
    }
    found = retriever.run("quay 7", filters=odd)["documents"]
    assert {one.id for one in found} == {"3", "59"}
    assert all(one.score is not None for one in found)
    nothing = {"field": "meta.n", "operator": ">", "value": 60}
    assert retriever.run("quay 7", filters=nothing)["documents"] == []
    assert retriever.run("quay 7", top_k=1)["documents"][0].content == "quay 7"


def test_a_pipeline_is_written_down_and_answers(saltmere_store: MemnetDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("answerer", MemnetAnswerer(saltmere_store, top_k=3))
    pipeline.add_component("retriever", MemnetRetriever(saltmere_store, top_k=3, hops=2))
    written = pipeline.dumps()
    saltmere_store.close()
    made = Pipeline.loads(written, allowed_modules=["memnet.adapters.*"])
    assert made.dumps() == written
    question = "In which year was the Orre Light built?"
    result = made.run({"answerer": {"query": question}, "retriever": {"query": question}})
    best = result["answerer"]["answers"][0]
    assert best.data == "1862"
    assert best.document.content[best.document_offset.start : best.document_offset.end] == "1862"
    assert best.context[best.context_offset.start : best.context_offset.end] == "1862"
    assert best.document.meta == {"title": "Orre Light"}
    assert 0 <= best.score <= 1
    assert result["retriever"]["documents"][0].id == "orre"
    answerer = made.get_component("answerer")
    (none,) = answerer.run("What is the capital of Portugal?")["answers"]
    assert (none.data, none.meta["abstained"]) == (None, True)
    for name in ("answerer", "retriever"):
        made.get_component(name).document_store.close()  # type: ignore[attr-defined]


@pytest.fixture
def saltmere_store(tmp_path: Path) -> MemnetDocumentStore:
    store = MemnetDocumentStore(tmp_path / "memory", namespace="lights")
    text = "  \nThe Orre Light is a tower of granite.\n\n It was built in 1862 by Una Thale. "
    store.write_documents(
        [
            Document(id="orre", content=text, meta={"title": "Orre Light"}),
            Document(id="una", content="Una Thale was a mason.", meta={"title": "Una Thale"}),
        ]
    )
    return store


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed("Haystack", tmp_path, monkeypatch, capsys)
    assert lines == ["Una Thale a ExtractedAnswer.Span(start=9, end=18)", "['a']"]
