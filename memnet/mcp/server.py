"""Joins tools and resources with the protocol's library."""

import logging
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from memnet.errors import InputError, MemnetError, one_line
from memnet.mcp.identity import GRAPH_INSTRUCTIONS, INSTRUCTIONS, NAME, TITLE, VERSION
from memnet.mcp.memory import ServedMemory
from memnet.mcp.resources import SOURCE_TEMPLATE, list_sources_page, read_source
from memnet.mcp.stdio import Tools
from memnet.mcp.tools import Tool

_Context = ServerRequestContext[Any]
_Result = TypeVar("_Result")


def build_server(memory: ServedMemory, tools: Tools, read_only: bool) -> Server[Any]:
    """A server of the protocol for one memory.

    Each call runs on a thread. What memnet refuses is an error of the tool in one line, which the
    client's model reads; a bug keeps its traceback on standard error.
    """
    # The library's notes about each message are of no use to who runs the server.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    known = {tool.name: tool for tool in _tools(tools)}
    offered = [tool for tool in known.values() if not (read_only and tool.writes)]
    listed = [_listed(tool) for tool in offered]

    async def list_tools(
        _context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        _context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = known.get(params.name)
        if tool is None:
            names = ", ".join(one.name for one in offered)
            return _failed(f"there is no tool {params.name!r}; the tools are {names}")
        if tool not in offered:
            return _failed(f"the memory is served read-only, so {tool.name!r} is refused")
        return await anyio.to_thread.run_sync(
            partial(_call, memory, tool, params.arguments or {}), abandon_on_cancel=True
        )

    async def list_resources(
        _context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        return await _on_thread(partial(list_sources_page, memory, cursor))

    async def list_templates(
        _context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[SOURCE_TEMPLATE])

    async def read_resource(
        _context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await _on_thread(partial(read_source, memory, params.uri))

    return Server(
        NAME,
        title=TITLE,
        version=VERSION,
        instructions=INSTRUCTIONS if tools == "memory" else GRAPH_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _tools(tools: Tools) -> tuple[Tool[Any], ...]:
    if tools == "memory":
        from memnet.mcp.memory_tools import MEMORY_TOOLS

        return MEMORY_TOOLS
    from memnet.mcp.graph_tools import GRAPH_TOOLS

    return GRAPH_TOOLS


def _listed(tool: Tool[Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _call(memory: ServedMemory, tool: Tool[Any], arguments: dict[str, Any]) -> types.CallToolResult:
    try:
        value, text = tool.call(memory, arguments)
    except MemnetError as error:
        return _failed(str(error))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return _failed(f"{tool.name} failed with {type(error).__name__}; see the server's log")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json", by_alias=True),
    )


def _failed(message: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=one_line(message))
    return types.CallToolResult(content=[content], is_error=True)


async def _on_thread(function: Callable[[], _Result]) -> _Result:
    """The result of a read of resources; memnet's own errors as errors of the protocol."""
    try:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
    except InputError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except MemnetError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
