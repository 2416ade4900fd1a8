"""The span reader's network in eight bits, where ONNX Runtime is installed."""

import numpy as np
import torch
from torch import Tensor

from memnet.encoders.eight_bit import session_of
from memnet.encoders.network import published_tensors
from memnet.encoders.weights import checked_folder
from memnet.readers.span_network import SpanNetwork, SpanScores, span_scores

_POSITIONS = 512


class EightBitSpanNetwork:
    """``SpanNetwork`` for reading only, in eight bits. Thread-safe.

    Each call runs on the thread that makes it, in six tenths of the time that torch's eight-bit
    layers take.
    """

    def __init__(self, model: bytes) -> None:
        """Load an ONNX model that ``span_model`` made.

        Raises:
            DependencyError: ONNX Runtime is not installed.
        """
        self._session = session_of(model)

    def __call__(self, token_ids: Tensor, segments: Tensor, allowed: Tensor) -> SpanScores:
        """Read, as ``SpanNetwork.forward`` does without a mask."""
        given = {"ids": token_ids.numpy(), "segments": segments.numpy()}
        pointers, kinds = map(torch.from_numpy, self._session.run(["pointers", "kinds"], given))
        return span_scores(pointers, kinds, allowed)


def span_model(network: SpanNetwork) -> bytes:
    """A reader's network as an ONNX model.

    It takes ids and segments [B, T] int64, no padding, and gives pointers [B, T, 2] and kinds
    [B, 4] float32, both logits. The Transformer is as in ``eight_bit_graph``.

    Args:
        network: trained.
    """
    from memnet.encoders.eight_bit_graph import Graph

    weights = published_tensors(network.encoder, checked_folder() / "model.safetensors")
    graph = Graph({name: tensor.numpy() for name, tensor in weights.items()})
    tokens = graph.tokens(_POSITIONS, "segments")
    first = graph.add("Gather", tokens, graph.constant("first", np.int64(0)), axis=1)
    for name, states, layer in (
        ("pointers", tokens, network.pointers), ("kinds", first, network.kinds),
    ):  # fmt: skip
        weight = graph.constant(f"{name}.weight", layer.weight.detach().numpy().T)
        bias = graph.constant(f"{name}.bias", layer.bias.detach().numpy())
        graph.add("Add", graph.add("MatMul", states, weight), bias, result=name)
    return graph.serialised(
        {"ids": ["B", "T"], "segments": ["B", "T"]},
        {"pointers": ["B", "T", 2], "kinds": ["B", 4]},
    )
