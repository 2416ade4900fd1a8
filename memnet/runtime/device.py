"""Where networks run and vectors are compared: on the processor, or on a GPU that torch knows.

A device is named as torch names it: "cpu", "cuda:0".
"""

import logging
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from memnet.errors import DeviceError, install

CPU = "cpu"
# Device files, one of which exists on Linux where a GPU has a driver.
_DRIVERS = ("/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg")
# Vectors that are copied together: 100 MB.
_BLOCK = 65_536
_log = logging.getLogger("memnet")
P = ParamSpec("P")
T = TypeVar("T")


def find_device(wanted: str) -> str:
    """The device that a setting means.

    Args:
        wanted: "cpu", "cuda", "cuda:N", or "auto" for the first GPU, or the processor without one.

    Raises:
        DeviceError: there is no such device.
    """
    if wanted == CPU or (wanted == "auto" and not _may_have_gpu()):
        return CPU
    try:
        import torch
    except ImportError as error:
        if wanted == "auto":
            return CPU
        raise DeviceError(f"the device {wanted!r} needs torch; run: {install('gpu')}") from error

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        return "cuda:0" if count else CPU
    kind, _, number = wanted.partition(":")
    if kind != "cuda" or not (wanted == kind or number.isdecimal()):
        raise DeviceError(f"there is no device {wanted!r}; expected auto, cpu, cuda or cuda:N")
    if int(number or 0) < count:
        return f"cuda:{int(number or 0)}"
    if torch.cuda.is_available():
        found, advice = f"torch sees {count} of them", "give a lower number"
    elif torch.version.cuda or torch.version.hip:
        found, advice = "torch sees none", "look at the driver with nvidia-smi"
    else:
        found = f"torch {torch.__version__} is built for processors alone"
        advice = "install one that is built for CUDA"
    raise DeviceError(
        f"there is no GPU {wanted!r}: {found}; {advice}, or use the device auto or cpu"
    )


def _may_have_gpu() -> bool:
    """Whether to ask torch for a GPU, which takes a second to import."""
    if sys.platform == "linux":
        return any(Path(driver).exists() for driver in _DRIVERS)
    return sys.platform != "darwin"


class DeviceVectors:
    """Vectors in the memory of a device, all of them compared there."""

    def __init__(self, vectors: NDArray[np.float32], device: str) -> None:
        """Copy vectors [N, D] float32 to a device.

        Raises:
            torch.OutOfMemoryError: it has no room for them.
        """
        import torch

        self._vectors = torch.empty(vectors.shape, dtype=torch.float32, device=device)
        for start in range(0, len(vectors), _BLOCK):
            # Copied first: torch refuses memory that can't be written, as that of a mapped file.
            block = torch.from_numpy(np.array(vectors[start : start + _BLOCK], np.float32))
            self._vectors[start : start + len(block)] = block.to(device)

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The vectors with the largest inner product with a query.

        Args:
            query: [D] float32.
            limit: most to find.
            allowed: [N] bool; None for all.

        Returns:
            Their rows [K] int64, best first, and their inner products [K] float32; K is ``limit``,
            or the number of those allowed if that is less.
        """
        import torch

        device = self._vectors.device
        with torch.inference_mode():
            scores = self._vectors @ torch.tensor(query, device=device)
            if allowed is not None:
                scores.masked_fill_(~torch.tensor(allowed, device=device), -torch.inf)
            count = len(scores) if allowed is None else int(np.count_nonzero(allowed))
            found = torch.topk(scores, min(limit, count))
        return found.indices.cpu().numpy(), found.values.cpu().numpy()


def device_copier(device: str) -> Callable[[NDArray[np.float32]], DeviceVectors | None] | None:
    """A function that copies vectors [N, D] float32 to a device; None for the CPU.

    It returns None, with a warning, where the device has no room for them.
    """

    def copy(vectors: NDArray[np.float32]) -> DeviceVectors | None:
        import torch

        try:
            return DeviceVectors(vectors, device)
        except torch.OutOfMemoryError:
            _log.warning("%s has no room for %s vectors; they are compared on the processor",
                         device, f"{len(vectors):,}")  # fmt: skip
            return None

    return None if device == CPU else copy


@lru_cache(maxsize=1)
def _pool(_process: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count())


def in_background(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function that releases the GIL on another thread; it must not wait for another one."""
    return _pool(os.getpid()).submit(function, *args, **kwargs)
