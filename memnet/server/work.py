"""The threads on which a server uses its memory, so that its event loop never waits."""

import asyncio
import functools
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from memnet.engine import Engine
from memnet.errors import MemnetError, StoreBusyError

_P = ParamSpec("_P")
_R = TypeVar("_R")
# Threads for what only looks things up: it takes milliseconds and should not wait for answers.
_READERS = 4


class Work:
    """Queues of calls, each served in the order in which they come.

    Answers run on as many threads as there are cores: more would make all of them slow. Writes run
    one after the other: the store has one writer, and threads that poll its lock would be served in
    any order.
    """

    def __init__(self, cores: int) -> None:
        self._answers = ThreadPoolExecutor(max(2, cores), "memnet-answers")
        self._reads = ThreadPoolExecutor(_READERS, "memnet-reads")
        self._writes = ThreadPoolExecutor(1, "memnet-writes")

    def answer(
        self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> Awaitable[_R]:
        """Call what encodes, searches or reads an answer."""
        return _run(self._answers, functools.partial(function, *args, **kwargs))

    def read(
        self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> Awaitable[_R]:
        """Call what looks something up."""
        return _run(self._reads, functools.partial(function, *args, **kwargs))

    def write(
        self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> Awaitable[_R]:
        """Call what changes the memory."""
        return _run(self._writes, functools.partial(function, *args, **kwargs))

    def close(self) -> None:
        """Wait until all that runs or waits is done, and end the threads."""
        for pool in (self._answers, self._reads, self._writes):
            pool.shutdown()


def _run(pool: ThreadPoolExecutor, call: Callable[[], _R]) -> Awaitable[_R]:
    return asyncio.get_running_loop().run_in_executor(pool, call)


# Between two looks for quick vectors, which other processes may leave too.
_LOOK_SECONDS = 1.0
_log = logging.getLogger("memnet")


class FullVectors:
    """A thread that replaces quick vectors by full ones while no question is being answered."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memnet-vectors", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End within about a second; uncommitted work is repeated later."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            try:
                self._engine.encode_full(may_go_on=self._may_go_on)
            except StoreBusyError:
                continue
            except MemnetError as error:
                _log.warning("can't make full vectors: %s", error)
                return

    def _may_go_on(self) -> bool:
        while not self._stop.is_set():
            if self._engine.questions.wait_for_none(_LOOK_SECONDS):
                return True
        return False
