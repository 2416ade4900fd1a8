"""BERT-style networks as ONNX graphs, in float32 or with products in int8.

They are written without the package onnx, which takes 33 MB. Source: the numbers of fields and
types are those of onnx/onnx.proto, the encoding that of Protocol Buffers
(https://protobuf.dev/programming-guides/encoding).
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7  # Types of numbers
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.uint8): 2, np.dtype(np.int8): 3,
          np.dtype(np.int64): INT64}  # fmt: skip
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5  # How a field's value is written
_IR_VERSION = 9
Shape: TypeAlias = list[str | int]  # An axis of any length has a name
Attribute: TypeAlias = int | float


def node(
    kind: str, inputs: Iterable[str], output: str, domain: str, attributes: Mapping[str, Attribute]
) -> bytes:
    """A call of an operator of a domain, "" for ONNX's own."""
    described = []
    for name, value in attributes.items():
        if isinstance(value, float):
            number = _tag(2, _FIXED32) + struct.pack("<f", value) + _field(20, 1)
        else:
            number = _field(3, value) + _field(20, 2)
        described.append(_field(5, _field(1, name) + number))
    named = [_field(1, name) for name in inputs]
    return b"".join([*named, _field(2, output), _field(4, kind), *described, _field(7, domain)])


def constant(name: str, value: NDArray[Any]) -> bytes:
    """A tensor by its name."""
    axes = [_field(1, length) for length in value.shape]
    data = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return b"".join([*axes, _field(2, _TYPES[value.dtype]), _field(8, name), _field(9, data)])


def tensor_type(name: str, kind: int, shape: Shape) -> bytes:
    """Name, type and shape of an input or output."""
    axes = [_field(1, _field(2 if isinstance(axis, str) else 1, axis)) for axis in shape]
    typed = _field(1, kind) + _field(2, b"".join(axes))
    return _field(1, name) + _field(2, _field(1, typed))


def model(
    nodes: Iterable[bytes], constants: Iterable[bytes], inputs: Iterable[bytes],
    outputs: Iterable[bytes], versions: Mapping[str, int],
) -> bytes:  # fmt: skip
    """A whole model of nodes in their order; ``versions`` of the operators of each domain."""
    graph = [_field(2, "network")]
    for number, some in ((1, nodes), (5, constants), (11, inputs), (12, outputs)):
        for part in some:
            graph += [_tag(number, _LENGTH), _varint(len(part)), part]
    used = [_field(8, _field(1, domain) + _field(2, one)) for domain, one in versions.items()]
    size = sum(map(len, graph))
    # Weights are large: joined once.
    head = [_field(1, _IR_VERSION), *used, _tag(7, _LENGTH), _varint(size)]
    return b"".join([*head, *graph])


def onnx_session(model: bytes, threads: int = 1) -> Any:
    """An ONNX Runtime session of a model; ``threads`` share a call, the calling one among them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # A thread that spins while it waits takes the core from the calls of other threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _tag(number, _VARINT) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return b"".join([_tag(number, _LENGTH), _varint(len(data)), data])


def _tag(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; of a negative number the two's complement of 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


_HEADS = 12
_EPSILON = 1e-12
# SmoothQuant's migration strength: exponent of an input channel's range in its factor.
_ALPHA = 0.55
_MAX_EMBEDDING = 127  # Largest int8 of an embedding, which is looked up and not multiplied
# Largest int8 of a product's weight. x86 without VNNI multiplies u8 by s8 with VPMADDUBSW, which
# adds pairs of products in saturating int16: 2 * 255 * 64 = 32,640 is below 32,767, 2 * 255 * 127
# is not. So integer products are exact on every processor; what is float32 (scales, norms, softmax)
# may differ in the last digits.
_MAX_WEIGHT = 64
_MAX_INPUT = 127
_INPUT_ZERO_POINT = 128
_MIN_SCALE = np.float32(1e-12)
_MIN_RANGE = 1e-6
_FUSED = "com.microsoft"  # Domain of ONNX Runtime's fused operators
_RANGE_PREFIX = "range:"  # Names of outputs that give the ranges of a product's inputs
_WORDS = "embeddings.word_embeddings.weight"
_PARTS = ("query", "key", "value")
_SCALE, _INVERSE = ".scale", ".inverse"
DOWN, UP = ".down", ".up"  # Ends of the names of the two factors of a weight's low-rank addition
_VERSIONS = {"": 18, _FUSED: 1}
Weights = Mapping[str, NDArray[Any]]


class BertGraph:
    """Builds the ONNX graph of a BERT-style network with products in float32 or in int8.

    In int8 each row of a weight has a static scale, and each token of a product's inputs a dynamic
    one: so a text's vector does not depend on the rest of its batch. Channels of the inputs are
    divided, and those of the weights multiplied, by factors that balance their ranges. Norms,
    softmax and the attention itself stay in float32.

    Source: Devlin et al. 2019 (the network); Jacob et al. 2018, section 2.1 (quantisation);
    Dettmers et al. 2022, section 3.1 (scales by row and column); Xiao et al. 2023 (SmoothQuant),
    equation 4 (balanced ranges).
    """

    def __init__(
        self, weights: Weights, observe: bool = False, additions: Weights | None = None
    ) -> None:
        """Start an empty graph of tensors by BERT's published names.

        Products are int8 where ``quantised`` made the weights. ``observe`` makes the ranges of
        their inputs outputs of the graph: [W] absolute maximum of each channel. ``additions``
        gives some weights [V, W] the factors ``DOWN`` [R, W] and ``UP`` [V, R], float32, of what is
        added to them: UP DOWN, not rounded (Hu et al. 2022, section 4.1).
        """
        self._weights = weights
        self._additions = additions or {}
        self._observe = observe
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}
        self._observed: dict[str, Shape] = {}

    def add(
        self, kind: str, *inputs: str, fused: bool = False, result: str = "", **more: Attribute
    ) -> str:
        """Add a node; returns the name of its result."""
        result = result or f"value_{len(self._nodes)}"
        self._nodes.append(node(kind, inputs, result, _FUSED if fused else "", more))
        return result

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """Add a constant, once for each name; returns the name."""
        if name not in self._constants:
            self._constants[name] = constant(name, np.asarray(value))
        return name

    def weight(self, name: str) -> str:
        """Add a published tensor as a constant; returns its name."""
        return self.constant(name, self._weights[name])

    def tokens(self, positions: int, segments: str = "") -> str:
        """Add the whole network; returns the name of the token states [B, T, W] float32.

        ``positions`` is the most tokens of a text; ``segments`` names an input [B, T] int64 of 0
        and 1, without which all are 0.
        """
        states = self._embeddings(positions, segments)
        for number in range(sum(one.endswith("intermediate.dense.bias") for one in self._weights)):
            states = self._layer(states, f"encoder.layer.{number}.")
        return states

    def serialised(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """The model as bytes, from int64 inputs to float32 outputs of the given shapes."""
        given = (tensor_type(name, INT64, shape) for name, shape in inputs.items())
        results = {**outputs, **self._observed}.items()
        found = (tensor_type(name, FLOAT, shape) for name, shape in results)
        return model(self._nodes, self._constants.values(), given, found, _VERSIONS)

    def _embeddings(self, positions: int, segments: str) -> str:
        """Normed sum of the embeddings of words, positions and segments: [B, T, W]."""
        words = self._words()
        segment_name = "embeddings.token_type_embeddings.weight"
        table = self._weights["embeddings.position_embeddings.weight"][:positions]
        if segments:
            words = self.add("Add", words, self.add("Gather", self.weight(segment_name), segments))
        else:
            table = table + self._weights[segment_name][0]
        length = self.add("Shape", "ids", start=1, end=2)
        start = self.constant("start", np.array([0]))
        position = self.add("Slice", self.constant("positions", table), start, length)
        return self._norm(self.add("Add", words, position), "embeddings.LayerNorm.")

    def _words(self) -> str:
        """Word embeddings [B, T, W] of "ids"; kept as int8 where products are int8."""
        words = self.add("Gather", self.weight(_WORDS), "ids")
        if self._weights[_WORDS].dtype != np.int8:
            return words
        scales = self.add("Gather", self.weight(_WORDS + _SCALE), "ids")
        return self.add("Mul", self.add("Cast", words, to=FLOAT), scales)

    def _layer(self, states: str, name: str) -> str:
        """One Transformer layer over [B, T, W] states."""
        own = f"{name}attention.self."
        projected = self._products(states, [f"{own}{part}.weight" for part in _PARTS])
        biases = np.concatenate([self._weights[f"{own}{part}.bias"] for part in _PARTS])
        bias = self.constant(f"{own}bias", biases)
        read = self.add("MultiHeadAttention", *projected, bias, fused=True, num_heads=_HEADS)
        states = self._residual(read, states, f"{name}attention.output.")
        [expanded] = self._products(states, [f"{name}intermediate.dense.weight"])
        bias = self.weight(f"{name}intermediate.dense.bias")
        hidden = self.add("BiasGelu", expanded, bias, fused=True)
        return self._residual(hidden, states, f"{name}output.")

    def _residual(self, values: str, states: str, name: str) -> str:
        """A linear layer, added to the states and normed.

        In single steps: ONNX Runtime's SkipLayerNormalization takes several times as long.
        """
        [product] = self._products(values, [f"{name}dense.weight"])
        biased = self.add("Add", product, self.weight(f"{name}dense.bias"))
        return self._norm(self.add("Add", biased, states), f"{name}LayerNorm.")

    def _norm(self, values: str, name: str) -> str:
        gain, bias = self.weight(f"{name}weight"), self.weight(f"{name}bias")
        return self.add("LayerNormalization", values, gain, bias, axis=-1, epsilon=_EPSILON)

    def _products(self, values: str, names: list[str]) -> list[str]:
        """Values [B, T, W] times weights [V, W], each [B, T, V] float32."""
        first = names[0]
        if self._observe:
            axes = self.constant("batch_and_tokens", np.array([0, 1]))
            output = f"{_RANGE_PREFIX}{first}"
            self.add("ReduceMax", self.add("Abs", values), axes, keepdims=0, result=output)
            self._observed[output] = [self._weights[first].shape[1]]
        if self._weights[first].dtype != np.int8:
            products = [
                self.add("MatMul", values, self.constant(name, self._weights[name].T))
                for name in names
            ]
        else:
            balanced = self.add("Mul", values, self.weight(first + _INVERSE))
            rows, scales = self._quantised_rows(balanced)
            products = [self._int8_product(rows, scales, name) for name in names]
        return [
            self._with_addition(product, values, name)
            for product, name in zip(products, names, strict=True)
        ]

    def _with_addition(self, product: str, values: str, name: str) -> str:
        """A product, and what the low-rank addition to its weight gives for the same values."""
        if name + DOWN not in self._additions:
            return product
        for factor in (name + DOWN, name + UP):
            values = self.add("MatMul", values, self.constant(factor, self._additions[factor].T))
        return self.add("Add", product, values)

    def _quantised_rows(self, values: str) -> tuple[str, str]:
        """Values [B, T, W] as uint8 around ``_INPUT_ZERO_POINT``, and their scales [B, T, 1]."""
        last = self.constant("last", np.array([-1]))
        largest = self.add("ReduceMax", self.add("Abs", values), last, keepdims=1)
        step = self.constant("step", np.float32(1 / _MAX_INPUT))
        smallest = self.constant("smallest", _MIN_SCALE)
        scale = self.add("Max", self.add("Mul", largest, step), smallest)
        zero = self.constant("zero", np.uint8(_INPUT_ZERO_POINT))
        one = self.constant("one", np.float32(1))
        return self.add("QuantizeLinear", self.add("Div", values, scale), one, zero), scale

    def _int8_product(self, rows: str, scales: str, name: str) -> str:
        """Quantised rows times a quantised weight."""
        product = self.add(
            "MatMulIntegerToFloat",
            rows,
            self.weight(name),
            self.constant("one", np.float32(1)),
            self.weight(name + _SCALE),
            self.constant("zero", np.uint8(_INPUT_ZERO_POINT)),
            self.constant(f"{name}.zero", np.zeros(self._weights[name].shape[1], np.int8)),
            fused=True,
        )
        return self.add("Mul", product, scales)


def quantised(
    weights: Weights,
    build: Callable[[Weights, bool], bytes],
    batches: Iterable[Mapping[str, NDArray[np.int64]]],
) -> dict[str, NDArray[Any]]:
    """Float32 weights by BERT's published names as those of products in int8.

    A product's weight [V, W] becomes [W, V] int8 with the scales [V] of its columns, and for what
    is multiplied by it the inverses [W] of the balancing factors. Others stay as they are.

    Args:
        weights: of one layer or more.
        build: the model of some weights, and whether it observes ranges.
        batches: inputs of the model by name, on which the ranges are observed.
    """
    ranges: dict[str, NDArray[np.float32]] = {}
    session = onnx_session(build(weights, True))
    names = [output.name for output in session.get_outputs()]
    for inputs in batches:
        for name, output in zip(names, session.run(names, inputs), strict=True):
            if name.startswith(_RANGE_PREFIX):
                weight = name.removeprefix(_RANGE_PREFIX)
                largest = np.asarray(output, np.float32)
                ranges[weight] = np.maximum(ranges.get(weight, largest), largest)
    rows, scale = _rounded(weights[_WORDS], _MAX_EMBEDDING)
    found = {**weights, _WORDS: rows, _WORDS + _SCALE: scale[:, None]}
    for first, largest in ranges.items():
        group = _group(first)
        factors = _balance(largest, [weights[name] for name in group])
        found[first + _INVERSE] = (1 / factors).astype(np.float32)
        for name in group:
            rows, scale = _rounded(weights[name] * factors, _MAX_WEIGHT)
            found |= {name: np.ascontiguousarray(rows.T), name + _SCALE: scale}
    return found


def dequantised(weights: Weights) -> dict[str, NDArray[Any]]:
    """The float32 weights of products [V, W] that ``quantised`` rounded, with all others."""
    found = {
        name: array for name, array in weights.items() if not name.endswith((_SCALE, _INVERSE))
    }
    for name, array in found.items():
        if array.dtype != np.int8:
            continue
        scale = weights[name + _SCALE]
        if name == _WORDS:
            found[name] = array * scale
            continue
        inverse = weights[_group(name)[0] + _INVERSE]
        found[name] = np.ascontiguousarray((array * scale).T * inverse)
    return found


def _group(name: str) -> list[str]:
    """The weights that what a weight is multiplied by is multiplied by too."""
    before, part, after = name.rpartition("attention.self.")
    return [f"{before}{part}{one}.weight" for one in _PARTS] if part else [after]


def _balance(
    ranges: NDArray[np.float32], weights: list[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """SmoothQuant's factors [W], around 1: divide input channels, multiply those of weights."""
    inputs = np.maximum(ranges, _MIN_RANGE)
    columns = np.max([np.abs(weight).max(axis=0) for weight in weights], axis=0)
    weight_part = np.maximum(columns, _MIN_RANGE) ** (1 - _ALPHA)
    factors = inputs**_ALPHA / weight_part
    balanced: NDArray[np.float32] = factors / np.exp(np.log(factors).mean())
    return balanced


def _rounded(
    weight: NDArray[np.float32], max_value: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A weight [V, W] as int8 of -max_value..max_value, and the scale of each row [V]."""
    scale = np.maximum(np.abs(weight).max(axis=1), _MIN_SCALE) / max_value
    return np.round(weight / scale[:, None]).astype(np.int8), scale.astype(np.float32)
