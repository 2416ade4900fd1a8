"""Questions as people ask them, with documents that answer them, shipped with the package."""

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memnet.checkpoints import SHIPPED
from memnet.config import Config
from memnet.encoders import Encoder
from memnet.ingest.pipeline import Ingest
from memnet.ingest.vectors import PassageEncoder
from memnet.learning import TrainableMemory
from memnet.learning.evaluation import Question
from memnet.storage import MemoryStore
from memnet.types import Document

# Excerpts of three collections in the public domain, by ``benchmarks.questions.make_shipped``.
FILE = SHIPPED / "asked" / "asked.jsonl.gz"


class _Memory(NamedTuple):
    store: MemoryStore
    encoder: Encoder
    config: Config


@contextmanager
def people_questions(
    memory: TrainableMemory,
) -> Iterator[tuple[TrainableMemory, list[Question]]]:
    """A memory of the shipped documents, with encoder and settings of another, and questions."""
    lines = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(
            Path(folder, "store"),
            fingerprint=memory.encoder.fingerprint,
            dimension=memory.encoder.dimension,
            create=True,
        )
        try:
            documents = [Document(id=one["id"], text=one["text"]) for one in lines]
            Ingest(store, memory.config, PassageEncoder(memory.encoder)).run(documents)
            asked = [Question(**question) for one in lines for question in one["questions"]]
            yield _Memory(store, memory.encoder, memory.config), asked
        finally:
            store.close()
