"""The app: a memory's routes and page behind security and metrics; and how it runs as a process."""

import asyncio
import importlib.util
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from importlib.resources import files
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from memnet import __version__
from memnet.engine import Engine
from memnet.errors import InputError
from memnet.server import answers, openai, sources
from memnet.server.errors import ERROR_RESPONSES, catch_errors, error_response, handle_errors
from memnet.server.security import Security
from memnet.server.settings import ServerSettings
from memnet.server.work import Metrics, Work, answer_head, count_requests, make_full_vectors


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """An ASGI app that serves a memory, which stays the caller's to close.

    Args:
        engine: shared by all threads.
        settings: None for the defaults.
    """
    settings = settings or ServerSettings()
    metrics = Metrics()
    work = Work(engine.config.cores())
    served: Starlette | None = None
    if importlib.util.find_spec("mcp") is not None:
        from memnet.mcp import http_app

        served = http_app(engine, settings.read_only)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if served is not None:
                await stack.enter_async_context(served.router.lifespan_context(served))
            if not settings.read_only:
                stop = threading.Event()
                vectors = threading.Thread(
                    target=make_full_vectors,
                    args=(engine, stop),
                    name="memnet-vectors",
                    daemon=True,
                )
                vectors.start()
                stack.push_async_callback(asyncio.to_thread, vectors.join)
                stack.callback(stop.set)
            yield
        work.close()

    app = FastAPI(
        title="memnet",
        version=__version__,
        lifespan=lifespan,
        responses=ERROR_RESPONSES,
        # Its pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        middleware=[
            Middleware(answer_head),
            Middleware(count_requests, metrics=metrics),
            Middleware(Security, settings=settings),
            Middleware(catch_errors),
        ],
    )
    handle_errors(app)
    app.include_router(answers.router(engine, work, metrics))
    for subject in (sources, answers):
        changing = subject.writing_router(engine, work)
        app.include_router(_refusing(changing) if settings.read_only else changing)
    # Before what takes any path below /sources.
    app.include_router(sources.pdf_router(engine, work))
    app.include_router(sources.router(engine, work))
    # Text of this kind shrinks to a third; the page is for networks as well as for loopback.
    page = GZipMiddleware(_Page(directory=str(files("memnet.server") / "page"), html=True))
    app.router.routes.append(Route("/", page))
    app.mount("/page", page)
    app.include_router(openai.router(engine, work))
    if served is not None:  # a mount would send clients on to "/mcp/"
        app.router.routes.append(Route("/mcp", served))
    return app


def _refusing(changing: APIRouter) -> APIRouter:
    """The same routes, all of which refuse before a body is read."""

    async def refuse() -> Response:
        return error_response(403, "this server is read-only", "read_only")

    routes = APIRouter()
    for route in changing.routes:
        if isinstance(route, APIRoute):
            routes.add_api_route(route.path, refuse, methods=list(route.methods or ()))
    return routes


class _Page(StaticFiles):
    """The files of the page."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The browser asks each time whether its copy is the one of this version."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


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
        """Take what came; as long as it is not a whole head, the time goes on."""
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
