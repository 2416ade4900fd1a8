"""The threads on which a server uses its memory, so that its event loop never waits."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_READERS = 4
"""Threads for what only looks things up: it takes milliseconds and should not wait for answers."""


class Work:
    """Queues of calls, each served in the order in which they come.

    Answers run on as many threads as there are cores: more would make all of them late together.
    Writes run one after the other: the store has one writer, and whoever waits for it on a thread
    would ask for its lock again and again, and be served in any order.
    """

    def __init__(self, cores: int) -> None:
        """Start no thread yet."""
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
