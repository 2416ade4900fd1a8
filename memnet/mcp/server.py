"""The server: memnet's tools and resources on the protocol's library, over both transports."""

import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memnet import __version__
from memnet.errors import InputError, MemnetError, one_line
from memnet.mcp.tools import ALIASES, WRITING, ServedMemory, add_tools, find_source
from memnet.text.citations import SOURCE_SCHEME, source_url

if TYPE_CHECKING:
    from memnet.engine import Engine

INSTRUCTIONS = (
    "A memory of documents, facts and statements on this machine. 'ask' answers a question with "
    "verbatim quotations and says so when the memory does not hold the answer; 'search' finds "
    "passages and 'fetch' reads a whole source. 'remember' keeps what the user says, one plain "
    "sentence per fact; a later sentence replaces what it makes out of date, and 'history' shows "
    "both."
)
_MAX_ARGUMENTS = 100  # of one call
_PAGE = 100  # resources


class MemoryServer(MCPServer[Any]):
    """The library's server; errors of tools are one line that the client's model can act on."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool, whose arguments may have any of the names in ``ALIASES``.

        Raises:
            ToolError: with one line: unknown tool or argument, wrong type, or memnet's own error.
        """
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            if name in WRITING:
                raise ToolError(f"the memory is read-only; the tool {name!r} is not available")
            raise ToolError(one_line(f"unknown tool {name!r}; available: {', '.join(tools)}"))
        expected = list(tools[name].input_schema.get("properties", {}))
        given = _canonical(name, arguments, expected)
        try:
            return await super().call_tool(name, given, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, MemnetError):
                raise ToolError(str(cause)) from cause
            if isinstance(cause, ValidationError):
                first = cause.errors(include_url=False)[0]
                problem = f"{'.'.join(map(str, first['loc']))!r}: {first['msg']}"
                raise _bad_arguments(name, problem, given, expected) from None
            raise


def _canonical(name: str, arguments: Mapping[str, Any], expected: list[str]) -> dict[str, Any]:
    """The arguments by the names of the tool, without nulls, which stand for a left-out value."""
    if len(arguments) > _MAX_ARGUMENTS:
        raise _bad_arguments(name, f"{len(arguments):,} arguments", {}, expected)
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        if value is None:
            continue
        aliased = (one for one in expected if key in ALIASES[one])
        target = key if key in expected else next(aliased, None)
        if target is None or target in given:
            raise _bad_arguments(name, f"unexpected argument {key!r}", arguments, expected)
        given[target] = value
    return given


def _bad_arguments(
    name: str, problem: str, given: Mapping[str, Any], expected: list[str]
) -> ToolError:
    found = ", ".join(given) or "nothing"
    return ToolError(
        one_line(f"{name}: {problem}; got {found}; expected {', '.join(expected) or 'none'}")
    )


def build_server(
    memory: ServedMemory, read_only: bool = False, *, open_early: bool = False
) -> MemoryServer:
    """A server of the protocol for one memory; tools run on threads.

    With ``open_early`` the memory is opened while the client shakes hands.
    """

    def preload() -> None:
        with suppress(MemnetError):  # the first tool call raises it again
            memory.engine().preload()

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
        # By now standard output is the protocol's alone.
        threading.Thread(target=preload, daemon=True).start()
        yield

    async def list_sources(
        ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Sources as resources, page by page: they change while the server runs."""
        if ctx.method != "resources/list":
            return await call_next(ctx)
        cursor = (ctx.params or {}).get("cursor")
        try:
            return await anyio.to_thread.run_sync(partial(_source_page, memory, cursor))
        except InputError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except MemnetError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    # The library's notes on each message would fill the server's log, and it would configure the
    # root logger of the whole application.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    server = MemoryServer(
        "memnet",
        title="memnet memory",
        version=__version__,
        instructions=INSTRUCTIONS,
        middleware=[list_sources],
        # A source id is a key of the store, never a path that is opened.
        resource_security=ResourceSecurity(
            reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False
        ),
        subscriptions=False,
        lifespan=lifespan if open_early else None,
    )
    root.handlers[:] = handlers
    root.setLevel(level)
    add_tools(server, memory, read_only)

    @server.resource(f"{SOURCE_SCHEME}{{+id}}", name="source", title="Source")
    def source(id: str) -> str:  # noqa: A002  # the name in the template
        """The text of a stored source, by its id."""
        try:
            return find_source(memory, id).text
        except InputError as error:
            raise ResourceNotFoundError(str(error)) from error
        except MemnetError as error:
            raise ResourceError(str(error)) from error

    return server


def _source_page(memory: ServedMemory, cursor: object) -> types.ListResourcesResult:
    """Sources after the first ``cursor`` ones.

    Raises:
        InputError: the cursor is not one that a list gave.
    """
    text = "0" if cursor is None else str(cursor)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InputError(f"invalid cursor {cursor!r}; expected the nextCursor of an earlier list")
    start = int(text)
    page = list(islice(memory.engine().sources(memory.namespace), start, start + _PAGE + 1))
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=source_url(source.id, {}),
                name=source.id,
                title=one_line(source.title) or None,
                description=f"{source.kind}, {source.slots} slots",
                mime_type="text/plain",
            )
            for source in page[:_PAGE]
        ],
        next_cursor=str(start + _PAGE) if len(page) > _PAGE else None,
    )


def serve_stdio(
    open_engine: "Callable[[], Engine]", *, read_only: bool = False, namespace: str | None = None
) -> None:
    """Serve one client over standard input and output until it closes the input.

    Only messages of the protocol reach standard output: meanwhile anything else printed there goes
    to standard error, and standard input is empty.

    Args:
        open_engine: opens the memory, on a thread; it is closed at the end. If it raises one of
            memnet's own errors, the tool call fails with that error, and the next call retries.
        read_only: leave out tools that write.
        namespace: to read and write in; None to read in all and write into the default one.
    """
    memory = ServedMemory(open_engine, namespace)
    try:
        build_server(memory, read_only, open_early=True).run("stdio")
    finally:
        memory.close()


def http_app(engine: "Engine", read_only: bool = False) -> Starlette:
    """An ASGI application that answers each POST to ``/mcp`` by itself, without sessions.

    Its lifespan must run, once. It checks neither hosts nor tokens: the application around it does.

    Args:
        engine: stays the caller's to close.
        read_only: leave out tools that write.
    """
    server = build_server(ServedMemory(lambda: engine), read_only)
    app = server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    # As a middleware of the app it would answer errors of the body before their handlers see them.
    outer = Starlette()
    outer.router.lifespan_context = app.router.lifespan_context
    outer.router.default = _posts_only(app)
    return outer


def _posts_only(app: ASGIApp) -> ASGIApp:
    """ASGI middleware that refuses other methods, and reads the body before the library does.

    The server never speaks first, so there is no stream to open nor a session to end; and an error
    of the body raised inside the library's tasks would lose its type.
    """

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        body = bytearray()
        try:
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > DEFAULT_MAX_REQUEST_BODY_SIZE:
                    break
        except ClientDisconnect:
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        await app(scope, replay, send)

    return handle
