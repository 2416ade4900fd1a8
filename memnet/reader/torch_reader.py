"""The span reader's network of torch: made, kept and loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from memnet.checkpoints.modules import arrays_of, tensors_of
from memnet.encoders.bert import WithoutInitialisation, bert_tensors
from memnet.encoders.weights import checked_folder
from memnet.reader.network import SpanNetwork, on_arrays
from memnet.reader.span_scores import ReadArrays
from memnet.reader.weights import EMBEDDINGS, load_weights, save_weights


def encoder_network(dropout: float) -> SpanNetwork:
    """A reader that has not learned to read: the encoder's layers with new pointers."""
    network = SpanNetwork(dropout)
    network.encoder.load_state_dict(bert_tensors(checked_folder() / "model.safetensors"))
    return network


def save_reader(folder: Path, network: SpanNetwork, notes: Mapping[str, Any]) -> None:
    """Keep a reader, each row of a matrix as eight-bit numbers with one scale.

    Args:
        folder: made if it is not there.
        network: trained.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    save_weights(folder, arrays_of(network.state_dict()), notes)


def load_span_network(folder: Path, dropout: float = 0.0) -> SpanNetwork:
    """A reader's network as it was saved.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
    """
    weights = tensors_of(load_weights(folder))
    with WithoutInitialisation():
        network = SpanNetwork(dropout)
    network.load_state_dict({**weights, **_embeddings()}, assign=True)
    return network


def reading_network(folder: Path, device: str) -> ReadArrays:
    """A reader's network for reading only.

    Args:
        folder: of the reader.
        device: of torch, that is there.

    Raises:
        ModelError: the folder holds no whole reader, or one of another encoder.
        EncoderError: the encoder's package is missing or damaged.
    """
    network = load_span_network(folder).eval().requires_grad_(False).to(device)
    return on_arrays(network)


def _embeddings() -> dict[str, Tensor]:
    tensors = bert_tensors(checked_folder() / "model.safetensors")
    return {name: tensors[name.removeprefix("encoder.")] for name in EMBEDDINGS}
