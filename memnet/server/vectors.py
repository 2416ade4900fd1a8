"""Full vectors in the place of quick ones, made by a server while nobody asks it anything."""

import logging
import threading

from memnet.engine import Engine
from memnet.errors import MemnetError, StoreBusyError

_LOOK_SECONDS = 1.0
"""Between two looks for quick vectors, which other processes may leave too."""
_log = logging.getLogger("memnet")


class FullVectors:
    """A thread that replaces quick vectors; it waits while questions are answered."""

    def __init__(self, engine: Engine) -> None:
        """Start nothing yet."""
        self._engine = engine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memnet-vectors", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, within about a second; what is not committed is made again."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            try:
                self._engine.encode_full(may_go_on=self._may_go_on)
            except StoreBusyError:
                continue
            except MemnetError as error:
                _log.warning("full vectors can't be made: %s", error)
                return

    def _may_go_on(self) -> bool:
        while not self._stop.is_set():
            if self._engine.questions.wait_for_none(_LOOK_SECONDS):
                return True
        return False
