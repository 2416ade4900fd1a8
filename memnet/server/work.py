"""A server's threads, so that its event loop never waits, and its counts and times of requests."""

import asyncio
import functools
import logging
import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


# Seconds: the usual ones of Prometheus' clients
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_UNKNOWN = "unknown"


class Metrics:
    """What a server has done since it started; used on its event loop alone."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(_BOUNDS))
        self._seconds: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note a request that has ended; ``route`` is as declared: paths hold ids."""
        self._requests[method, route, status] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds floats, too
        for index, bound in enumerate(_BOUNDS):
            self._buckets[route][index] += seconds <= bound

    def text(self, gauges: Mapping[str, int]) -> str:
        """Everything, with some more gauges by name."""
        lines = ["# TYPE memnet_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"memnet_requests_total{{{labels}}} {number}")
        lines.append("# TYPE memnet_request_seconds histogram")
        for route, buckets in sorted(self._buckets.items()):
            for bound, number in zip(_BOUNDS, buckets, strict=True):
                most = "+Inf" if bound == math.inf else bound
                lines.append(
                    f'memnet_request_seconds_bucket{{route="{route}",le="{most}"}} {number}'
                )
            lines.append(f'memnet_request_seconds_sum{{route="{route}"}} {self._seconds[route]}')
            lines.append(f'memnet_request_seconds_count{{route="{route}"}} {buckets[-1]}')
        for gauge, number in [("memnet_requests_in_flight", self.in_flight), *gauges.items()]:
            lines += [f"# TYPE {gauge} gauge", f"{gauge} {number}"]
        return "\n".join(lines) + "\n"


def count_requests(app: ASGIApp, metrics: Metrics) -> ASGIApp:
    """ASGI middleware that notes each request in ``Metrics``."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status = 500
        started = time.perf_counter()

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics.in_flight += 1
        try:
            await app(scope, receive, note)
        finally:
            metrics.in_flight -= 1
            # Only what is declared is a label: else each path that a scanner tries would be kept.
            route = getattr(scope.get("route"), "path", _UNKNOWN)
            method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
            metrics.count(method, route, status, time.perf_counter() - started)

    return handle


def answer_head(app: ASGIApp) -> ASGIApp:
    """ASGI middleware: every route of ``GET`` answers ``HEAD``, too (RFC 9110, 9.1)."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # servers send no body then (ASGI, HTTP)
        await app(scope, receive, send)

    return handle
