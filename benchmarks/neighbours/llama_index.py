"""LlamaIndex with its FAISS vector store, over a flat index."""

from collections.abc import Sequence
from pathlib import Path

import faiss
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.schema import TextNode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.faiss import FaissVectorStore

from benchmarks.neighbours.adapter import Passage


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Load the index if it is there."""
        self._folder = folder
        embedding = HuggingFaceEmbedding(model_name=str(model), device="cpu", embed_batch_size=32)
        if folder.exists():
            vectors = FaissVectorStore.from_persist_dir(str(folder))
            context = StorageContext.from_defaults(vector_store=vectors, persist_dir=str(folder))
            self._index = load_index_from_storage(context, embed_model=embedding)
        else:
            vectors = FaissVectorStore(faiss_index=faiss.IndexFlatIP(384))
            context = StorageContext.from_defaults(vector_store=vectors)
            self._index = VectorStoreIndex([], storage_context=context, embed_model=embedding)

    def add(self, passages: Sequence[Passage]) -> None:
        """Insert a node for each passage, and persist."""
        self._index.insert_nodes(
            [TextNode(id_=passage.id, text=passage.whole) for passage in passages]
        )
        self._index.storage_context.persist(str(self._folder))

    def find(self, question: str, most: int) -> list[str]:
        """Retrieve."""
        found = self._index.as_retriever(similarity_top_k=most).retrieve(question)
        return [item.node.node_id for item in found]

    def delete(self, passage: str) -> None:
        """Delete the node, and persist."""
        self._index.delete_nodes([passage])
        self._index.storage_context.persist(str(self._folder))

    def count(self) -> int:
        """Nodes that the index points to."""
        return len(self._index.index_struct.nodes_dict)

    def close(self) -> None:
        """Nothing is open."""
