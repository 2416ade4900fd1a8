"""The span reader's network in eight bits, where ONNX Runtime is installed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.bert_names import own_name
from memnet.encoders.eight_bit import session_of
from memnet.encoders.weights import checked_folder
from memnet.readers.span_scores import NEVER, SpanScores

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

    def __call__(
        self,
        token_ids: NDArray[np.int64],
        segments: NDArray[np.int64],
        allowed: NDArray[np.bool_],
    ) -> SpanScores:
        """Read, as ``SpanNetwork.forward`` does without a mask; arguments are [B, T]."""
        given = {"ids": token_ids, "segments": segments}
        pointers, kinds = self._session.run(["pointers", "kinds"], given)
        pointed = _log_softmax(np.where(allowed[:, :, None], pointers, np.float32(NEVER)), 1)
        return SpanScores(pointed[:, :, 0], pointed[:, :, 1], _log_softmax(kinds, 1))


def _log_softmax(logits: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    lower: NDArray[np.float32] = logits - logits.max(axis=axis, keepdims=True)
    total: NDArray[np.float32] = np.exp(lower).sum(axis=axis, keepdims=True)
    return lower - np.log(total)


def span_model(weights: Mapping[str, NDArray[Any]]) -> bytes:
    """A reader's network as an ONNX model.

    It takes ids and segments [B, T] int64, no padding, and gives pointers [B, T, 2] and kinds
    [B, 4] float32, both logits. The Transformer is as in ``eight_bit_graph``.

    Args:
        weights: of a trained ``SpanNetwork`` by name, float32; those that are missing are the
            encoder's.
    """
    from safetensors.numpy import load_file

    from memnet.encoders.eight_bit_graph import Graph

    published = load_file(checked_folder() / "model.safetensors")
    own = {name: weights.get(f"encoder.{own_name(name)}", published[name]) for name in published}
    graph = Graph(own)
    tokens = graph.tokens(_POSITIONS, "segments")
    first = graph.add("Gather", tokens, graph.constant("first", np.int64(0)), axis=1)
    for name, states in (("pointers", tokens), ("kinds", first)):
        weight = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
        bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
        graph.add("Add", graph.add("MatMul", states, weight), bias, result=name)
    return graph.serialised(
        {"ids": ["B", "T"], "segments": ["B", "T"]},
        {"pointers": ["B", "T", 2], "kinds": ["B", 4]},
    )
