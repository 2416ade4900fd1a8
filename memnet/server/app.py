"""The app: a memory's routes and page behind security and metrics."""

import asyncio
import gzip
import hashlib
import importlib.util
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from memnet import __version__
from memnet.engine import Engine
from memnet.server import answers, openai, pdf, sources
from memnet.server.errors import (
    ERROR_RESPONSES,
    NotFoundError,
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
    app.include_router(_page_router())
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


# As far as the page has files; the system's own table may differ.
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def _page_router() -> APIRouter:
    """``GET /`` and ``GET /page/{name}``."""
    routes = APIRouter(include_in_schema=False)
    folder = files("memnet.server") / "page"
    contents = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    # Text of this kind shrinks to a third; the page is for networks as well as for loopback.
    compressed = {name: gzip.compress(data, mtime=0) for name, data in contents.items()}
    tags = {name: f'"{hashlib.sha256(data).hexdigest()[:16]}"' for name, data in contents.items()}

    async def serve(name: str, request: Request) -> Response:
        if name not in contents:
            raise NotFoundError(f"the page has no file {name!r}")
        # The browser asks each time whether its copy is the one of this version.
        headers = {"ETag": tags[name], "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if tags[name] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        kind = _MEDIA_TYPES.get(PurePath(name).suffix, "application/octet-stream")
        data = contents[name]
        if "gzip" in request.headers.get("accept-encoding", ""):
            data = compressed[name]
            headers["Content-Encoding"] = "gzip"
        return Response(data, headers=headers, media_type=kind)

    @routes.get("/")
    async def index(request: Request) -> Response:
        return await serve("index.html", request)

    @routes.get("/page/{name}")
    async def page(name: str, request: Request) -> Response:
        return await serve(name, request)

    return routes
