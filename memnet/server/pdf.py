"""The pages of PDF files and pictures: routes, what text stands on each, and how they look."""

import json
import re
import subprocess
import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.errors import InputError
from memnet.loaders.formats import format_by_name
from memnet.runtime.process import start_child
from memnet.server.errors import NotFoundError
from memnet.server.sources import find
from memnet.server.values import PdfPage, PdfPages, json_response
from memnet.server.work import Work

_CHILD = "from memnet.server.pdf_child import main; main()"
# A place of the loader of PDF files, "p. 8", "pp. 8-9" or "p. ii (2)", with the numbers of its
# pages.
_PLACE = re.compile(r"pp?\. (?:.* \()?(\d+)(?:-(\d+))?\)?")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CACHED = 32  # answers about files that are kept: pages that a reader turns over again
_SUFFIXES = {suffix for name in ("pdf", "picture") for suffix in format_by_name(name).suffixes}
_SECONDS = 20.0  # of processor time for a page: a whole book is read in as much.


def page_spans(places: Iterable[tuple[int, int, str]]) -> dict[int, tuple[int, int]]:
    """For each page, from 1, the part of the text that stands on it, as far as places tell."""
    spans: dict[int, tuple[int, int]] = {}
    for start, end, place in places:
        if found := _PLACE.fullmatch(place):
            first = int(found[1])
            for page in range(first, int(found[2] or first) + 1):
                before = spans.get(page, (start, end))
                spans[page] = min(before[0], start), max(before[1], end)
    return spans


def router(engine: Engine, work: Work) -> APIRouter:
    """``GET /sources/{id}/pages`` and ``GET /sources/{id}/pages/{n}.png``."""
    routes = APIRouter()
    one_at_a_time = threading.Lock()  # PDFium must not be used from several threads

    @lru_cache(_CACHED)
    def opened(path: Path, _state: tuple[int, int], **request: Any) -> bytes:
        """What a process of its own answers about a file: a hostile one may break PDFium."""
        limits = {"memory": engine.config.limit.load_memory, "seconds": _SECONDS}
        message = json.dumps({**request, "path": str(path), **limits}).encode()
        try:
            with one_at_a_time, start_child(_CHILD) as child:
                try:
                    answer, _ = child.communicate(message, 2 * _SECONDS)
                finally:
                    child.kill()
            if child.returncode:
                raise subprocess.CalledProcessError(child.returncode, child.args)
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f"can't render a page of {path}; the file is damaged, encrypted or too large"
            ) from error
        return answer

    def pages(source_id: str, namespace: str | None) -> tuple[Path, list[PdfPage], str]:
        with engine.store.reading():
            source, text = find(engine, source_id, namespace)
            spans = page_spans(engine.store.contents.places(source.id, source.namespace))
        path = Path(source.origin or "")
        # Members of an archive have its path before their names.
        if source.origin != source.id or path.suffix.lower() not in _SUFFIXES or not path.is_file():
            raise NotFoundError(f"the file with the pages of source {source_id!r} no longer exists")
        found: list[PdfPage] = []
        end = 0
        for number, size in enumerate(json.loads(opened(path, _state(path), page=None)), 1):
            start, end = spans.get(number, (end, end))
            found.append(PdfPage(page=number, width=size[0], height=size[1], start=start, end=end))
        return path, found, text

    def draw(
        source_id: str, namespace: str | None, number: int, start: int, end: int, scale: float
    ) -> bytes:
        path, found, text = pages(source_id, namespace)
        if not 1 <= number <= len(found):
            raise NotFoundError(f"no page {number}; the file has {len(found):,}")
        page = found[number - 1]
        on_page = text[page.start : page.end]
        first, last = (min(max(0, offset - page.start), len(on_page)) for offset in (start, end))
        picture = opened(
            path, _state(path), page=number - 1, text=on_page, start=first, end=last, scale=scale
        )
        if not picture.startswith(_SIGNATURE):
            raise InputError(f"PDFium can't render {path}; the file is damaged")
        return picture

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
