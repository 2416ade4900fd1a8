"""The shipped statement network, loaded when it is needed."""

import threading
from pathlib import Path

from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.reader.checkpoint import HeadsOnnx, load_weights, span_model
from memnet.reader.spans import Pack, Packer
from memnet.statements.reading import STATEMENTS, StatementReader, StatementScores, split_scores

MAX_TOKENS = 384  # Max. tokens of a question with statements


class LazyStatementReader:
    """A statement reader, loaded when it is first needed. Thread-safe."""

    def __init__(self, folder: Path | None = None) -> None:
        """Find the network; without a folder the shipped one, which may be left out."""
        self._folder = folder or SHIPPED / STATEMENTS.name
        self._lock = threading.Lock()
        self._loaded: StatementReader | None = None

    @property
    def is_there(self) -> bool:
        """Whether there is such a network."""
        return (self._folder / f"{STATEMENTS.name}.json").is_file()

    def load(self) -> StatementReader | None:
        """The reader; None where there is none. Errors as for ``load_statement_reader``."""
        with self._lock:
            if self._loaded is None and self.is_there:
                self._loaded = load_statement_reader(self._folder)
            return self._loaded


def load_statement_reader(folder: Path) -> StatementReader:
    """A saved statement reader; arguments and errors as for ``reader.loading.load_reader``."""
    packer = Packer(load_tokenizer(), MAX_TOKENS)
    session = HeadsOnnx(span_model(load_weights(folder, STATEMENTS)))

    def score(pack: Pack) -> StatementScores:
        token_ids, segments, _ = pack.inputs()
        tokens, text = session(token_ids, segments)
        return split_scores(tokens, text)

    return StatementReader(score, packer)
