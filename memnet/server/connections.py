"""Connections that end when their clients keep a server waiting."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
"""That a client has to send the head of a request: it fits into a few packets."""
READ_SECONDS = 30.0
"""For which a client may read nothing of what waits for it."""


class Connection(H11Protocol):
    """uvicorn's connection, with limits of time; bodies have theirs where they are read.

    uvicorn limits the time from a response to the next byte. Without more, whoever opens
    connections and sends nothing, or a byte now and then, takes all that a server can hold.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._head = _Limit(HEAD_SECONDS, transport.close)
        self._reading = _Limit(READ_SECONDS, transport.abort)
        self._head.start()

    def data_received(self, data: bytes) -> None:
        """Take what came; as long as it is no whole head, the time goes on."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._head.start()
        else:
            self._head.stop()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Go on: it has read."""
        super().resume_writing()
        self._reading.stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self._head.stop()
        self._reading.stop()


class _Limit:
    """A limit of time, which goes on until it is stopped."""

    def __init__(self, seconds: float, exceeded: Callable[[], None]) -> None:
        self._seconds = seconds
        self._exceeded = exceeded
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Count from now on, unless it does already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._exceeded)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
