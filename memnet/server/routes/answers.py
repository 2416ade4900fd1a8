"""Routes that answer: ask, at once or as a stream of events, and search."""

import time
from collections.abc import AsyncIterator

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from memnet.engine import Engine
from memnet.server.errors import describe, error_body
from memnet.server.values import AskRequest, Found, SearchRequest, json_response
from memnet.server.work import Work
from memnet.types import Answer


def router(engine: Engine, work: Work) -> APIRouter:
    """``POST /ask``, ``POST /ask/stream`` and ``POST /search``."""
    routes = APIRouter()

    def answer(asked: AskRequest) -> Answer:
        return engine.ask(
            asked.question,
            hops=asked.hops,
            top_k=asked.top_k,
            namespace=asked.namespace,
            where=asked.where,
            as_of=asked.as_of,
        )

    @routes.post("/ask", response_model=Answer)
    async def ask(asked: AskRequest) -> Response:
        """Answer a question: the object that ``memnet ask --json`` prints."""
        return json_response(await work.answer(answer, asked))

    @routes.post(
        "/ask/stream",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def ask_stream(asked: AskRequest) -> Response:
        """Answer a question as events: ``hop`` for each hop, then ``answer``, or ``error``."""

        async def events() -> AsyncIterator[str]:
            yield ": reading\n\n"  # lets the client know that the question has arrived
            try:
                answered = await work.answer(answer, asked)
            except Exception as error:
                _, message, kind = describe(error)
                yield _event("error", error_body(message, kind))
                return
            for hop in answered.hops:
                yield _event("hop", hop.model_dump_json())
            yield _event("answer", answered.model_dump_json())

        return StreamingResponse(events(), media_type="text/event-stream")

    @routes.post("/search", response_model=Found)
    async def search(asked: SearchRequest) -> Response:
        """Find evidence without reading an answer in it."""
        started = time.perf_counter()
        evidence = await work.answer(
            engine.search,
            asked.query,
            asked.top_k,
            hops=asked.hops,
            namespace=asked.namespace,
            where=asked.where,
            as_of=asked.as_of,
        )
        elapsed = (time.perf_counter() - started) * 1000
        return json_response(Found(evidence=evidence, elapsed_ms=elapsed))

    return routes


def _event(name: str, data: str) -> str:
    """A server-sent event (HTML standard, 9.2); its data is JSON, which has no line ends."""
    return f"event: {name}\ndata: {data}\n\n"
