"""The adapters of LangChain, by the standard tests of LangChain and some of our own."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", exc_type=ImportError)

from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from memnet import Document, Engine, InputError
from memnet.adapters.langchain import MemnetEmbeddings, MemnetRetriever, MemnetVectorStore
from tests.nightly.adapters.examples import printed

LIGHTS = [
    Document(id="orre", title="Orre Light", text="Built by Una Thale.", metadata={"year": 1862}),
    Document(id="una", title="Una Thale", text="A mason from Kestle.", metadata={"year": 1830}),
    Document(id="kestle", title="Kestle", text="A town on a quay.", metadata={"year": 1200}),
    Document(id="low", title="Low Tassen", text="A field of football.", metadata={"year": 1990}),
]


class TestVectorStoreStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, toy_engine: Engine) -> VectorStore:
        return MemnetVectorStore(toy_engine)


class TestRetrieverStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _memory(self, toy_engine: Engine) -> None:
        toy_engine.ingest(LIGHTS)
        self.memory = toy_engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemnetRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.memory, "k": 2}

    @property
    def retriever_query_example(self) -> str:
        return "Who built the Orre Light?"


@pytest.fixture
def store(toy_engine: Engine) -> MemnetVectorStore:
    return MemnetVectorStore(toy_engine, "shelf")


def test_a_passage_says_where_it_stands(toy_engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Kestle\n\nA quay of granite.\n\n# Tassen\n\nA field.\n", encoding="utf-8")
    toy_engine.ingest(file)
    (found,) = MemnetRetriever(engine=toy_engine, k=1).invoke("quay of granite")
    text = toy_engine.get(str(file)).text  # type: ignore[union-attr]
    assert text[found.metadata["start"] : found.metadata["end"]] == found.page_content
    assert found.metadata["source"] == str(file)
    assert "A quay of granite." in found.page_content


def test_a_retriever_keeps_to_conditions_and_namespaces(toy_engine: Engine) -> None:
    toy_engine.ingest(LIGHTS)
    toy_engine.ingest(Document(id="other", text="Built by Una."), namespace="other")
    retriever = MemnetRetriever(engine=toy_engine, k=9, namespace="", where={"year": {"to": 1500}})
    assert [one.metadata["source"] for one in retriever.invoke("Built by Una")] == ["kestle"]
    found = retriever.invoke("Built by Una", where={"year": 1990})
    assert [one.metadata["source"] for one in found] == ["low"]


def test_long_texts_come_back_whole_and_once(store: MemnetVectorStore) -> None:
    text = "\n\n".join(f"Paragraph {n}  of quays.\tMore of it. " * 20 for n in range(9)) + " \n"
    given = LangChainDocument(id="long", page_content=text, metadata={"tags": ["a", {"b": None}]})
    store.add_documents([given, LangChainDocument(id="short", page_content="Of quays.")])
    found = store.similarity_search("quays", k=2)
    assert {one.id for one in found} == {"long", "short"}
    assert given in found
    assert store.get_by_ids(["long"]) == [given]


def test_scores_by_hops_and_by_vector(store: MemnetVectorStore) -> None:
    store.add_texts(["red quay", "red boat", "green field"], ids=["q", "b", "f"])
    assert store.similarity_search_with_score("red quay", k=1)[0][0].id == "q"
    (first, *rest) = store.similarity_search_with_relevance_scores("red quay", k=3)
    assert first[0].id == "q"
    asked = store.embeddings.embed_query("red quay")  # whose numbers are rounded as in the store
    assert first[1] == pytest.approx(sum(number**2 for number in asked), abs=1e-5)
    assert [score for _, score in rest] == sorted((score for _, score in rest), reverse=True)
    vector = store.embeddings.embed_query("green field")
    assert [one.id for one in store.similarity_search_by_vector(vector, k=1)] == ["f"]


def test_marginal_relevance_prefers_what_differs(store: MemnetVectorStore) -> None:
    store.add_texts(["red quay", "red quay stone", "green red field"], ids=["q", "s", "f"])
    near = store.max_marginal_relevance_search("red quay", k=2, lambda_mult=1)
    far = store.max_marginal_relevance_search("red quay", k=2, lambda_mult=0)
    assert [one.id for one in near] == ["q", "s"]
    assert [one.id for one in far] == ["q", "f"]


def test_a_filter_is_one_of_conditions(store: MemnetVectorStore) -> None:
    store.add_texts(["a quay", "a quay"], [{"year": 1862}, {"year": 1990}], ids=["old", "new"])
    retriever = store.as_retriever(search_kwargs={"filter": {"year": {"from": 1900}}, "hops": 1})
    assert [one.id for one in retriever.invoke("quay")] == ["new"]


def test_files_come_as_passages(toy_engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A quay of granite.", encoding="utf-8")
    toy_engine.ingest(tmp_path)
    (found,) = MemnetVectorStore(toy_engine).similarity_search("quay")
    assert found.page_content == "A quay of granite."
    assert found.metadata["source"] == str(tmp_path / "a.txt")


def test_deleting_all_keeps_to_the_namespace(store: MemnetVectorStore) -> None:
    store.engine.ingest(Document(id="kept", text="A quay."))
    store.add_texts(["a quay", "a boat"])
    assert store.delete()
    assert [source.id for source in store.engine.sources()] == ["kept"]


@pytest.mark.parametrize(
    ("documents", "ids", "message"),
    [
        ([("a", "Fine.", {}), ("b", " ", {})], None, "blank"),
        ([("a", "Fine.", {"when": object()})], None, "not JSON"),
        ([("a", "Fine.", {"x": float("nan")})], None, "not JSON"),
        ([("a", "Fine.", {"_memnet": 1})], None, "rename it"),
        ([("a", "Fine.", {})], ["1", "2"], "2 ids are given for 1 documents"),
    ],
)
def test_bad_documents_store_nothing(
    store: MemnetVectorStore, documents: list[Any], ids: list[str] | None, message: str
) -> None:
    given = [LangChainDocument(id=i, page_content=text, metadata=m) for i, text, m in documents]
    with pytest.raises(InputError, match=message):
        store.add_documents(given, ids=ids)
    assert list(store.engine.sources()) == []


def test_from_texts_needs_a_memory_that_encodes(toy_engine: Engine) -> None:
    made = MemnetVectorStore.from_texts(["a quay"], ids=["q"], engine=toy_engine, namespace="n")
    assert [one.id for one in made.similarity_search("quay")] == ["q"]
    own = MemnetEmbeddings(toy_engine.encoder)
    assert MemnetVectorStore.from_texts(["b"], own, engine=toy_engine).embeddings is not None
    with pytest.raises(InputError, match="encodes by itself"):
        MemnetVectorStore.from_texts(["c"], DeterministicFakeEmbedding(size=4), engine=toy_engine)
    with pytest.raises(InputError, match="no memory is given"):
        MemnetVectorStore.from_texts(["c"])
    with pytest.raises(InputError, match="'score_threshold'"):
        made.similarity_search("quay", score_threshold=0.5)
    with pytest.raises(InputError, match="expected \\(64,\\)"):
        made.similarity_search_by_vector([1.0, 2.0])


@pytest.fixture(autouse=True)
def _no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed("LangChain", tmp_path, monkeypatch, capsys)
    assert lines == [
        "[Document(id='a', metadata={'title': 'Orre Light', 'year': 1862}, "
        "page_content='Built by Una Thale.')]",
        "['a']",
    ]
