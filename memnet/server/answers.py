"""Routes that answer, about statements and facts, and about the memory as a whole."""

import time
from collections.abc import AsyncIterator
from functools import partial
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from memnet.engine import Engine
from memnet.facts.model import link
from memnet.server.errors import describe, error_body
from memnet.server.values import (
    AskRequest,
    FactEdge,
    FactGraph,
    FactNode,
    Found,
    Health,
    History,
    SearchRequest,
    TellRequest,
    UndoRequest,
    json_response,
)
from memnet.server.work import Metrics, Work
from memnet.storage import MemoryStore, Scope, Slot
from memnet.text.checks import check_namespace, check_text
from memnet.text.follow_ups import answer_after
from memnet.text.names import symbol
from memnet.types import Answer, Statement, StoreInfo, TellReport, UndoReport

_MAX_STATEMENTS = 1000
_MAX_HOPS = 4
_MAX_NODES = 1000
# That are looked at for each node that is wanted: more lead to the same ones mostly.
_FACTS_PER_NODE = 20


def router(engine: Engine, work: Work, metrics: Metrics) -> APIRouter:
    """``POST /ask``, ``/ask/stream`` and ``/search``, and all ``GET`` but those of sources."""
    routes = APIRouter()

    def answered(asked: AskRequest) -> Answer:
        options = dict(asked)
        question, before = options.pop("question"), options.pop("after")
        for text in (question, *(filter(None, (before.question, before.short)) if before else ())):
            check_text(text, "a question", engine.config.limit.question)
        return answer_after(question, before, partial(engine.ask, **options))[0]

    @routes.post("/ask", response_model=Answer)
    async def ask(asked: AskRequest) -> Response:
        """Answer a question: the object that ``memnet ask --json`` prints.

        Of a follow-up, ``question`` is what it was understood as.
        """
        return json_response(await work.answer(answered, asked))

    @routes.post(
        "/ask/stream",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def ask_stream(asked: AskRequest) -> Response:
        """Answer a question as events: ``hop`` for each hop, then ``answer``, or ``error``."""

        async def events() -> AsyncIterator[str]:
            yield ": reading\n\n"  # acknowledges the question at once
            try:
                answer = await work.answer(answered, asked)
            except Exception as error:
                yield _event("error", error_body(*describe(error)))
                return
            for hop in answer.hops:
                yield _event("hop", hop.model_dump_json())
            yield _event("answer", answer.model_dump_json())

        return StreamingResponse(events(), media_type="text/event-stream")

    @routes.post("/search", response_model=Found)
    async def search(asked: SearchRequest) -> Response:
        """Find evidence without reading an answer in it."""
        started = time.perf_counter()
        evidence = await work.answer(engine.search, **dict(asked))
        elapsed = (time.perf_counter() - started) * 1000
        return json_response(Found(evidence=evidence, elapsed_ms=elapsed))

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

    def around(entity: str, hops: int, namespace: str | None, limit: int) -> FactGraph:
        check_text(entity, "the entity", engine.config.limit.question)
        check_namespace(namespace, engine.config.limit)
        with engine.store.reading():
            return _neighbourhood(engine.store, entity, hops, namespace, limit)

    @routes.get("/facts", response_model=FactGraph)
    async def facts(
        entity: str,
        hops: Annotated[int, Query(ge=1, le=_MAX_HOPS)] = 1,
        namespace: str | None = None,
        limit: Annotated[int, Query(ge=1, le=_MAX_NODES)] = 60,
    ) -> Response:
        """The facts around an entity, with at most ``limit`` nodes."""
        return json_response(await work.read(around, entity, hops, namespace, limit))

    @routes.get("/info", response_model=StoreInfo)
    async def info() -> Response:
        """What the memory holds: the object that ``memnet info --json`` prints."""
        return json_response(await work.read(engine.info))

    @routes.get("/healthz", response_model=Health)
    async def healthz() -> Response:
        """That the server answers."""
        return json_response(Health())

    @routes.get("/metrics", response_class=Response)
    async def show_metrics() -> Response:
        """Counts and times in the Prometheus text format."""
        counts = await work.read(engine.store.counts)
        text = metrics.text({"memnet_slots": counts.slots, "memnet_sources": counts.sources})
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes


def _event(name: str, data: str) -> str:
    """A server-sent event (HTML standard, 9.2); its data is JSON, which has no line ends."""
    return f"event: {name}\ndata: {data}\n\n"


def _neighbourhood(
    store: MemoryStore, entity: str, hops: int, namespace: str | None, limit: int
) -> FactGraph:
    """Facts reachable from the entities that a text names, breadth first."""
    scope = Scope(namespace, kinds=frozenset({"facts"}))
    mentions = link(entity, store.facts.subjects).mentions
    labels: dict[str, str] = {}
    edges: dict[tuple[str, str, str], FactEdge] = {}
    frontier = [name for mention in mentions for name in mention.names]
    for hop in range(hops + 1):  # the last one finds the facts between those that are there
        reached: dict[str, None] = {}
        for slot in _facts_about(store, frontier, limit * _FACTS_PER_NODE, scope):
            here, there = symbol(slot.title), symbol(slot.value)
            for name, label in ((here, slot.title), (there, slot.value)):
                if name not in labels and len(labels) < limit and hop < hops:
                    labels[name] = label
                    reached[name] = None
            source, target = (here, there) if slot.kind == "fact" else (there, here)
            edge = FactEdge(source=source, target=target, relation=slot.relation, slot=slot.id)
            if {source, target} <= labels.keys():
                edges.setdefault((source, slot.relation, target), edge)
        frontier = [name for name in reached if name not in frontier]
    return FactGraph(
        nodes=tuple(FactNode(id=name, label=label) for name, label in labels.items()),
        edges=tuple(edges.values()),
    )


def _facts_about(store: MemoryStore, names: list[str], limit: int, scope: Scope) -> list[Slot]:
    """Facts and reverse facts about some symbols, in the order of the names."""
    found = store.search_symbolic(names, limit, scope)
    ids = dict.fromkeys(slot for name in names for slot in found.get(name, ()))
    return [slot for slot in store.fetch(list(islice(ids, limit))) if slot.kind != "passage"]


def writing_router(engine: Engine, work: Work) -> APIRouter:
    """``POST /tell`` and ``POST /undo``."""
    routes = APIRouter()

    @routes.post("/tell", response_model=TellReport)
    async def tell(told: TellRequest) -> Response:
        """Remember sentences; the object that ``memnet tell --json`` prints."""
        return json_response(await work.write(engine.tell, **dict(told)))

    @routes.post("/undo", response_model=UndoReport)
    async def undo(request: UndoRequest) -> Response:
        """Undo the last tell."""
        return json_response(await work.write(engine.undo, **dict(request)))

    return routes
