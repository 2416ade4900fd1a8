"""BERT-style networks as ONNX graphs that calculate in eight bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_POSITIONS = 256
_STEPS = 127
_SMALLEST = np.float32(1e-12)
_EPSILON = 1e-12
_ZERO = 128
"""Stands for 0 among the eight-bit inputs of a product, which have no sign."""
Shape = list[str | int]
_FUSED = "com.microsoft"
"""Operators of ONNX Runtime that do several things at once."""


def eight_bit_graph(weights: Path) -> bytes:
    """The encoder as an ONNX model: ids [B, T] int64, no padding -> vectors [B, 384] float32.

    Weights are eight-bit whole numbers with a scale for each row, found here. The inputs of a
    product have a scale for each token, found as they come: a text's vector does not depend on what
    else is in its batch. Norms, softmax and the attention itself stay in float32.

    Args:
        weights: a safetensors file with BERT's published names.

    Source: Jacob et al. 2018, section 2.1; Dettmers et al. 2022, section 3.1 (a scale for each row
    of the inputs and each column of the weights).
    """
    graph = Graph(load_file(weights))
    states = graph.tokens(_POSITIONS)
    mean = graph.add("ReduceMean", states, graph.constant("axis", np.array([1])), keepdims=0)
    graph.add("LpNormalization", mean, axis=-1, p=2, result="vectors")
    return graph.serialised({"ids": ["B", "T"]}, {"vectors": ["B", _WIDTH]})


class Graph:
    """Nodes and constants of a network, as they come together."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Start with the weights alone.

        Args:
            weights: with BERT's published names; others may be among them.
        """
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def add(
        self, kind: str, *inputs: str, fused: bool = False, result: str = "", **more: Any
    ) -> str:
        """A node; returns the name of its result."""
        result = result or f"value_{len(self._nodes)}"
        domain = _FUSED if fused else ""
        self._nodes.append(helper.make_node(kind, inputs, [result], domain=domain, **more))
        return result

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """A constant, once for each name; returns the name."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def weight(self, name: str) -> str:
        """A tensor of the published weights as a constant."""
        return self.constant(name, self._weights[name])

    def tokens(self, positions: int, segments: str = "") -> str:
        """The encoded tokens [B, T, 384] of an input "ids" [B, T] int64.

        Args:
            positions: most tokens of a text.
            segments: name of an input [B, T] int64, 0 or 1; without one all are 0.
        """
        states = self.embedded(positions, segments)
        for layer in range(_LAYERS):
            states = self.layer(states, f"encoder.layer.{layer}.")
        return states

    def embedded(self, positions: int, segments: str) -> str:
        """Embeddings of words, from eight bits, of places and segments; normed: [B, T, 384]."""
        name = "embeddings.word_embeddings.weight"
        whole, scale = _rounded(self._weights[name])
        words = self.add("Gather", self.constant(name, whole), "ids")
        scales = self.add("Gather", self.constant(f"{name}.scale", scale[:, None]), "ids")
        read = self.add("Mul", self.add("Cast", words, to=TensorProto.FLOAT), scales)
        kinds = "embeddings.token_type_embeddings.weight"
        places = self._weights["embeddings.position_embeddings.weight"][:positions]
        if segments:
            read = self.add("Add", read, self.add("Gather", self.weight(kinds), segments))
        else:
            places = places + self._weights[kinds][0]
        length = self.add("Shape", "ids", start=1, end=2)
        start = self.constant("start", np.array([0]))
        placed = self.add("Slice", self.constant("places", places), start, length)
        return self.norm(self.add("Add", read, placed), "embeddings.LayerNorm.")

    def layer(self, states: str, name: str) -> str:
        """One Transformer layer over [B, T, 384] states."""
        own = f"{name}attention.self."
        parts = ("query", "key", "value")
        given = self.quantised(states)
        projected = [self.product(given, f"{own}{part}.weight") for part in parts]
        biases = np.concatenate([self._weights[f"{own}{part}.bias"] for part in parts])
        bias = self.constant(f"{own}bias", biases)
        read = self.add("MultiHeadAttention", *projected, bias, fused=True, num_heads=_HEADS)
        states = self.normed(read, states, f"{name}attention.output.")
        expanded = self.product(self.quantised(states), f"{name}intermediate.dense.weight")
        bias = self.weight(f"{name}intermediate.dense.bias")
        hidden = self.add("BiasGelu", expanded, bias, fused=True)
        return self.normed(hidden, states, f"{name}output.")

    def normed(self, values: str, states: str, name: str) -> str:
        """A linear layer, added to the states and normed.

        In single steps: ONNX Runtime's operator that does all of them takes several times as long.
        """
        product = self.product(self.quantised(values), f"{name}dense.weight")
        biased = self.add("Add", product, self.weight(f"{name}dense.bias"))
        return self.norm(self.add("Add", biased, states), f"{name}LayerNorm.")

    def norm(self, values: str, name: str) -> str:
        """Values with mean 0 and deviation 1 over the last axis, scaled and moved."""
        rest = (self.weight(f"{name}weight"), self.weight(f"{name}bias"))
        return self.add("LayerNormalization", values, *rest, axis=-1, epsilon=_EPSILON)

    def quantised(self, values: str) -> tuple[str, str]:
        """[B, T, W] values as whole numbers around ``_ZERO``, and their scales [B, T, 1]."""
        last = self.constant("last", np.array([-1]))
        largest = self.add("ReduceMax", self.add("Abs", values), last, keepdims=1)
        step = self.constant("step", np.float32(1 / _STEPS))
        scale = self.add(
            "Max", self.add("Mul", largest, step), self.constant("smallest", _SMALLEST)
        )
        zero = self.constant("zero", np.uint8(_ZERO))
        one = self.constant("one", np.float32(1))
        return self.add("QuantizeLinear", self.add("Div", values, scale), one, zero), scale

    def product(self, given: tuple[str, str], name: str) -> str:
        """Quantised values [B, T, W] times a weight of V rows: [B, T, V] float32."""
        values, scales = given
        whole, scale = _rounded(self._weights[name])
        result = self.add(
            "MatMulIntegerToFloat",
            values,
            self.constant(name, whole.T),
            self.constant("one", np.float32(1)),
            self.constant(f"{name}.scale", scale),
            self.constant("zero", np.uint8(_ZERO)),
            self.constant(f"{name}.zero", np.zeros(len(whole), np.int8)),
            fused=True,
        )
        return self.add("Mul", result, scales)

    def serialised(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """The whole model, from int64 inputs to float32 outputs of the given shapes."""
        given, found = (
            [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]
            for shapes, kind in ((inputs, TensorProto.INT64), (outputs, TensorProto.FLOAT))
        )
        graph = helper.make_graph(
            self._nodes, "network", given, found, list(self._constants.values())
        )
        versions = [helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=versions, ir_version=9)
        data: bytes = model.SerializeToString()
        return data


def _rounded(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A weight [V, W] as whole numbers, and the scale of each row [V]."""
    scale = np.maximum(np.abs(weight).max(axis=1), _SMALLEST) / _STEPS
    return np.round(weight / scale[:, None]).astype(np.int8), scale.astype(np.float32)
