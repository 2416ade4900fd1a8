"""Vectors keep every bit in as few bytes as possible."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from memnet.storage.precision import (
    PackedVectors,
    fit,
    joined,
    packed,
    packed_rows,
    rounded,
    row_sizes,
    stored_vectors,
    unpacked,
)

_FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)
_FINITE = st.floats(-(2.0**20), 2.0**20, width=32)


def _vectors(components: st.SearchStrategy[float]) -> st.SearchStrategy[NDArray[np.float32]]:
    shapes = st.tuples(st.integers(0, 5), st.integers(1, 7))
    return shapes.flatmap(lambda shape: arrays(np.float32, shape, elements=components))


def _slow(row: bytes, dimension: int) -> list[float]:
    """A row, read number by number."""
    if len(row) == 4 * dimension:
        return list(struct.unpack(f"<{dimension}f", row))
    if len(row) == 2 * dimension:
        return list(struct.unpack(f"<{dimension}e", row))
    scale, *codes = struct.unpack(f"<e{dimension}b", row)
    return [scale * code for code in codes]


@given(_vectors(_FLOATS))
def test_rows_lose_nothing(vectors: NDArray[np.float32]) -> None:
    dimension = vectors.shape[1]
    for vector, row in zip(vectors, packed(vectors), strict=True):
        np.testing.assert_array_equal(np.array(_slow(row, dimension), np.float32), vector)
        read = unpacked(joined([row], len(row)), dimension)
        np.testing.assert_array_equal(read[0], vector)


@given(_vectors(_FINITE), st.booleans())
def test_rows_are_as_short_as_the_numbers_allow(
    vectors: NDArray[np.float32], to_half: bool
) -> None:
    dimension = vectors.shape[1]
    if dimension > 2:
        assert {len(row) for row in packed(rounded(vectors))} <= {dimension + 2}
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16).astype(np.float32)
    for vector, row in zip(halves, packed(halves), strict=True):
        assert len(row) <= 2 * dimension or not np.isfinite(vector).all() or dimension == 1


@given(_vectors(_FINITE))
def test_rounding_is_near_and_ends(vectors: NDArray[np.float32]) -> None:
    near = rounded(vectors)
    np.testing.assert_array_equal(rounded(near), near)
    # Where the scale is a normal number of half precision, it is off by 2**-11 at most.
    for vector, other in zip(vectors, near, strict=True):
        largest = float(np.abs(vector).max())
        if 127 * 2.0**-14 <= largest <= 127 * 65504:
            assert np.abs(vector - other).max() <= largest / 250


@given(_vectors(_FLOATS), st.data())
def test_blocks_of_rows(vectors: NDArray[np.float32], data: st.DataObject) -> None:
    count, dimension = vectors.shape
    size = data.draw(st.sampled_from(row_sizes(dimension)))
    with np.errstate(all="ignore"):
        finite = np.nan_to_num(vectors, nan=1.0, posinf=2.0, neginf=-3.0)
    rows = packed_rows(finite, size)
    assert rows.shape == (count, size)
    stored = stored_vectors(rows, dimension)
    read = unpacked(rows, dimension)
    np.testing.assert_array_equal(stored[:], read)
    assert len(stored) == count
    assert isinstance(stored, PackedVectors) == (size < 4 * dimension)
    chosen = np.array(
        data.draw(st.lists(st.integers(0, count - 1), max_size=4)) if count else [], int
    )
    np.testing.assert_array_equal(stored[chosen], read[chosen])
    assert fit(finite, size) == np.array_equal(read, finite)
    if np.isfinite(read).all():
        assert fit(stored, size)
        assert fit(stored, 4 * dimension)


@pytest.mark.parametrize(("dimension", "sizes"), [(1, (2, 4)), (2, (4, 8)), (3, (5, 6, 12))])
def test_a_length_stands_for_one_precision(dimension: int, sizes: tuple[int, ...]) -> None:
    assert row_sizes(dimension) == sizes


def test_float32_is_not_copied() -> None:
    rows = packed_rows(np.ones((3, 4), np.float32), 16)
    assert np.shares_memory(unpacked(rows, 4), rows)
