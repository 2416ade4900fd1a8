"""Where networks run and vectors are compared: on the processor, or on a GPU that torch knows.

A device is named as torch names it: "cpu", "cuda:0".
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memnet.errors import DeviceError

if TYPE_CHECKING:
    from memnet.device_vectors import DeviceVectors

CPU = "cpu"
_DRIVERS = ("/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg")
"""One of these is there on Linux where a GPU has a driver."""
_log = logging.getLogger("memnet")


def find_device(wanted: str) -> str:
    """The device that a setting means.

    Args:
        wanted: "cpu", "cuda", "cuda:N", or "auto" for the first GPU, or the processor without one.

    Raises:
        DeviceError: there is no such device.
    """
    if wanted == CPU or (wanted == "auto" and not _may_have_gpu()):
        return CPU
    import torch

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


def _may_have_gpu() -> bool:
    """Whether to ask torch for a GPU, which takes a second to import."""
    if sys.platform == "linux":
        return any(Path(driver).exists() for driver in _DRIVERS)
    return sys.platform != "darwin"


def holder(device: str) -> "Callable[[NDArray[np.float32]], DeviceVectors | None] | None":
    """What copies vectors [N, D] float32 to a device; None for the processor, where FAISS is.

    It gives None, and a warning, where the device has no room for them.
    """

    def hold(rows: NDArray[np.float32]) -> "DeviceVectors | None":
        import torch

        from memnet.device_vectors import DeviceVectors

        try:
            return DeviceVectors(rows, device)
        except torch.OutOfMemoryError:
            _log.warning("%s has no room for %s vectors; they are compared on the processor",
                         device, f"{len(rows):,}")  # fmt: skip
            return None

    return None if device == CPU else hold
