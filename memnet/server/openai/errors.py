"""Errors in OpenAI's form: ``{"error": {"message", "type", "param", "code"}}``."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from memnet.errors import InputError, MemnetError, StoreBusyError, one_line

_INVALID = "invalid_request_error"
_SERVER = "server_error"


class OpenAIErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    """The field of the request that is wrong."""
    code: str | None


class OpenAIErrorBody(BaseModel):
    """The body of a response that is an error."""

    error: OpenAIErrorDetail


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"model": OpenAIErrorBody, "description": "An error"}
}
"""For the schema of routes."""


class ModelNotFoundError(MemnetError):
    """A request names a model that is not served."""


class OpenAIRoute(APIRoute):
    """A route whose errors are responses in OpenAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler of the route, with its errors answered."""
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                # The body as a whole has no name.
                where = ".".join(str(part) for part in first["loc"][1:])
                message = f"{where or 'body'}: {first['msg']}"
                return _response(400, message, _INVALID, param=where or None)
            except HTTPException as error:
                return _response(error.status_code, str(error.detail), _INVALID)
            except ModelNotFoundError as error:
                return _response(404, str(error), _INVALID, "model", "model_not_found")
            except InputError as error:
                return _response(400, str(error), _INVALID)
            except StoreBusyError as error:
                return _response(503, str(error), _SERVER)
            except MemnetError as error:
                return _response(500, str(error), _SERVER)

        return handle_errors


def _response(
    status: int, message: str, kind: str, param: str | None = None, code: str | None = None
) -> Response:
    detail = OpenAIErrorDetail(message=one_line(message), type=kind, param=param, code=code)
    return Response(
        OpenAIErrorBody(error=detail).model_dump_json(), status, media_type="application/json"
    )
