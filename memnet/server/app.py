"""The app: a memory's routes behind security and metrics."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memnet import __version__
from memnet.engine import Engine
from memnet.server import openai, page_files
from memnet.server.errors import ERROR_RESPONSES, CatchErrors, error_response, handle_errors
from memnet.server.head import AnswerHead
from memnet.server.metrics import CountRequests, Metrics
from memnet.server.routes import answers, facts, pages, sources, state, statements, uploads
from memnet.server.security import Security
from memnet.server.settings import ServerSettings
from memnet.server.vectors import FullVectors
from memnet.server.work import Work


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
                vectors = FullVectors(engine)
                vectors.start()
                stack.push_async_callback(asyncio.to_thread, vectors.stop)
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
            Middleware(AnswerHead),
            Middleware(CountRequests, metrics=metrics),
            Middleware(Security, settings=settings),
            Middleware(CatchErrors),
        ],
    )
    handle_errors(app)
    app.include_router(answers.router(engine, work))
    app.include_router(statements.router(engine, work))
    app.include_router(state.router(engine, work, metrics))
    app.include_router(facts.router(engine, work))
    for subject in (sources, statements, uploads):
        changing = subject.writing_router(engine, work)
        app.include_router(_refusing(changing) if settings.read_only else changing)
    app.include_router(pages.router(engine, work))  # before what takes any path below /sources
    app.include_router(sources.router(engine, work))
    app.include_router(page_files.router())
    app.include_router(openai.router(engine, work))
    if served is not None:
        app.router.routes.append(Route("/mcp", _Served(served)))
    return app


def _mcp_app(engine: Engine, read_only: bool) -> Starlette | None:
    """The memory as a server of the Model Context Protocol; None without its extra."""
    if importlib.util.find_spec("mcp") is None:
        return None
    from memnet.mcp import http_app

    return http_app(engine, read_only)


class _Served:
    """An ASGI app at one path: a mount would send clients on to "/mcp/"."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _refusing(changing: APIRouter) -> APIRouter:
    """The same routes, all of which refuse before a body is read."""

    async def refuse() -> Response:
        return error_response(403, "this server is read-only", "read_only")

    routes = APIRouter()
    for route in changing.routes:
        if isinstance(route, APIRoute):
            routes.add_api_route(route.path, refuse, methods=list(route.methods or ()))
    return routes
