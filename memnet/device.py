"""Where networks run and vectors are compared: on the processor, or on a GPU that torch knows.

A device is named as torch names it: "cpu", "cuda:0".
"""

import logging
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from memnet.errors import DeviceError

CPU = "cpu"
_BLOCK = 65_536
"""Rows that are copied together: 100 MB."""
_log = logging.getLogger("memnet")


def find_device(wanted: str) -> str:
    """The device that a setting means.

    Args:
        wanted: "cpu", "cuda", "cuda:N", or "auto" for the first GPU, or the processor without one.

    Raises:
        DeviceError: there is no such device.
    """
    if wanted == CPU:
        return CPU
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        return "cuda:0" if there else CPU
    kind, _, number = wanted.partition(":")
    if kind != "cuda" or not (wanted == kind or number.isdecimal()):
        raise DeviceError(f"there is no device {wanted!r}; expected auto, cpu, cuda or cuda:N")
    if int(number or 0) < there:
        return f"cuda:{int(number or 0)}"
    if torch.cuda.is_available():
        found, advice = f"torch sees {there} of them", "give a lower number"
    elif torch.version.cuda or torch.version.hip:
        found, advice = "torch sees none", "look at the driver with nvidia-smi"
    else:
        found = f"torch {torch.__version__} is built for processors alone"
        advice = "install one that is built for CUDA"
    raise DeviceError(
        f"there is no GPU {wanted!r}: {found}; {advice}, or use the device auto or cpu"
    )


class DeviceVectors:
    """Vectors that lie on a device and are all compared there."""

    def __init__(self, rows: NDArray[np.float32], device: str) -> None:
        """Copy vectors [N, D] float32 to a device.

        Raises:
            torch.OutOfMemoryError: it has no room for them.
        """
        self._rows = torch.empty(rows.shape, dtype=torch.float32, device=device)
        for start in range(0, len(rows), _BLOCK):
            # Copied once more in memory: what is mapped from a file can't be written to.
            block = torch.from_numpy(np.array(rows[start : start + _BLOCK], np.float32))
            self._rows[start : start + len(block)] = block.to(device)

    def nearest(
        self, query: NDArray[np.float32], count: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The vectors with the largest inner product with a query.

        Args:
            query: [D] float32.
            count: most to find.
            allowed: [N] bool; None for all.

        Returns:
            Their places [K] int64, best first, and their inner products [K] float32; K is
            ``count``, or the number of those allowed if that is less.
        """
        device = self._rows.device
        with torch.inference_mode():
            scores = self._rows @ torch.tensor(query, device=device)
            if allowed is not None:
                scores.masked_fill_(~torch.tensor(allowed, device=device), -torch.inf)
            most = len(scores) if allowed is None else int(np.count_nonzero(allowed))
            found = torch.topk(scores, min(count, most))
        return found.indices.cpu().numpy(), found.values.cpu().numpy()


def holder(device: str) -> Callable[[NDArray[np.float32]], DeviceVectors | None] | None:
    """What copies vectors [N, D] float32 to a device; None for the processor, where FAISS is.

    It gives None, and a warning, where the device has no room for them.
    """

    def hold(rows: NDArray[np.float32]) -> DeviceVectors | None:
        try:
            return DeviceVectors(rows, device)
        except torch.OutOfMemoryError:
            _log.warning("%s has no room for %s vectors; they are compared on the processor",
                         device, f"{len(rows):,}")  # fmt: skip
            return None

    return None if device == CPU else hold
