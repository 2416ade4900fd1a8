"""An encoder with a quicker way for passages, and memories that use it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet import Config, Document, Engine
from memnet.config import IngestConfig, StoreConfig
from memnet.storage.place import StorePlace
from tests.toy import ToyEncoder, toy_store

MIN_QUICK = 5
NAMES = "heron kestrel osprey merlin harrier buzzard falcon kite eagle owl plover dunlin".split()


class QuickEncoder(ToyEncoder):
    """Quick vectors are those of the first half of a text."""

    fingerprint = "quick/64"

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.quickly: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        return super().encode(texts)

    def encode_quick(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.quickly += texts
        return super().encode([half(text) for text in texts])


def half(text: str) -> str:
    return text[: len(text) // 2]


def open_quick(
    path: StorePlace,
    encoder: ToyEncoder | None = None,
    *,
    min_quick: int = MIN_QUICK,
    unsaved_share: float = 1 / 16,
    answerer: str | None = "untrained",
    lock_seconds: float = 2.0,
) -> Engine:
    """A memory in which a few passages are many, made where there is none."""
    encoder = encoder or QuickEncoder()
    store = StoreConfig(unsaved_share=unsaved_share)
    config = Config(ingest=IngestConfig(min_quick=min_quick, commit_vectors=3), store=store)
    rows = toy_store(path, encoder, lock_seconds=lock_seconds, config=store)
    return Engine(rows, encoder, config, answerer=answerer, reader="sentences")


def birds(count: int = len(NAMES)) -> list[Document]:
    """Documents, the vectors of whose halves are others than those of the whole."""
    return [
        Document(
            id=name,
            title=name,
            text=f"The {name} nests by the pier, in April. Its colour is {name[::-1]} grey.",
        )
        for name in NAMES[:count]
    ]


def stored_vectors(memory: Engine) -> dict[str, NDArray[np.float32]]:
    """The key vectors of all passages by source, from an index that agrees with the rows."""
    assert memory.store.verify() == []
    slots = [slot for slot in memory.store.fetch(range(1, 500)) if slot.kind == "passage"]
    ids = [slot.id for slot in slots]
    memory.store.search_dense(np.zeros(memory.store.dimension, np.float32), 1)  # loads the index
    vectors = memory.store.keys(ids).vectors
    return {slot.source: vector for slot, vector in zip(slots, vectors, strict=True)}
