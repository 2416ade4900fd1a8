"""Vectors that lie on a GPU."""

import numpy as np
import torch
from numpy.typing import NDArray

_BLOCK = 65_536
"""Rows that are copied together: 100 MB."""


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
