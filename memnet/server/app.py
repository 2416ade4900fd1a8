"""The app: a memory's routes and page behind security and metrics."""

import asyncio
import importlib.util
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from memnet import __version__
from memnet.engine import Engine
from memnet.server import answers, openai, pdf, sources
from memnet.server.errors import (
    ERROR_RESPONSES,
    catch_errors,
    error_response,
    handle_errors,
)
from memnet.server.metrics import Metrics, answer_head, count_requests
from memnet.server.security import Security
from memnet.server.settings import ServerSettings
from memnet.server.work import Work, make_full_vectors


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """An ASGI app that serves a memory, which stays the caller's to close.

    Args:
        engine: shared by all threads.
        settings: None for the defaults.
    """
    settings = settings or ServerSettings()
    metrics = Metrics()
    work = Work(engine.config.cores())
    served = _mcp_app(engine, settings.read_only)

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
    app.include_router(pdf.router(engine, work))  # before what takes any path below /sources
    app.include_router(sources.router(engine, work))
    # Text of this kind shrinks to a third; the page is for networks as well as for loopback.
    page = GZipMiddleware(_Page(directory=str(files("memnet.server") / "page"), html=True))
    app.router.routes.append(Route("/", page))
    app.mount("/page", page)
    app.include_router(openai.router(engine, work))
    if served is not None:  # a mount would send clients on to "/mcp/"
        app.router.routes.append(Route("/mcp", served))
    return app


def _mcp_app(engine: Engine, read_only: bool) -> Starlette | None:
    """The memory as a server of the Model Context Protocol; None without its extra."""
    if importlib.util.find_spec("mcp") is None:
        return None
    from memnet.mcp import http_app

    return http_app(engine, read_only)


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
