"""The route that takes files."""

import re
from pathlib import PureWindowsPath
from typing import Annotated

from fastapi import APIRouter, Form, UploadFile
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.errors import InputError, MemnetError, Problem, one_line
from memnet.server.values import UploadedFile, UploadReport, json_response
from memnet.server.work import Work
from memnet.text.checks import check_text
from memnet.types import IngestReport

_MAX_NAME = 200
"""Bytes: file systems take 255, and a store adds some for the while of a change."""
_NO_NAME = re.compile(r'[\x00-\x1f\x7f<>:"|?*/\\]|^\.*$|[. ]$')
"""What some file system does not take, or takes for something else."""


def writing_router(engine: Engine, work: Work) -> APIRouter:
    """``POST /upload``."""
    routes = APIRouter()

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
                # Where the file is kept is no concern of the client's.
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


def _file_name(given: str) -> str:
    """The name that a file is kept under: the last part of what the client calls it.

    Raises:
        InputError: it is none.
    """
    name = PureWindowsPath(given).name
    if not name or _NO_NAME.search(name) or PureWindowsPath(name).stem.upper() in _DEVICES:
        raise InputError(f"the file name {given[:_MAX_NAME]!r} can't be kept; rename the file")
    if len(name.encode("utf-8", "replace")) > _MAX_NAME:
        raise InputError(f"the file name is longer than {_MAX_NAME} bytes; rename the file")
    return name


_DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}
)
"""Names that are no files on Windows."""
