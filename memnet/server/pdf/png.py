"""Pixels as a PNG file (ISO/IEC 15948)."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH, _COLOUR = 8, 2
"""Bits of a sample, and the type of pixels that are red, green, blue."""
_UP = 2
"""The filter of rows that are written as differences from the row above."""
_LEVEL = 6


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture as a file.

    Args:
        pixels: [H, W, 3] uint8: red, green, blue.
    """
    height, width, channels = pixels.shape
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = _UP
    flat = pixels.reshape(height, -1)
    rows[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=rows[1:, 1:])  # modulo 256, as the filter is
    header = struct.pack(">IIBBBBB", width, height, _DEPTH, _COLOUR, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), _LEVEL)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
