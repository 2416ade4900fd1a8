"""Errors as clients see them: ``{"error": {"message": one line, "type": ...}}``."""

import logging
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memnet.errors import InputError, MemnetError, StoreBusyError, one_line
from memnet.types import Value

_log = logging.getLogger("memnet")

ErrorType = Literal[
    "invalid_request", "not_found", "unauthorized", "too_large", "read_only", "conflict", "internal"
]
_OF_STATUS: dict[int, ErrorType] = {
    401: "unauthorized", 403: "unauthorized", 404: "not_found", 409: "conflict", 413: "too_large",
    500: "internal",
}  # fmt: skip


class ErrorDetail(Value):
    """What went wrong."""

    message: str  # one line
    type: ErrorType


class ErrorBody(Value):
    """The body of every response that is an error."""

    error: ErrorDetail


# For the schema of routes; without it FastAPI describes errors of its own form.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"model": ErrorBody, "description": "An error"}
}


class NotFoundError(MemnetError):
    """What a request names is not stored."""


def error_body(status: int, message: str, kind: ErrorType | None = None) -> str:
    """An error as JSON, of the type that its HTTP status has if none is given."""
    kind = kind or _OF_STATUS.get(status, "invalid_request")
    return ErrorBody(error=ErrorDetail(message=one_line(message), type=kind)).model_dump_json()


def error_response(
    status: int,
    message: str,
    kind: ErrorType | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error as a response."""
    return Response(error_body(status, message, kind), status, headers, "application/json")


def describe(error: Exception) -> tuple[int, str]:
    """HTTP status and message of an error; a bug is logged and not described."""
    match error:
        case NotFoundError():
            return 404, str(error)
        case InputError():
            return 400, str(error)
        case StoreBusyError():
            return 409, str(error)
        case MemnetError():
            return 500, str(error)
    _log.error("a request failed", exc_info=error)
    return 500, "internal server error; see the server's log"


def handle_errors(app: FastAPI) -> None:
    """Make an app return all its errors in this form."""

    @app.exception_handler(MemnetError)
    async def of_memory(_: Request, error: MemnetError) -> Response:
        return error_response(*describe(error))

    @app.exception_handler(RequestValidationError)
    async def of_request(_: Request, error: RequestValidationError) -> Response:
        if isinstance(error.body, bytes) and error.body:  # not parsed
            message = "expected a JSON body: send 'Content-Type: application/json'"
        else:
            first = error.errors()[0]
            message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return error_response(422, message)

    @app.exception_handler(HTTPException)
    async def of_http(_: Request, error: HTTPException) -> Response:
        return error_response(error.status_code, str(error.detail), headers=error.headers)


def catch_errors(app: ASGIApp) -> ASGIApp:
    """ASGI middleware that turns unexpected exceptions (bugs) into responses."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await app(scope, receive, note)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await error_response(*describe(error))(scope, receive, send)

    return handle
