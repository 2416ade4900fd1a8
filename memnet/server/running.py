"""A server as a process: it listens, limits the time of connections, and stops on a signal."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from memnet.engine import Engine
from memnet.errors import InputError
from memnet.server.app import create_app
from memnet.server.settings import ServerSettings

# That requests in flight have to finish. A stream that is held open ends then.
_STOP_SECONDS = 30
_QUEUED = 2048  # connections that may wait to be accepted


def serve(engine: Engine, settings: ServerSettings, on_listening: Callable[[str], None]) -> None:
    """Serve a memory, which stays the caller's, until SIGTERM or SIGINT; requests in flight finish.

    ``on_listening`` is called with the URL as soon as clients can connect.
    """
    server = server_of(create_app(engine, settings))
    with listening(settings.host, settings.port) as listener, _stopping_quietly():
        engine.preload()
        host, port = listener.getsockname()[:2]
        on_listening(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        server.run(sockets=[listener])


def server_of(app: FastAPI) -> uvicorn.Server:
    """The uvicorn server of an app."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # paths hold source ids
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    return uvicorn.Server(config)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens on an address; ``InputError`` if it can't."""
    with ExitStack() as stack:
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            # asyncio sends at once (TCP_NODELAY) only where a socket says that it is of TCP. Else
            # the body of a response waits for the other side to acknowledge its head: 40 ms.
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            stack.enter_context(listener)
            if os.name == "posix":  # elsewhere it would let several listen on one port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(_QUEUED)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"can't listen on {host}, port {port} ({reason}); choose another --host or --port"
            ) from error
        yield listener


@contextmanager
def _stopping_quietly() -> Iterator[None]:
    """Ignore the signal that stopped the server when uvicorn raises it again at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: None) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


# That a client has to send the head of a request: it fits into a few packets.
HEAD_SECONDS = 15.0
READ_SECONDS = 30.0  # for which a client may read nothing of what waits for it


class Connection(H11Protocol):
    """uvicorn's connection with timeouts; those of bodies are where they are read.

    uvicorn limits only the time from a response to the next byte: clients that open connections
    and send nothing, or a byte now and then, would use up all connections.
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
    """A timeout that runs until it is stopped."""

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
