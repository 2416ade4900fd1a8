"""Span readers by name or folder, loaded when they are needed."""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memnet.checkpoints.files import SHIPPED, load_checkpoint, save_checkpoint
from memnet.encoders.onnx_model import Precision, cached_model, onnx_precision
from memnet.encoders.weights import checked_folder, load_tokenizer
from memnet.errors import MemnetError, ModelError
from memnet.reader.confidence import FEATURES, Calibration
from memnet.reader.onnx import OnnxSpanNetwork, span_model
from memnet.reader.packing import Packer
from memnet.reader.spans import ExtractiveReader, Reader
from memnet.reader.weights import READER, checked_reader, load_weights

SPANS = "spans"
"""Name of the shipped reader of short answers."""
SENTENCES = "sentences"
"""Name of the reader without weights, which answers with whole sentences."""
CONFIDENCE = "confidence"
"""Name of the calibration's checkpoint within the same folder as the reader's."""


def _reader_folder(name: str | os.PathLike[str]) -> Path | None:
    """The folder of a reader of this project; None for another, or where there are no weights.

    Without the shipped weights, which an installation may leave out, sentences are the answers.
    """
    folder = SHIPPED / SPANS if str(name) == SPANS else Path(name)
    return folder if (folder / f"{READER}.json").is_file() else None


def copy_reader(folder: Path, out: Path) -> None:
    """Keep the reader of a folder in another one too, as it is; nothing if it is the same folder.

    Raises:
        ModelError: ``folder`` holds no whole reader, or ``out`` can't be written.
    """
    if folder.resolve() != out.resolve():
        tensors, description = load_checkpoint(folder, READER)
        save_checkpoint(out, READER, tensors, description)


def load_reader(
    folder: Path,
    longest: int,
    threads: int = 1,
    device: str = "cpu",
    precision: Precision | None = None,
) -> ExtractiveReader:
    """A reader as it was saved, ready to read.

    Args:
        folder: of the reader.
        longest: most tokens to read together.
        threads: processor cores to use.
        device: of torch, that is there.
        precision: of ONNX Runtime, on the processor; None for torch.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
        DependencyError: ONNX Runtime is wanted and not installed.
    """
    packer = Packer(load_tokenizer(checked_folder()), longest)
    if precision is not None:
        return ExtractiveReader(OnnxSpanNetwork(_model(folder, precision)), packer, threads)
    from memnet.reader.torch_reader import reading_network

    return ExtractiveReader(reading_network(folder, device), packer, threads)


def _model(folder: Path, precision: Precision) -> bytes:
    """The ONNX model of a reader; one in int8 is cached."""

    def build() -> bytes:
        return span_model(load_weights(folder), precision)

    if precision == "float32":
        return build()
    _, description = checked_reader(folder)
    return cached_model(READER, description["sha256"], build)


class LoadedReader(NamedTuple):
    """A reader, with what makes its confidence a probability if it has been calibrated."""

    reader: Reader
    calibration: Calibration | None


class LazyReader:
    """A reader, loaded when it is first needed. Thread-safe.

    A model of another library is loaded at once: only that says whether there is one of its name.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        device: str = "cpu",
        eight_bits: bool | None = None,
    ) -> None:
        """Find the reader.

        Args:
            name: "sentences" for none, "spans", a folder that ``memnet train reader`` made, or
                the name or folder of an extractive model of the transformers library.
            device: of torch, that is there.
            eight_bits: whether ONNX Runtime reads in int8, on the processor; None for where it is
                installed and the device is the processor.

        Raises:
            ModelError: there is no such reader.
            DependencyError: a named model's library is not installed.
        """
        self._device = device
        self._precision: Precision | None = onnx_precision(eight_bits, device)
        self.folder = _reader_folder(name)
        self._guard = threading.Lock()
        self._loaded: LoadedReader | None = None
        if self.folder is None and str(name) not in (SPANS, SENTENCES):
            from memnet.reader.transformers import NamedReader

            self._loaded = LoadedReader(NamedReader(name, device), None)

    def load(self, longest: int, threads: int = 1) -> LoadedReader | None:
        """The reader; None where sentences are to be the answers.

        Args:
            longest: most tokens to read together.
            threads: processor cores to use.

        Raises:
            ModelError: its weights are missing or damaged, or go with another encoder.
            EncoderError: the encoder's package is missing or damaged.
        """
        with self._guard:
            if self._loaded is None and self.folder is not None:
                calibration = load_calibration(self.folder)
                reader = load_reader(self.folder, longest, threads, self._device, self._precision)
                self._loaded = LoadedReader(reader, calibration)
            return self._loaded

    def load_early(self, longest: int, threads: int = 1) -> None:
        """Start loading on another thread; what is wrong is said when the reader is needed."""

        def load() -> None:
            with suppress(MemnetError):
                self.load(longest, threads)

        threading.Thread(target=load).start()


def save_calibration(folder: Path, calibration: Calibration, notes: Mapping[str, Any]) -> None:
    """Keep a calibration beside the reader it was made for.

    Raises:
        ModelError: the folder can't be written.
    """
    weights = np.array(calibration.weights, np.float64)
    save_checkpoint(folder, CONFIDENCE, {"weights": weights}, {"trained": dict(notes)})


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a folder's reader, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (folder / f"{CONFIDENCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, CONFIDENCE)
    weights = tensors.get("weights", np.zeros(0))
    if weights.shape != (FEATURES,) or not bool(np.isfinite(weights).all()):
        raise ModelError(
            f"the calibration in {folder} has weights of shape {weights.shape}, expected "
            f"finite ones of shape ({FEATURES},); delete its {CONFIDENCE}.json and make it again "
            "with 'memnet train confidence'"
        )
    return Calibration(weights.tolist())
