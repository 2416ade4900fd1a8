"""Routes that show pages of PDF files."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.server.errors import NotFoundError
from memnet.server.pdf.pages import PdfReader
from memnet.server.routes.sources import find
from memnet.server.values import PdfPage, PdfPages, json_response
from memnet.server.work import Work

_CACHED = 16
"""Files whose pages, and pictures, are kept: those that a reader turns over again."""


def router(engine: Engine, work: Work) -> APIRouter:
    """``GET /sources/{id}/pages`` and ``GET /sources/{id}/pages/{n}.png``."""
    routes = APIRouter()
    reader = PdfReader(engine.config.limit)

    @lru_cache(_CACHED)
    def pages_of(
        path: Path, _state: tuple[int, int], places: tuple[tuple[int, int, str], ...]
    ) -> list[PdfPage]:
        return reader.pages(path, places)

    @lru_cache(_CACHED)
    def picture_of(
        path: Path, _state: tuple[int, int], number: int, text: str, start: int, end: int,
        scale: float,
    ) -> bytes:  # fmt: skip
        return reader.picture(path, number, text, start, end, scale)

    def pages(source_id: str, namespace: str | None) -> tuple[Path, list[PdfPage], str]:
        with engine.store.reading():
            source, text = find(engine, source_id, namespace)
            places = engine.store.contents.places(source.id, source.namespace)
        path = Path(source.origin or "")
        # Members of an archive have its path before their names.
        if source.origin != source.id or path.suffix.lower() != ".pdf" or not path.is_file():
            raise NotFoundError(f"the source {source_id!r} has no PDF file that is still there")
        return path, pages_of(path, _state(path), tuple(places)), text

    def draw(
        source_id: str, namespace: str | None, number: int, start: int, end: int, scale: float
    ) -> bytes:
        path, found, text = pages(source_id, namespace)
        if not 1 <= number <= len(found):
            raise NotFoundError(f"there is no page {number}; the file has {len(found):,}")
        page = found[number - 1]
        on_page = text[page.start : page.end]
        first, last = (min(max(0, offset - page.start), len(on_page)) for offset in (start, end))
        return picture_of(path, _state(path), number, on_page, first, last, scale)

    @routes.get("/sources/{source_id:id}/pages", response_model=PdfPages)
    async def list_pages(source_id: str, namespace: str | None = None) -> Response:
        """The pages of a source that came from a PDF file which is still there."""
        _, found, _ = await work.read(pages, source_id, namespace)
        return json_response(PdfPages(pages=tuple(found)))

    @routes.get(
        "/sources/{source_id:id}/pages/{number}.png",
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}},
    )
    async def show_page(
        source_id: str,
        number: int,
        namespace: str | None = None,
        start: Annotated[int, Query(ge=0)] = 0,
        end: Annotated[int, Query(ge=0)] = 0,
        scale: Annotated[float, Query(ge=0.1, le=4)] = 1.5,
    ) -> Response:
        """A page as a picture, in which the words of the span [start, end) are marked."""
        picture = await work.read(draw, source_id, namespace, number, start, end, scale)
        return Response(picture, media_type="image/png")

    return routes


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file does."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size
