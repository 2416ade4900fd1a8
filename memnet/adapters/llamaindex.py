# pyright: reportMissingImports=false
"""A memory as a retriever and a query engine of LlamaIndex; needs the extra "llamaindex"."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from memnet.adapters import missing_framework
from memnet.adapters.documents import passage_id, passage_metadata
from memnet.engine import Engine
from memnet.types import Evidence

try:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ImportError as error:
    raise missing_framework(__name__, "llama-index-core", "llamaindex") from error

__all__ = ["MemnetQueryEngine", "MemnetRetriever"]

_NO_ANSWER = "Empty Response"  # as LlamaIndex's own query engines say
# Metadata that means nothing to a language model.
_OFFSETS = ("start", "end", "hop", "score")


class MemnetRetriever(BaseRetriever):
    """Finds passages in a memory, by hops, as nodes of LlamaIndex.

    ::

        MemnetRetriever(memory, top_k=3).retrieve("Who built the Orre Light?")

    A node is a passage, its source the node's source, its scores the controller's.
    """

    def __init__(
        self,
        engine: Engine,
        top_k: int = 4,
        *,
        hops: int | None = None,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Use a memory, which stays open; the arguments are those of ``Engine.search``."""
        super().__init__(callback_manager=callback_manager)
        self._search = partial(
            engine.search, top_k=top_k, hops=hops, namespace=namespace, where=where
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(item) for item in self._search(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class MemnetQueryEngine(CustomQueryEngine):
    """Answers questions from a memory, without a language model.

    ::

        MemnetQueryEngine(engine=memory).query("Who built the Orre Light?")

    The response is the answer, with its evidence as source nodes; its metadata has ``short``,
    ``kind``, ``confidence`` and ``abstained`` of ``memnet.Answer``. Where memnet abstained, it is
    "Empty Response".
    """

    engine: Engine
    """The memory, which stays open."""
    top_k: int | None = None
    """Pieces of evidence; None for the configured number."""
    hops: int | None = None
    """Most reads of the memory; None for the configured number."""
    namespace: str | None = None
    """To look in; None for all."""
    where: dict[str, Any] | None = None
    """Conditions on the metadata, as ``memnet.Scope`` describes them."""

    def custom_query(self, query_str: str) -> Response:
        """Answer a question; errors are those of ``Engine.ask``."""
        answer = self.engine.ask(
            query_str,
            hops=self.hops,
            top_k=self.top_k,
            namespace=self.namespace,
            where=self.where,
        )
        return Response(
            response=_NO_ANSWER if answer.answer is None else answer.answer,
            source_nodes=[_node(item) for item in answer.evidence],
            metadata=answer.model_dump(include={"short", "kind", "confidence", "abstained"}),
        )

    async def acustom_query(self, query_str: str) -> Response:
        """As ``custom_query``, on a thread."""
        return await asyncio.to_thread(self.custom_query, query_str)


def _node(evidence: Evidence) -> NodeWithScore:
    source = RelatedNodeInfo(node_id=evidence.source)
    node = TextNode(
        id_=passage_id(evidence),
        text=evidence.text,
        metadata=passage_metadata(evidence),
        start_char_idx=evidence.start,
        end_char_idx=evidence.end,
        relationships={NodeRelationship.SOURCE: source},
        excluded_llm_metadata_keys=list(_OFFSETS),
        excluded_embed_metadata_keys=list(_OFFSETS),
    )
    return NodeWithScore(node=node, score=evidence.score)
