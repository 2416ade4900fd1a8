"""The shipped statement network, loaded when it is needed."""

import threading
from pathlib import Path

from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.reader.checkpoint import load_weights, onnx_heads, span_model
from memnet.reader.spans import Pack, Packer
from memnet.statements.reading import STATEMENTS, StatementReader, StatementScores, split_scores

MAX_TOKENS = 384  # Max. tokens of a question with statements


class LazyStatementReader:
    """A statement reader, loaded when it is first needed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: StatementReader | None = None

    def load(self) -> StatementReader | None:
        """The reader; None where it is left out. Errors as for ``load_statement_reader``."""
        folder = SHIPPED / STATEMENTS.name
        with self._lock:
            if self._loaded is None and (folder / f"{STATEMENTS.name}.json").is_file():
                self._loaded = load_statement_reader(folder)
            return self._loaded


def load_statement_reader(folder: Path) -> StatementReader:
    """A saved statement reader; arguments and errors as for ``reader.loading.load_reader``."""
    packer = Packer(load_tokenizer(), MAX_TOKENS)
    heads = onnx_heads(span_model(load_weights(folder, STATEMENTS)))

    def score(pack: Pack) -> StatementScores:
        token_ids, segments, _ = pack.inputs()
        tokens, text = heads(token_ids, segments)
        return split_scores(tokens, text)

    return StatementReader(score, packer)
