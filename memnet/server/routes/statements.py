"""Routes about what was told: tell, undo, history."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.server.values import History, TellRequest, UndoRequest, json_response
from memnet.server.work import Work
from memnet.types import Statement, TellReport, UndoReport

_MAX_STATEMENTS = 1000


def router(engine: Engine, work: Work) -> APIRouter:
    """``GET /history``."""
    routes = APIRouter()

    def find(
        subject: str | None, query: str | None, namespace: str | None, limit: int
    ) -> tuple[Statement, ...]:
        found = engine.history(subject, namespace=namespace)
        if query is not None:
            words = query.casefold().split()
            found = tuple(
                one for one in found if all(word in one.text.casefold() for word in words)
            )
        return found[-limit:]

    @routes.get("/history", response_model=History)
    async def history(
        subject: str | None = None,
        query: str | None = None,
        namespace: str | None = None,
        limit: Annotated[int, Query(ge=1, le=_MAX_STATEMENTS)] = 100,
    ) -> Response:
        """Statements about a subject, or with all words of a query; the last ``limit`` of them."""
        found = await work.read(find, subject, query, namespace, limit)
        return json_response(History(statements=found))

    return routes


def writing_router(engine: Engine, work: Work) -> APIRouter:
    """``POST /tell`` and ``POST /undo``."""
    routes = APIRouter()

    @routes.post("/tell", response_model=TellReport)
    async def tell(told: TellRequest) -> Response:
        """Remember sentences; the object that ``memnet tell --json`` prints."""
        report = await work.write(engine.tell, told.text, at=told.at, namespace=told.namespace)
        return json_response(report)

    @routes.post("/undo", response_model=UndoReport)
    async def undo(request: UndoRequest) -> Response:
        """Take back what was told last."""
        return json_response(await work.write(engine.undo, namespace=request.namespace))

    return routes
