"""Span readers as folders: eight bits a weight, and the embeddings from the encoder's package."""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from memnet.encoders.eight_bit import kept_model, onnx_wanted
from memnet.encoders.network import WithoutInitialisation, bert_tensors
from memnet.encoders.packed import pack_linear_layers
from memnet.encoders.weights import WEIGHTS_SHA256, checked_folder, load_tokenizer
from memnet.errors import MemnetError, ModelError
from memnet.models.checkpoint import fill, load_checkpoint, save_checkpoint
from memnet.readers.confidence import FEATURES, Calibration
from memnet.readers.eight_bit import EightBitSpanNetwork, span_model
from memnet.readers.extractive import ExtractiveReader, Reader
from memnet.readers.named import NamedReader
from memnet.readers.packs import Packer
from memnet.readers.span_network import SpanNetwork

SPANS = "spans"
"""Name of the shipped reader of short answers."""
SENTENCES = "sentences"
"""Name of the reader without weights, which answers with whole sentences."""
_SHIPPED = Path(__file__).with_name("shipped")
READER = "reader"
"""Name of the checkpoint within its folder."""
CONFIDENCE = "confidence"
"""Name of the calibration's checkpoint within the same folder."""
_EMBEDDINGS = ("encoder.words.weight", "encoder.positions.weight")
"""Tensors that are not trained: they are those of the encoder's package."""
_SCALE = ".scale"
_STEPS = 127


def _reader_folder(name: str | os.PathLike[str]) -> Path | None:
    """The folder of a reader of this project; None for another, or where there are no weights.

    Without the shipped weights, which an installation may leave out, sentences are the answers.
    """
    folder = _SHIPPED / SPANS if str(name) == SPANS else Path(name)
    return folder if (folder / f"{READER}.json").is_file() else None


def save_reader(folder: Path, network: SpanNetwork, notes: Mapping[str, Any]) -> None:
    """Keep a reader, each row of a matrix as eight-bit numbers with one scale.

    Args:
        folder: made if it is not there.
        network: trained.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    tensors = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in network.state_dict().items()
        if name not in _EMBEDDINGS
    }
    description = {"kind": READER, "encoder": WEIGHTS_SHA256, "trained": dict(notes)}
    save_checkpoint(folder, READER, _quantised(tensors), description)


def copy_reader(folder: Path, out: Path) -> None:
    """Keep the reader of a folder in another one too, as it is; nothing if it is the same folder.

    Raises:
        ModelError: ``folder`` holds no whole reader, or ``out`` can't be written.
    """
    if folder.resolve() != out.resolve():
        tensors, description = load_checkpoint(folder, READER)
        save_checkpoint(out, READER, tensors, description)


def load_span_network(folder: Path, dropout: float = 0.0) -> SpanNetwork:
    """A reader's network as it was saved.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
    """
    tensors, _ = _checked_reader(folder)
    with WithoutInitialisation():
        network = SpanNetwork(dropout)
    fill(network, _restored(tensors, folder), folder, checked=_embeddings())
    return network


def _checked_reader(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and description of a reader of this encoder."""
    tensors, description = load_checkpoint(folder, READER)
    if description.get("kind") != READER or description.get("encoder") != WEIGHTS_SHA256:
        raise ModelError(
            f"{folder} holds a reader of the encoder {str(description.get('encoder'))[:12]}, "
            f"expected one of {WEIGHTS_SHA256[:12]}; train it again with this version"
        )
    return tensors, description


def load_reader(
    folder: Path,
    longest: int,
    threads: int = 1,
    device: str = "cpu",
    onnx: bool = False,
) -> ExtractiveReader:
    """A reader as it was saved, ready to read; in eight bits where that is on the processor.

    Args:
        folder: of the reader.
        longest: most tokens to read together.
        threads: processor cores to use.
        device: of torch, that is there.
        onnx: whether ONNX Runtime calculates, on the processor, rather than torch.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
        DependencyError: ``onnx`` is wanted and not installed.
    """
    packer = Packer(load_tokenizer(checked_folder()), longest)
    if onnx:
        _, description = _checked_reader(folder)
        model = kept_model(
            READER, description["sha256"], lambda: span_model(load_span_network(folder))
        )
        return ExtractiveReader(EightBitSpanNetwork(model), packer, threads)
    network = load_span_network(folder).eval().requires_grad_(False).to(device)
    pack_linear_layers(network.encoder, eight_bits=True)
    return ExtractiveReader(network, packer, threads, device)


class LoadedReader(NamedTuple):
    """A reader, with what makes its confidence a probability if it has been calibrated."""

    reader: Reader
    calibration: Calibration | None


class LazyReader:
    """A reader, loaded when it is first needed. Thread-safe."""

    def __init__(
        self,
        name: str | os.PathLike[str],
        device: str = "cpu",
        eight_bits: bool | None = None,
    ) -> None:
        """Remember the reader.

        Args:
            name: "sentences" for none, "spans", a folder that ``memnet train reader`` made, or
                the name or folder of an extractive model of the transformers library.
            device: of torch, that is there.
            eight_bits: whether ONNX Runtime reads, on the processor; None for where it is
                installed and the device is the processor.
        """
        self._device = device
        self._onnx = onnx_wanted(eight_bits, device)
        self.folder = _reader_folder(name)
        self._name = None if self.folder or str(name) in (SPANS, SENTENCES) else os.fspath(name)
        self._guard = threading.Lock()
        self._loaded: LoadedReader | None = None

    def load(self, longest: int, threads: int = 1) -> LoadedReader | None:
        """The reader; None where sentences are to be the answers.

        Args:
            longest: most tokens to read together.
            threads: processor cores to use.

        Raises:
            ModelError: its weights are missing or damaged, or go with another encoder.
            EncoderError: the encoder's package is missing or damaged.
            DependencyError: a named model's library is not installed.
        """
        with self._guard:
            if self._loaded is None:
                if self.folder is not None:
                    calibration = load_calibration(self.folder)
                    reader = load_reader(self.folder, longest, threads, self._device, self._onnx)
                    self._loaded = LoadedReader(reader, calibration)
                elif self._name is not None:
                    self._loaded = LoadedReader(NamedReader(self._name, self._device), None)
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
    weights = torch.tensor(calibration.weights, dtype=torch.float64)
    save_checkpoint(folder, CONFIDENCE, {"weights": weights}, {"trained": dict(notes)})


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a folder's reader, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (folder / f"{CONFIDENCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, CONFIDENCE)
    weights = tensors.get("weights", torch.zeros(0))
    if weights.shape != (FEATURES,) or not bool(torch.isfinite(weights).all()):
        raise ModelError(
            f"the calibration in {folder} has weights of shape {tuple(weights.shape)}, expected "
            f"finite ones of shape ({FEATURES},); make it again with 'memnet train confidence'"
        )
    return Calibration(weights.tolist())


def encoder_network(dropout: float) -> SpanNetwork:
    """A reader that has not learned to read: the encoder's layers with new pointers."""
    network = SpanNetwork(dropout)
    network.encoder.load_state_dict(bert_tensors(checked_folder() / "model.safetensors"))
    return network


def _embeddings() -> dict[str, Tensor]:
    tensors = bert_tensors(checked_folder() / "model.safetensors")
    return {name: tensors[name.removeprefix("encoder.")] for name in _EMBEDDINGS}


def _quantised(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8 with a float32 scale for each row; all else as it is."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dim() < 2:
            result[name] = tensor
            continue
        scale = tensor.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / _STEPS
        result[name] = torch.round(tensor / scale).to(torch.int8)
        result[name + _SCALE] = scale
    return result


def _restored(tensors: Mapping[str, Tensor], folder: Path) -> dict[str, Tensor]:
    for name, tensor in tensors.items():
        scale = tensors.get(name + _SCALE)
        if scale is not None and (tensor.dim() < 1 or scale.shape != (len(tensor), 1)):
            raise ModelError(
                f"the reader in {folder} is damaged: tensor {name} has shape {tuple(tensor.shape)} "
                f"and scales of shape {tuple(scale.shape)}; restore it or train it again"
            )
    return {
        name: tensor * tensors[name + _SCALE] if name + _SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(_SCALE)
    }
