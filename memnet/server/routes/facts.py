"""The route that shows facts as a graph."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.facts.linking import link
from memnet.server.values import FactEdge, FactGraph, FactNode, json_response
from memnet.server.work import Work
from memnet.storage import MemoryStore, Scope, Slot
from memnet.text.checks import check_namespace, check_text
from memnet.text.names import symbol

_MAX_HOPS = 4
_MAX_NODES = 1000
# That are looked at for each node that is wanted: more lead to the same ones mostly.
_FACTS_PER_NODE = 20


def router(engine: Engine, work: Work) -> APIRouter:
    """``GET /facts``."""
    routes = APIRouter()

    def find(entity: str, hops: int, namespace: str | None, limit: int) -> FactGraph:
        check_text(entity, "the entity", engine.config.limit.question)
        check_namespace(namespace, engine.config.limit)
        with engine.store.reading():
            return neighbourhood(engine.store, entity, hops, namespace, limit)

    @routes.get("/facts", response_model=FactGraph)
    async def facts(
        entity: str,
        hops: Annotated[int, Query(ge=1, le=_MAX_HOPS)] = 1,
        namespace: str | None = None,
        limit: Annotated[int, Query(ge=1, le=_MAX_NODES)] = 60,
    ) -> Response:
        """The facts around an entity, with at most ``limit`` nodes."""
        return json_response(await work.read(find, entity, hops, namespace, limit))

    return routes


def neighbourhood(
    store: MemoryStore, entity: str, hops: int, namespace: str | None, limit: int
) -> FactGraph:
    """Facts reachable from the entities that a text names, breadth first."""
    scope = Scope(namespace, kinds=frozenset({"facts"}))
    mentions = link(entity, store.facts.subjects).mentions
    labels: dict[str, str] = {}
    edges: dict[tuple[str, str, str], FactEdge] = {}
    frontier = [name for mention in mentions for name in mention.names]
    for _ in range(hops):
        reached: dict[str, None] = {}
        for slot in _facts_about(store, frontier, limit * _FACTS_PER_NODE, scope):
            here, there = symbol(slot.title), symbol(slot.value)
            for name, label in ((here, slot.title), (there, slot.value)):
                if name not in labels and len(labels) < limit:
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
