"""ONNX models as bytes, written without the package onnx, which takes 33 MB; and run.

Source: the numbers of fields and types are those of onnx/onnx.proto, the encoding that of Protocol
Buffers (https://protobuf.dev/programming-guides/encoding).
"""

import struct
from collections.abc import Iterable, Mapping
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
