"""The page that ``/`` shows: files of this package, as they are."""

import gzip
import hashlib
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memnet.server.errors import NotFoundError

_INDEX = "index.html"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
"""As far as the page has files; the system's own table may differ."""


def router() -> APIRouter:
    """``GET /`` and ``GET /page/{name}``."""
    routes = APIRouter(include_in_schema=False)
    folder = files("memnet.server") / "page"
    contents = (
        {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        if folder.is_dir()
        else {}
    )
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
        return await serve(_INDEX, request)

    @routes.get("/page/{name}")
    async def page(name: str, request: Request) -> Response:
        return await serve(name, request)

    return routes
