"""Span readers by name or folder, loaded when they are needed."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memnet.checkpoints import SHIPPED
from memnet.encoders.minilm import STATIC, shipped_token_table
from memnet.encoders.weights import load_tokenizer
from memnet.errors import MemnetError
from memnet.reader.checkpoint import (
    READER,
    NetworkKind,
    load_calibration,
    load_weights,
    onnx_scores,
    span_model,
)
from memnet.reader.confidence import Calibration
from memnet.reader.programs import PROGRAMS, ProgramModel, ProgramReader, load_programs
from memnet.reader.remote import RemoteReader, is_remote
from memnet.reader.spans import HEADS, ExtractiveReader, Packer, Reader
from memnet.runtime.device import CPU

SPANS = "spans"  # Name of the shipped reader of short answers
# What reads a quotation for yes or no, and for whether it gives an answer
VERDICTS = NetworkKind("verdicts", HEADS)
SENTENCES = "sentences"  # Name of the reader without weights, which answers with whole sentences


def load_reader(
    folder: Path,
    max_tokens: int,
    threads: int = 1,
    device: str = CPU,
    kind: NetworkKind = READER,
) -> ExtractiveReader:
    """A saved reader: on the processor in int8 by ONNX Runtime, on a GPU by torch.

    ModelError where the folder holds no whole reader or one of another encoder, EncoderError where
    torch needs the encoder's float32 weights and they are missing.
    """
    packer = Packer(load_tokenizer(), max_tokens)
    if device == CPU:
        model = span_model(load_weights(folder, kind))
        return ExtractiveReader(onnx_scores(model, threads), packer, threads)
    from memnet.reader.network import SpanNetwork, load_network, score_packs

    network = load_network(folder, kind, SpanNetwork).eval().requires_grad_(False).to(device)
    return ExtractiveReader(score_packs(network), packer, threads)


class LoadedReader(NamedTuple):
    """A reader, with what makes its confidence a probability if it has been calibrated."""

    reader: Reader | None  # None where whole sentences are the answers
    calibration: Calibration | None = None


class LazyReader:
    """A reader, loaded when it is first needed. Thread-safe.

    A model of another library is loaded at once: only that says whether there is one of its name.
    """

    def __init__(
        self,
        name: str | os.PathLike[str] | Reader,
        device: str = CPU,
        max_tokens: int = 384,
        threads: int = 1,
    ) -> None:
        """Find the reader.

        Args:
            name: "sentences" for none, "spans", a folder that ``memnet train reader`` made (yes or
                no is then read by the shipped network for that), the
                name or folder of an extractive model of the transformers library, or
                "openai:URL#MODEL" for a model on a server; or a reader.
            device: of torch, that is there.
            max_tokens: of a question with the passages that are read at once.
            threads: that read, of a reader that memnet trained.

        Raises:
            ModelError: there is no such reader.
            InputError: the name of a model on a server is incomplete.
            DependencyError: a named model's library is not installed.
        """
        self._settings = max_tokens, threads, device
        self._lock = threading.Lock()
        self._loaded: LoadedReader | None = None
        self._shipped: dict[str, Reader] = {}  # Loaded networks beside it, by their folders
        self._programs: ProgramReader | None = None
        # Of a reader that memnet trained; None for another. Without the shipped weights, which an
        # installation may leave out, whole sentences are the answers.
        self.folder: Path | None = None
        if not isinstance(name, (str, os.PathLike)):
            self._loaded = LoadedReader(name)
            return
        if is_remote(name):
            self._loaded = LoadedReader(RemoteReader(str(name)))
            return
        folder = SHIPPED / SPANS if str(name) == SPANS else Path(name)
        if (folder / f"{READER.name}.json").is_file():
            self.folder = folder
        if self.folder is None and str(name) not in (SPANS, SENTENCES):
            from memnet.reader.transformers import NamedReader

            self._loaded = LoadedReader(NamedReader(name, device))

    def load(self) -> LoadedReader:
        """The reader; errors as ``load_reader``."""
        with self._lock:
            if self._loaded is None:
                loaded = LoadedReader(None)
                if self.folder is not None:
                    calibration = load_calibration(self.folder)
                    loaded = LoadedReader(load_reader(self.folder, *self._settings), calibration)
                self._loaded = loaded
            return self._loaded

    def load_verdicts(self) -> Reader | None:
        """What reads a quotation for yes or no, or an answer; as ``_beside``."""
        return self._beside(VERDICTS.name, VERDICTS)

    def load_programs(self) -> ProgramReader | None:
        """What says which program over a table is meant; None where it is left out.

        Errors as ``load_reader``.
        """
        folder, table = SHIPPED / PROGRAMS, SHIPPED / STATIC / f"{STATIC}.json"
        installed = table.is_file() and (folder / f"{PROGRAMS}.json").is_file()
        if self.folder is None or not installed:
            return None
        reader = self._beside(PROGRAMS)
        with self._lock:
            if self._programs is None and reader is not None:
                vectors = shipped_token_table()
                model = ProgramModel(load_programs(folder, vectors.width), vectors)
                self._programs = ProgramReader(model, reader)
            return self._programs

    def _beside(self, name: str, kind: NetworkKind = READER) -> Reader | None:
        """A shipped network beside a reader that memnet trained; None where it is left out.

        Another reader does its work itself. Errors as ``load_reader``.
        """
        if self.folder is None:
            return self.load().reader
        folder = SHIPPED / name
        with self._lock:
            if name not in self._shipped and (folder / f"{kind.name}.json").is_file():
                self._shipped[name] = load_reader(folder, *self._settings, kind)
            return self._shipped.get(name)

    def load_early(self) -> None:
        """Start loading on another thread; an error is raised when the reader is needed."""

        def load() -> None:
            with suppress(MemnetError):
                self.load()
                self.load_verdicts()

        threading.Thread(target=load).start()
