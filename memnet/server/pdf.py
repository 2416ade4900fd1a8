"""The pages of PDF files: routes, which part of a text stands on each, and their pictures."""

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

from memnet.config import LimitConfig
from memnet.engine import Engine
from memnet.errors import InputError
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
_SECONDS = 20.0  # of processor time for a page: a whole book is read in as much.


class PdfReader:
    """Opens PDF files, one after the other, each in a process of its own.

    PDFium must not be used from several threads, and a hostile file may break it.
    """

    def __init__(self, limits: LimitConfig) -> None:
        self._limits = limits
        self._one_at_a_time = threading.Lock()

    def pages(self, path: Path, places: Iterable[tuple[int, int, str]]) -> list[PdfPage]:
        """The pages of a file, with the parts of its text that ``places`` put there."""
        sizes = json.loads(self._run(path, page=None))
        spans = page_spans(places)
        pages: list[PdfPage] = []
        end = 0
        for number, (width, height) in enumerate(sizes, 1):
            start, end = spans.get(number, (end, end))
            pages.append(PdfPage(page=number, width=width, height=height, start=start, end=end))
        return pages

    def picture(
        self, path: Path, number: int, text: str, start: int, end: int, scale: float
    ) -> bytes:
        """A page, from 1, as a PNG file with ``scale`` pixels for each point.

        What stands on it is ``text``, whose words from ``start`` to ``end`` are marked.
        """
        data = self._run(path, page=number - 1, text=text, start=start, end=end, scale=scale)
        if not data.startswith(_SIGNATURE):
            raise InputError(f"PDFium can't render {path}; the file is damaged")
        return data

    def _run(self, path: Path, **request: Any) -> bytes:
        """What the process answers; ``InputError`` if it ends without an answer."""
        request |= {"path": str(path), "memory": self._limits.load_memory, "seconds": _SECONDS}
        try:
            with self._one_at_a_time, start_child(_CHILD) as child:
                try:
                    answer, _ = child.communicate(json.dumps(request).encode(), 2 * _SECONDS)
                finally:
                    child.kill()
            if child.returncode:
                raise subprocess.CalledProcessError(child.returncode, child.args)
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f"can't render a page of {path}; the file is damaged, encrypted or too large"
            ) from error
        return answer


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


# Files whose pages, and pictures, are kept: those that a reader turns over again.
_CACHED = 16


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
            raise NotFoundError(f"the PDF file of source {source_id!r} no longer exists")
        return path, pages_of(path, _state(path), tuple(places)), text

    def draw(
        source_id: str, namespace: str | None, number: int, start: int, end: int, scale: float
    ) -> bytes:
        path, found, text = pages(source_id, namespace)
        if not 1 <= number <= len(found):
            raise NotFoundError(f"no page {number}; the file has {len(found):,}")
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
