"""Runs the server of the protocol's library over two streams."""

from typing import TextIO

import anyio
from mcp.server.stdio import stdio_server

from memnet.mcp.memory import ServedMemory
from memnet.mcp.server import build_server
from memnet.mcp.stdio import Tools


def run_stdio(
    memory: ServedMemory, tools: Tools, read_only: bool, received: TextIO, sent: TextIO
) -> None:
    """Serve one client until it closes its stream."""
    server = build_server(memory, tools, read_only)

    async def serve() -> None:
        streams = stdio_server(anyio.wrap_file(received), anyio.wrap_file(sent))
        async with streams as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
