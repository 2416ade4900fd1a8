"""Vectors as rows of bytes, in as few bits a component as lose nothing.

The length of a row tells what is in it, for a vector of D components:

    D + 2 bytes   scale, float16 | D int8, the components divided by the scale; only if D > 2
    2 D bytes     D float16
    4 D bytes     D float32

All is little-endian. Eight bits lose nothing where an encoder has rounded its vectors by
``rounded``: scalar quantisation with one scale for each vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_LARGEST = 127
_SCALE_BYTES = 2
_BLOCK = 16_384
"""Vectors that are looked at together: 25 MB."""


class LazyVectors(Protocol):
    """Vectors [N, D] that are made or read where they are indexed, which gives float32."""

    def __len__(self) -> int: ...
    def __getitem__(self, chosen: slice | NDArray[Any]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, eq=False)
class PackedVectors:
    """Vectors [N, D] that are unpacked where they are indexed, which gives float32."""

    rows: NDArray[np.uint8]
    """[N, size]."""
    dimension: int
    """D."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: slice | NDArray[Any]) -> NDArray[np.float32]:
        return unpacked(self.rows[chosen], self.dimension)


Vectors = NDArray[np.float32] | LazyVectors
"""[N, D]."""


def rounded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors [N, D] float32, rounded to numbers that take eight bits.

    A component is off by at most 1/250 of the largest of its vector. Rounding twice is rounding
    once.
    """
    scales, codes = _quantised(vectors)
    return codes * scales.astype(np.float32)


def row_sizes(dimension: int) -> tuple[int, ...]:
    """Lengths in bytes that rows of D components may have, rising."""
    sizes = (2 * dimension, 4 * dimension)
    return (dimension + _SCALE_BYTES, *sizes) if dimension > _SCALE_BYTES else sizes


def fit(vectors: Vectors, size: int) -> bool:
    """Whether vectors [N, D] have rows of ``size`` bytes that lose nothing.

    Longer rows may not do where shorter ones do: float16 has fewer bits than a scaled number.
    """
    if isinstance(vectors, PackedVectors) and size in (
        vectors.rows.shape[1],
        4 * vectors.dimension,
    ):
        return True
    starts = range(0, len(vectors), _BLOCK)
    return all(bool(_lossless(vectors[at : at + _BLOCK], size)[1].all()) for at in starts)


def packed(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each of vectors [N, D] float32 as the shortest row that loses nothing."""
    rows = [b""] * len(vectors)
    rest = np.arange(len(vectors))
    for size in row_sizes(vectors.shape[1]):
        data, lossless = _lossless(vectors[rest], size)
        for row, own in zip(rest[lossless].tolist(), data[lossless], strict=True):
            rows[row] = own.tobytes()
        rest = rest[~lossless]
    return rows


def packed_rows(vectors: NDArray[np.float32], size: int) -> NDArray[np.uint8]:
    """Vectors [N, D] float32 as rows [N, size] uint8, with loss if ``size`` is too small for them.

    ``size`` is one of ``row_sizes``.
    """
    dimension = vectors.shape[1]
    if size == 4 * dimension:
        return np.ascontiguousarray(vectors, "<f4").view(np.uint8)
    if size == 2 * dimension:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(vectors, "<f2").view(np.uint8)
    scales, codes = _quantised(vectors)
    parts = (scales.astype("<f2").view(np.uint8), codes.astype(np.int8).view(np.uint8))
    return np.concatenate(parts, axis=1)


def unpacked(rows: NDArray[np.uint8], dimension: int) -> NDArray[np.float32]:
    """Vectors [N, D] float32 of rows [N, size] uint8, of which those of float32 are not copied.

    ``size`` is one of ``row_sizes``. What is in the rows is not checked.
    """
    size = rows.shape[1]
    if size == 4 * dimension:
        full: NDArray[np.float32] = np.ascontiguousarray(rows).view("<f4")
        return full.astype(np.float32, copy=False)
    if size == 2 * dimension:
        return np.ascontiguousarray(rows).view("<f2").astype(np.float32)
    scales = np.ascontiguousarray(rows[:, :_SCALE_BYTES]).view("<f2").astype(np.float32)
    with np.errstate(invalid="ignore"):  # infinity times zero
        return np.multiply(rows[:, _SCALE_BYTES:].view(np.int8), scales)


def joined(rows: Sequence[bytes], size: int) -> NDArray[np.uint8]:
    """Rows of one length as an array [N, size] uint8."""
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)


def stored_vectors(rows: NDArray[np.uint8], dimension: int) -> Vectors:
    """Vectors [N, D] of rows [N, size] uint8 that may be more than fit into memory."""
    is_full = rows.shape[1] == 4 * dimension
    return unpacked(rows, dimension) if is_full else PackedVectors(rows, dimension)


def _lossless(
    vectors: NDArray[np.float32], size: int
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Vectors [N, D] float32 as rows [N, ``size``] uint8, and which of them lose nothing: [N]."""
    dimension = vectors.shape[1]
    if size == 4 * dimension:
        return packed_rows(vectors, size), np.ones(len(vectors), np.bool_)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(vectors).all(axis=1))
    some = vectors if finite.all() else np.where(finite[:, None], vectors, np.float32(0))
    rows = packed_rows(some, size)
    return rows, finite & (unpacked(rows, dimension) == some).all(axis=1)


def _quantised(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Scales [N, 1] float16 and whole numbers [N, D] float32 from -127 to 127, of finite vectors.

    A scale has 11 bits and a number 7, so their product is exact in float32, and the largest
    product divided by 127 is the scale again.
    """
    largest = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True)
    with np.errstate(over="ignore"):
        scales = (largest / np.float32(_LARGEST)).astype(np.float16)
    scales[np.isinf(scales)] = 0
    full = scales.astype(np.float32)
    inverse = np.divide(np.float32(1), full, out=np.zeros_like(full), where=full > 0)
    codes = np.rint(vectors * inverse)
    return scales, np.clip(codes, -_LARGEST, _LARGEST, out=codes)
