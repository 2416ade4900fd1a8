"""Errors as clients see them: ``{"error": {"message": one line, "type": ...}}``."""

import logging
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
    401: "unauthorized", 404: "not_found", 409: "conflict", 413: "too_large",
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


def error_body(message: str, kind: ErrorType) -> str:
    """An error as JSON."""
    return ErrorBody(error=ErrorDetail(message=one_line(message), type=kind)).model_dump_json()


def error_response(
    status: int, message: str, kind: ErrorType, headers: dict[str, str] | None = None
) -> Response:
    """An error as a response."""
    return Response(error_body(message, kind), status, headers, "application/json")


def describe(error: Exception) -> tuple[int, str, ErrorType]:
    """HTTP status, message and type of an error; a bug is logged and not described."""
    match error:
        case NotFoundError():
            return 404, str(error), "not_found"
        case InputError():
            return 400, str(error), "invalid_request"
        case StoreBusyError():
            return 409, str(error), "conflict"
        case MemnetError():
            return 500, str(error), "internal"
    _log.error("a request failed", exc_info=error)
    return 500, "internal server error; see the server's log", "internal"


def handle_errors(app: FastAPI) -> None:
    """Make an app return all its errors in this form."""

    async def of_memory(_: Request, error: Exception) -> Response:
        return error_response(*describe(error))

    async def of_request(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for it alone
        if isinstance(error.body, bytes) and error.body:  # not parsed
            message = "expected a JSON body: send 'Content-Type: application/json'"
        else:
            first = error.errors()[0]
            message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return error_response(422, message, "invalid_request")

    async def of_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  # registered for it alone
        kind = _OF_STATUS.get(error.status_code, "invalid_request")
        headers = dict(error.headers or {})
        return error_response(error.status_code, str(error.detail), kind, headers)

    app.add_exception_handler(MemnetError, of_memory)
    app.add_exception_handler(RequestValidationError, of_request)
    app.add_exception_handler(HTTPException, of_http)


class CatchErrors:
    """ASGI middleware that turns unexpected exceptions (bugs) into responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        started = False

        async def note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, note)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await error_response(*describe(error))(scope, receive, send)
