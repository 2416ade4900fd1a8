"""Routes about the server and its memory as a whole: info, healthz, metrics."""

from fastapi import APIRouter
from fastapi.responses import Response

from memnet.engine import Engine
from memnet.server.metrics import Metrics
from memnet.server.values import Health, json_response
from memnet.server.work import Work
from memnet.types import StoreInfo


def router(engine: Engine, work: Work, metrics: Metrics) -> APIRouter:
    """``GET /info``, ``GET /healthz`` and ``GET /metrics``."""
    routes = APIRouter()

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
