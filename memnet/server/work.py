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

    Answers encode, search or read, on as many threads as there are cores: more would make all of
    them slow. Reads look something up. Writes change the memory, one after the other: the store has
    one writer, and threads that poll its lock would be served in any order.
    """

    def __init__(self, cores: int) -> None:
        self.answer = _Queue(max(2, cores), "memnet-answers")
        self.read = _Queue(_READERS, "memnet-reads")
        self.write = _Queue(1, "memnet-writes")

    def close(self) -> None:
        """Wait until all that runs or waits is done, and end the threads."""
        for queue in (self.answer, self.read, self.write):
            queue.shutdown()


class _Queue(ThreadPoolExecutor):
    """Runs what it is called with on its threads."""

    def __call__(
        self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> Awaitable[_R]:
        call = functools.partial(function, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(self, call)


# Between two looks for quick vectors, which other processes may leave too.
_LOOK_SECONDS = 1.0
_log = logging.getLogger("memnet")


def make_full_vectors(engine: Engine, stop: threading.Event) -> None:
    """Replace quick vectors by full ones while no question is being answered.

    It ends within about a second of the event; uncommitted work is repeated later.
    """

    def may_go_on() -> bool:
        while not stop.is_set():
            if engine.questions.wait_for_none(_LOOK_SECONDS):
                return True
        return False

    while not stop.wait(_LOOK_SECONDS):
        try:
            engine.encode_full(may_go_on=may_go_on)
        except StoreBusyError:
            continue
        except MemnetError as error:
            _log.warning("can't make full vectors: %s", error)
            return
