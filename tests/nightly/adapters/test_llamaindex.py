"""The adapters of LlamaIndex, by what LlamaIndex itself does with retrievers and query engines."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", exc_type=ImportError)

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from memnet import Document, Engine, InputError
from memnet.adapters.llamaindex import MemnetQueryEngine, MemnetRetriever
from tests.nightly.adapters.examples import printed

ORRE = "The Orre Light is a tower of granite.\n\nIt was built in 1862 by Una Thale."
LIGHTS = [
    Document(id="orre", title="Orre Light", text=ORRE, metadata={"year": 1862}),
    Document(id="una", title="Una Thale", text="Una Thale was born in Kestle."),
    Document(id="low", title="Low Tassen", text="A field of football.", metadata={"year": 1990}),
]


@pytest.fixture(scope="module")
def lights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine.open(tmp_path_factory.mktemp("lights") / "memory", create=True) as engine:
        engine.ingest(LIGHTS)
        yield engine


def test_nodes_are_passages_with_their_place(lights: Engine) -> None:
    retriever = MemnetRetriever(lights, top_k=2)
    assert isinstance(retriever, BaseRetriever)
    found = retriever.retrieve("Who built the Orre Light?")
    assert len(found) == 2
    node = found[0].node
    assert node.ref_doc_id == "orre"
    assert ORRE[node.start_char_idx : node.end_char_idx] == node.text  # type: ignore[attr-defined]
    assert found[0].score == node.metadata["score"]
    assert "score" not in node.get_content(MetadataMode.LLM)
    assert NodeRelationship.SOURCE in node.relationships


def test_retrieving_keeps_to_conditions(lights: Engine) -> None:
    retriever = MemnetRetriever(lights, top_k=9, where={"year": {"from": 1900}}, hops=1)
    found = retriever.retrieve(QueryBundle("What was built?"))
    assert [one.node.ref_doc_id for one in found] == ["low"]
    assert MemnetRetriever(lights, namespace="none").retrieve("What was built?") == []
    with pytest.raises(InputError, match="the question is empty"):
        retriever.retrieve(" ")


def test_retrieving_on_the_event_loop(lights: Engine) -> None:
    retriever = MemnetRetriever(lights)
    question = "Who built the Orre Light?"
    nodes = asyncio.run(retriever.aretrieve(question))
    assert [one.node_id for one in nodes] == [one.node_id for one in retriever.retrieve(question)]


def test_other_parts_use_the_retriever(lights: Engine) -> None:
    retriever = MemnetRetriever(lights, top_k=2)
    mock = MockLLM()
    answered = RetrieverQueryEngine.from_args(retriever, llm=mock).query("Who built the light?")
    assert "Una Thale" in str(answered)  # the model that stands in repeats what it was given
    fused = QueryFusionRetriever([retriever], llm=mock, num_queries=1, use_async=False)
    assert fused.retrieve("Orre Light")[0].node.ref_doc_id == "orre"
    nested = RecursiveRetriever("root", retriever_dict={"root": retriever})
    assert nested.retrieve("Orre Light")[0].node.ref_doc_id == "orre"
    tool = RetrieverTool.from_defaults(retriever)
    assert "Una Thale" in str(tool.call("Orre Light"))


def test_answers_without_a_language_model(lights: Engine) -> None:
    queries = MemnetQueryEngine(engine=lights)
    assert isinstance(queries, BaseQueryEngine)
    answer = queries.query("In which year was the Orre Light built?")
    assert answer.metadata is not None
    assert answer.metadata["short"] == "1862"
    assert "1862" in str(answer)
    assert 0 <= answer.metadata["confidence"] <= 1
    assert answer.source_nodes[0].node.ref_doc_id == "orre"
    later = asyncio.run(queries.aquery(QueryBundle("In which year was the Orre Light built?")))
    assert str(later) == str(answer)
    nothing = queries.query("What is the capital of Portugal?")
    assert str(nothing) == "Empty Response"
    assert nothing.metadata is not None
    assert nothing.metadata["abstained"] is True


def test_a_query_engine_is_a_tool(lights: Engine) -> None:
    tool = QueryEngineTool.from_defaults(MemnetQueryEngine(engine=lights), name="lights")
    assert "1862" in str(tool.call("In which year was the Orre Light built?"))


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed("LlamaIndex", tmp_path, monkeypatch, capsys)
    assert lines == ["['a']", "Built by Una Thale. Una Thale ['a']"]
