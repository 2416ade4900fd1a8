"""``memnet mcp``."""

import os
from pathlib import Path
from typing import Any, Literal

import click

from memnet.cli.options import (
    device_option,
    index_option,
    namespace_option,
    open_engine,
    reader_option,
    store_option,
    store_path,
)
from memnet.storage.place import StorePlace
from memnet.storage.postgres.address import is_address

_TOOLS = ("memory", "memory-graph")


@click.command()
@click.option(
    "--tools",
    type=click.Choice(_TOOLS),
    default="memory",
    show_default=True,
    help="ask, search, fetch, remember, history, forget, list_sources and status; or the nine "
    "tools of the protocol's reference server of a memory, over facts.",
)
@click.option("--read-only", is_flag=True, help="Leave out tools that write.")
@reader_option
@index_option
@device_option
@namespace_option("Read and write only here.")
@store_option
def mcp(
    tools: Literal["memory", "memory-graph"],
    read_only: bool,
    namespace: str | None,
    store: StorePlace | None,
    **opening: Any,
) -> None:
    """Serve the memory to a program that speaks the Model Context Protocol.

    Such a program, an assistant or an editor, starts this command itself and talks to it over
    standard input and output. Needs the extra: pip install "memnet[mcp]". A memory file of the
    protocol's reference server is taken over by 'memnet ingest memory.jsonl'.

    \b
    Example:
      memnet mcp --store notes --read-only

    \b
    In a client's configuration:
      {"mcpServers": {"memory": {"command": "memnet", "args": ["mcp", "--store", "DIR"]}}}
    """
    from memnet.mcp import serve_stdio

    place = store_path(store)
    if not is_address(place):
        # Relative paths are of the folder that the client started this in.
        place = Path(os.path.abspath(place))
    serve_stdio(
        lambda: open_engine(place, create=not read_only, **opening),
        tools=tools,
        read_only=read_only,
        namespace=namespace,
    )
