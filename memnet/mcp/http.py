"""The server over streamable HTTP, as an ASGI application to mount."""

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memnet.engine import Engine
from memnet.mcp.memory import OpenMemory
from memnet.mcp.server import build_server
from memnet.mcp.stdio import Tools


def http_app(
    engine: Engine,
    read_only: bool = False,
    *,
    tools: Tools = "memory",
    namespace: str | None = None,
) -> ASGIApp:
    """An ASGI application that answers each POST by itself, with JSON and without sessions.

    It may be mounted anywhere and needs no lifespan; several processes may serve one client. Who
    mounts it checks hosts and tokens. The arguments are those of ``serve_stdio``.
    """
    server: Any = build_server(OpenMemory(engine, namespace), tools, read_only)
    # The application around this one checks hosts.
    trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            # The server never speaks first, so that there is no stream to open or session to end.
            refusal = PlainTextResponse("POST only", 405, headers={"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(
            app=server, json_response=True, stateless=True, security_settings=trusting
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return app
