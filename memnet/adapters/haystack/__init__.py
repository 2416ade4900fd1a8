"""A memory as a document store and as components of Haystack; needs the extra "haystack"."""

from memnet.adapters.haystack.components import MemnetAnswerer, MemnetRetriever
from memnet.adapters.haystack.document_store import MemnetDocumentStore

__all__ = ["MemnetAnswerer", "MemnetDocumentStore", "MemnetRetriever"]
