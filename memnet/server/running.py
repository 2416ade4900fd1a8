"""A server as a process: it listens, and stops when it is told to."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from memnet.engine import Engine
from memnet.errors import InputError
from memnet.server.app import create_app
from memnet.server.connections import Connection
from memnet.server.settings import ServerSettings

_STOP_SECONDS = 30
"""That requests in flight have to finish. A stream that is held open ends then."""
_QUEUED = 2048
"""Connections that may wait to be accepted."""


def serve(engine: Engine, settings: ServerSettings, on_listening: Callable[[str], None]) -> None:
    """Serve a memory until SIGTERM or SIGINT; requests in flight finish.

    Args:
        engine: stays the caller's to close.
        settings: of the server.
        on_listening: called with the URL as soon as clients can connect.

    Raises:
        InputError: the address can't be listened on.
    """
    server = server_of(create_app(engine, settings))
    with listening(settings.host, settings.port) as listener, _stopping_quietly():
        engine.preload()
        on_listening(_url(listener))
        server.run(sockets=[listener])


def server_of(app: FastAPI) -> uvicorn.Server:
    """The server of an app, with all that is set about it here."""
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
    """A socket that listens on an address.

    Raises:
        InputError: it can't.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends at once (TCP_NODELAY) only where a socket says that it is of TCP. Else the
        # body of a response waits for the other side to acknowledge its head: 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":  # elsewhere it would let several listen on one port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(_QUEUED)
        except BaseException:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"can't listen on {host}, port {port} ({reason}); choose another --host or --port"
        ) from error
    with listener:
        yield listener


@contextmanager
def _stopping_quietly() -> Iterator[None]:
    """Let a signal that has stopped the server do nothing more: it is raised again at its end."""
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


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
