"""A tiny encoder and slots for tests that need no real weights."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet import Config, Engine
from memnet.encoders.protocol import MENTION, Encoder, TokenStates
from memnet.storage import MemoryStore, NewSlot, NewSource
from memnet.storage.place import StorePlace

DIMENSION = 64


def rows_of(name: str) -> list[list[str]]:
    """A table of cases of ``tests/statements`` or another folder: a line each, tabs between."""
    path = Path(__file__).parent / (name if "/" in name else f"statements/{name}")
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


class ToyEncoder:
    """Bag of hashed words: texts that share words are similar, the same text is always the same."""

    fingerprint = "toy/64"
    dimension = DIMENSION
    releases_gil = True

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Rounded as a store keeps them, so that stored vectors are equal to these.
        rows = np.array([_vector(text) for text in texts], np.float16).reshape(-1, DIMENSION)
        return rows.astype(np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        words = [text.replace(MENTION, "mention").split() for text in texts]
        return [
            TokenStates(
                self.encode(split),
                tuple(place for place, word in enumerate(split) if word == "mention"),
            )
            for split in words
        ]


def toy_store(
    path: StorePlace, encoder: Encoder | None = None, *, create: bool = True, **options: Any
) -> MemoryStore:
    """A store for the vectors of an encoder, the toy one or another."""
    encoder = encoder or ToyEncoder()
    return MemoryStore(
        path,
        fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
        create=create,
        **options,
    )


def toy_memory(
    path: StorePlace,
    config: Config | None = None,
    encoder: Encoder | None = None,
    *,
    kind: type[Engine] = Engine,
    **options: Any,
) -> Engine:
    """A memory with the toy encoder, or another; options are those of the store."""
    encoder = encoder or ToyEncoder()
    store = toy_store(path, encoder, **options)
    return kind(store, encoder, config or Config(), answerer="untrained", reader="sentences")


@cache
def _of_word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
    return np.random.default_rng(seed).normal(size=DIMENSION)


def _vector(text: str) -> NDArray[np.float32]:
    total = np.full(DIMENSION, 1e-3)
    for word in re.findall(r"\w+", text.casefold()):
        total += _of_word(word)
    vector: NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
    return vector


def passage(
    text: str,
    title: str = "",
    about: Sequence[str] = (),
    mentions: Sequence[str] = (),
    start: int = 0,
) -> NewSlot:
    return NewSlot(
        "passage", title, text, start, start + len(text), f"{title}\n{text}",
        tuple(about), tuple(mentions),
    )  # fmt: skip


def told(text: str, about: str, at: float) -> NewSlot:
    return NewSlot(
        "passage", about, text, 0, len(text), text, (about,), relation=f"X {text}", valid_from=at
    )


def fact(subject: str, relation: str, value: str) -> NewSlot:
    text = f"{subject}\t{relation}\t{value}"
    return NewSlot(
        "fact", subject, text, 0, len(text), relation, (subject.casefold(),), (value.casefold(),),
        relation, value,
    )  # fmt: skip


def source(
    name: str,
    *slots: NewSlot,
    namespace: str = "",
    origin: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> NewSource:
    digest = hashlib.blake2b(repr((slots, metadata)).encode(), digest_size=16).digest()
    return NewSource(name, digest, slots, namespace, origin=origin, metadata=metadata or {})
