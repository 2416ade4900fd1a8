"""The one place where the network's threads are set."""

import threading

import torch


class OneThreadEach:
    """While inside, each torch operation runs on the thread that calls it.

    Batches then run side by side, a core each, rather than each on all cores: that is faster for
    batches of this size, and no thread waits spinning for another. The setting that torch had
    before comes back when the last thread leaves.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._inside = 0
        self._before = 1

    def __enter__(self) -> None:
        """Set one thread, if nobody inside has done so."""
        with self._guard:
            if not self._inside:
                self._before = torch.get_num_threads()
                torch.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        """Set what was before, if nobody is left inside."""
        with self._guard:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._before)


one_thread_each = OneThreadEach()
"""Shared by all encoders of the process, as torch's setting is."""
