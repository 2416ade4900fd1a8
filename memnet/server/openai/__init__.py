"""A memory behind the HTTP interface of OpenAI: chat completions, embeddings and models."""

from fastapi import APIRouter

from memnet.engine import Engine
from memnet.server.openai import chat, embeddings, models
from memnet.server.openai.errors import ERROR_RESPONSES, OpenAIRoute
from memnet.server.work import Work

__all__ = ["router"]


def router(engine: Engine, work: Work) -> APIRouter:
    """The routes below ``/v1``. What goes wrong in them is told in OpenAI's form."""
    routes = APIRouter(
        prefix="/v1", route_class=OpenAIRoute, tags=["openai"], responses=ERROR_RESPONSES
    )
    models.add_routes(routes)
    chat.add_routes(routes, engine, work)
    embeddings.add_routes(routes, engine, work)
    return routes
