"""Routes about sources: list, read, put, upload, forget; the pages of PDF files and pictures."""

import json
import re
import subprocess
import threading
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, UploadFile
from fastapi.responses import Response
from starlette.convertors import PathConvertor, register_url_convertor

from memnet.engine import Engine
from memnet.errors import InputError, MemnetError, Problem, one_line
from memnet.experts.stored import find_sources
from memnet.loaders.formats import find_format, format_by_name
from memnet.reader.rows import labelled_row
from memnet.runtime.process import start_child
from memnet.server.errors import NotFoundError
from memnet.server.values import (
    Forgotten,
    PdfPage,
    PdfPages,
    PutRequest,
    SourcePage,
    SourceText,
    UploadedFile,
    UploadReport,
    json_response,
)
from memnet.server.work import Work
from memnet.storage import SourceFilter
from memnet.text.checks import check_text
from memnet.types import Cell, Document, IngestReport, Source, SourceKind

_MAX_PAGE = 1000
_TABLES = frozenset({"csv", "sheets"})  # formats each of whose rows is a line
_LINE = re.compile(r"[^\n]+")
_MAX_QUERY = 1000  # characters
# Bytes: file systems take 255, and a store adds some for the while of a change.
_MAX_NAME = 200
_MAX_PARTS = 20  # folders that a file is in, and its name
# What some file system does not take, or takes for something else.
_NO_NAME = re.compile(r'[\x00-\x1f\x7f<>:"|?*/\\]|^\.*$|[. ]$')
# Names that are not files on Windows
_DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}
)


class _IdConvertor(PathConvertor):
    """Any text. Starlette's "path" ends before a line end, so that "a" would stand for "a\\n"."""

    regex = "(?s:.*)"


register_url_convertor("id", _IdConvertor())


def router(engine: Engine, work: Work) -> APIRouter:
    """``GET /sources`` and ``GET /sources/{id}``."""
    routes = APIRouter()

    def page(wanted: SourceFilter, limit: int, after: int) -> SourcePage:
        sources = engine.store.sources
        with engine.store.reading():
            found = sources.page(after, limit + 1, wanted)
            total = sources.count(wanted)
        return SourcePage(
            sources=tuple(source for _, source in found[:limit]),
            next=found[limit - 1][0] if len(found) > limit else None,
            total=total,
        )

    def text(source_id: str, namespace: str | None, start: int, end: int | None) -> SourceText:
        with engine.store.reading():
            source, whole = find(engine, source_id, namespace)
            headings = engine.store.sources.headings(source.id, source.namespace)
            part, first = whole[start:end], min(start, len(whole))
            last = first + len(part)
            places = engine.store.contents.places(source.id, source.namespace, first, last)
        known = find_format(source.origin or source.id)
        lines = _LINE.finditer(part) if known is not None and known.name in _TABLES else ()
        starts = {begin - first for begin, _, _ in places}
        rows = (
            labelled_row(whole, line.start() + first, line.end() + first)
            for line in lines
            if line.start() in starts
        )
        return SourceText(
            source=source, text=part, start=first, end=last, length=len(whole),
            headings=tuple(one for one in headings if first <= one[0] < max(last, first + 1)),
            places=tuple((begin, place) for begin, _, place in places),
            rows=tuple(tuple(Cell(**one._asdict()) for one in row) for row in rows if row),
        )  # fmt: skip

    @routes.get("/sources", response_model=SourcePage)
    async def sources(
        namespace: str | None = None,
        kind: SourceKind | None = None,
        query: Annotated[str, Query(max_length=_MAX_QUERY)] = "",
        since: date | None = None,
        until: date | None = None,
        limit: Annotated[int, Query(ge=1, le=_MAX_PAGE)] = 100,
        after: Annotated[int, Query(ge=0, lt=2**63)] = 0,
    ) -> Response:
        """Sources, page by page: title or id holds ``query``, a date is between two days."""
        days = (str(since or date.min), str(until or date.max)) if since or until else None
        wanted = SourceFilter(namespace, kind, query=query, days=days)
        return json_response(await work.read(page, wanted, limit, after))

    @routes.get("/sources/{source_id:id}", response_model=SourceText)
    async def source(
        source_id: str,
        namespace: str | None = None,
        start: Annotated[int, Query(ge=0)] = 0,
        end: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """A source with its text, or the part [start:end] of it."""
        return json_response(await work.read(text, source_id, namespace, start, end))

    return routes


def writing_router(engine: Engine, work: Work) -> APIRouter:
    """``PUT`` and ``DELETE /sources/{id}``, and ``POST /upload``."""
    routes = APIRouter()

    def ingest(source_id: str, given: PutRequest) -> IngestReport:
        if not source_id:
            raise InputError("empty source id; expected PUT /sources/ID")
        problems: list[Problem] = []
        document = Document(
            id=source_id, text=given.text, title=given.title, metadata=given.metadata
        )
        try:
            return engine.ingest(
                document, namespace=given.namespace, full=False, on_problem=problems.append
            )
        except InputError as error:
            raise InputError(str(problems[0]) if problems else str(error)) from error

    def delete(source_id: str, namespace: str) -> int:
        with engine.store.writing():
            if find_sources(engine.store, [source_id], namespace, engine.config.limit)[0] is None:
                raise _unknown(source_id)
            return engine.forget(source_id, namespace=namespace)

    @routes.put("/sources/{source_id:id}", response_model=IngestReport)
    async def put(source_id: str, given: PutRequest) -> Response:
        """Store a document, or replace the one of this id."""
        return json_response(await work.write(ingest, source_id, given))

    @routes.delete("/sources/{source_id:id}", response_model=Forgotten)
    async def forget(source_id: str, namespace: str = "") -> Response:
        """Remove a source with all that was made from it."""
        return json_response(Forgotten(forgotten=await work.write(delete, source_id, namespace)))

    def store(upload: UploadFile, namespace: str) -> IngestReport:
        problems: list[Problem] = []
        check_text(namespace, "the namespace", engine.config.limit.name)
        name = _file_name(upload.filename or "")
        with (
            engine.store.writing(),
            engine.store.uploads.replacing(name, upload.file, namespace) as path,
        ):
            try:
                return engine.ingest(
                    path, namespace=namespace, full=False, on_problem=problems.append
                )
            except InputError as error:
                message = problems[0].what if problems else str(error)
                # The client need not know where the file is kept.
                message = message.removeprefix(f"{path}: ").replace(str(path), name)
                raise InputError(message) from error

    async def report(upload: UploadFile, namespace: str) -> UploadedFile:
        name = one_line(upload.filename or "")
        try:
            return UploadedFile(name=name, report=await work.write(store, upload, namespace))
        except MemnetError as error:
            return UploadedFile(name=name, error=str(error))

    @routes.post("/upload", response_model=UploadReport)
    async def upload(files: list[UploadFile], namespace: Annotated[str, Form()] = "") -> Response:
        """Store files of any format that ``memnet ingest`` reads; one of the same name is replaced.

        A file that can't be used is reported, and the others are stored.
        """
        reports = [await report(file, namespace) for file in files]
        return json_response(UploadReport(reports=tuple(reports)))

    return routes


def find(engine: Engine, source_id: str, namespace: str | None) -> tuple[Source, str]:
    """A source with its text.

    Without a namespace the default one is searched first, then the others: answers from all
    namespaces cite sources by id alone. ``NotFoundError`` if it is not stored.
    """
    store = engine.store
    with store.reading():
        wanted = [namespace or ""]
        if namespace is None:
            wanted += store.sources.namespaces([source_id]).get(source_id, [])
        for where in wanted:
            (name,) = find_sources(store, [source_id], where, engine.config.limit)
            found = None if name is None else store.sources.get(name, where)
            if found is not None:
                return found
    raise _unknown(source_id)


def _unknown(source_id: str) -> NotFoundError:
    return NotFoundError(f"no source {source_id!r} is stored; GET /sources lists all")


def _file_name(given: str) -> str:
    """The name that a file is kept under, with the folders that the client gives it."""
    path = PureWindowsPath(given)
    parts = [part for part in path.parts if part not in (path.anchor, "..")]
    if not 0 < len(parts) <= _MAX_PARTS or not all(map(_is_name, parts)):
        raise InputError(
            f"invalid file name {given[:_MAX_NAME]!r}; rename it, to {_MAX_NAME} bytes at most"
        )
    return "/".join(parts)


def _is_name(part: str) -> bool:
    """Whether every file system takes a part of a path."""
    fits = len(part.encode("utf-8", "replace")) <= _MAX_NAME
    return fits and not _NO_NAME.search(part) and PureWindowsPath(part).stem.upper() not in _DEVICES


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


def pdf_router(engine: Engine, work: Work) -> APIRouter:
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
