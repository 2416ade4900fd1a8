"""The server over streamable HTTP, as an ASGI application to mount."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    TransportSecuritySettings,
)

from memnet.engine import Engine
from memnet.mcp.memory import OpenMemory
from memnet.mcp.server import build_server
from memnet.mcp.stdio import Tools

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


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
            headers = [(b"allow", b"POST"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 405, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        # Read before the library waits in tasks of its own: what goes wrong here has its type then.
        body = await _body(receive)
        if body is None:
            return
        whole = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        manager = StreamableHTTPSessionManager(
            app=server, json_response=True, stateless=True, security_settings=trusting
        )
        async with manager.run():
            await manager.handle_request(scope, replay, send)

    return app


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if its client leaves. Of more than the library reads, a part."""
    body = bytearray()
    while len(body) <= DEFAULT_MAX_REQUEST_BODY_SIZE:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)
